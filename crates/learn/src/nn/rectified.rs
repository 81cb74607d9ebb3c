//! For tests: a rectified layer against its plain twin.
//!
//! Finite differences cannot judge a rectified layer of many outputs: one of them is always close to the
//! kink. Its plain twin can, and between the two nothing may differ but what ReLU cuts off.

use rand::RngExt;

use crate::layer::{Layer, ParamSpec};
use crate::nn::gradient_check::{forward, pass};
use fedflip_fleet::{Purpose, StreamKey};

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
    assert_eq!(ours, theirs);
    let output = |layer| forward(layer, batch, &params, &input).0;
    let expected: Vec<f64> = output(plain).iter().map(|y| y.max(0.0)).collect();
    assert_eq!(output(rectified), expected);
}
