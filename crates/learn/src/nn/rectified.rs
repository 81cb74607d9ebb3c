//! For tests: a rectified layer against its plain twin.
//!
//! Finite differences cannot judge a rectified layer of many outputs: one of them is always close to the
//! kink. Its plain twin can, and between the two nothing may differ but what ReLU cuts off.

use rand::RngExt;

use crate::layer::{Backward, Forward, Layer, ParamSpec};
use fedflip_fleet::{Purpose, StreamKey};

/// Output and gradients of one pass.
struct Passed {
    output: Vec<f64>,
    input_grad: Vec<f64>,
    params_grad: Vec<f64>,
}

fn pass(
    layer: &dyn Layer<f64>,
    batch: usize,
    params: &[f64],
    input: &[f64],
    grad: impl Fn(&[f64]) -> Vec<f64>,
) -> Passed {
    let mut output = vec![f64::NAN; batch * layer.output_len()];
    let mut scratch = vec![f64::NAN; layer.scratch_len(batch)];
    let training = true;
    layer.forward(Forward { batch, params, input, output: &mut output, scratch: &mut scratch, training });
    let mut output_grad = grad(&output);
    let mut input_grad = vec![f64::NAN; input.len()];
    let mut params_grad = vec![f64::NAN; params.len()];
    layer.backward(Backward {
        batch,
        params,
        input,
        output: &output,
        output_grad: &mut output_grad,
        input_grad: &mut input_grad,
        params_grad: &mut params_grad,
        scratch: &mut scratch,
    });
    Passed { output, input_grad, params_grad }
}

/// The rectified layer gives the plain one's output cut off at 0, and its gradients are those of the plain
/// one for an output gradient that is 0 where the output was cut off.
///
/// # Panics
///
/// If not.
pub(crate) fn assert_rectified(rectified: &dyn Layer<f64>, plain: &dyn Layer<f64>, batch: usize, seed: u64) {
    let mut stream = StreamKey { seed, purpose: Purpose::Test, round: 1 }.shared();
    let mut numbers = |len: usize| (0..len).map(|_| 2.0 * stream.random::<f64>() - 1.0).collect::<Vec<f64>>();
    let params = numbers(plain.params().iter().map(ParamSpec::len).sum());
    let input = numbers(batch * plain.input_len());
    let weights = numbers(batch * plain.output_len());
    let ours = pass(rectified, batch, &params, &input, |_| weights.clone());
    let cut_off = |output: &[f64]| {
        let pairs = output.iter().zip(&weights);
        pairs.map(|(&y, &weight)| if y > 0.0 { weight } else { 0.0 }).collect()
    };
    let theirs = pass(plain, batch, &params, &input, cut_off);
    let expected: Vec<f64> = theirs.output.iter().map(|y| y.max(0.0)).collect();
    assert_eq!(ours.output, expected);
    assert_eq!(ours.input_grad, theirs.input_grad);
    assert_eq!(ours.params_grad, theirs.params_grad);
}
