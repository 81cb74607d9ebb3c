//! A layer's backward pass against finite differences of its forward pass, in f64.

use rand::RngExt;

use crate::layer::{Backward, Forward, Layer, ParamSpec};
use fedflip_fleet::{Purpose, StreamKey};

/// Half the distance of the two points of a difference: small enough for the curvature of any of our
/// layers, large enough for the digits of f64.
const STEP: f64 = 1e-5;

/// Checks ∂(Σ w·output)/∂(every trained parameter and input) for random parameters, inputs and weights w.
///
/// # Panics
///
/// With the first entry that differs.
pub fn assert_gradients(layer: &dyn Layer<f64>, batch: usize, seed: u64) {
    assert_gradients_on(layer, batch, seed, |number| number);
}

/// The same for layers that want particular inputs: `make` turns a random number in ±1 into one.
pub fn assert_gradients_on(layer: &dyn Layer<f64>, batch: usize, seed: u64, make: impl Fn(f64) -> f64) {
    let params_len = layer.params().iter().map(ParamSpec::len).sum();
    let mut stream = StreamKey { seed, purpose: Purpose::Test, round: 0 }.shared();
    let mut uniform = move || 2.0 * stream.random::<f64>() - 1.0;
    let mut params: Vec<f64> = (0_usize..params_len).map(|_| uniform()).collect();
    let mut input: Vec<f64> = (0..batch * layer.input_len()).map(|_| make(uniform())).collect();
    let output_weights: Vec<f64> = (0..batch * layer.output_len()).map(|_| uniform()).collect();

    let mut output = vec![0.0; output_weights.len()];
    let mut scratch = vec![0.0; layer.scratch_len(batch)];
    let value = |params: &[f64], input: &[f64]| -> f64 {
        let mut output = vec![0.0; output_weights.len()];
        let mut scratch = vec![0.0; layer.scratch_len(batch)];
        layer.forward(Forward {
            batch,
            params,
            input,
            output: &mut output,
            scratch: &mut scratch,
            training: true,
        });
        output.iter().zip(&output_weights).map(|(y, w)| y * w).sum()
    };
    layer.forward(Forward {
        batch,
        params: &params,
        input: &input,
        output: &mut output,
        scratch: &mut scratch,
        training: true,
    });
    let mut output_grad = output_weights.clone();
    let mut input_grad = vec![f64::NAN; input.len()];
    let mut params_grad = vec![f64::NAN; params.len()];
    layer.backward(Backward {
        batch,
        params: &params,
        input: &input,
        output: &output,
        output_grad: &mut output_grad,
        input_grad: &mut input_grad,
        params_grad: &mut params_grad,
        scratch: &mut scratch,
    });

    let mut check = Check { middle: value(&params, &input), kinks: 0, entries: 0 };
    let mut at = 0;
    for spec in layer.params() {
        for place in at..at + if spec.trained { spec.len() } else { 0 } {
            let own = params[place];
            let mut moved = |to: f64| {
                params[place] = to;
                value(&params, &input)
            };
            let (above, below) = (moved(own + STEP), moved(own - STEP));
            params[place] = own;
            let what = || format!("{}: ∂/∂{}[{}]", layer.name(), spec.name, place - at);
            check.entry(above, below, params_grad[place], what);
        }
        at += spec.len();
    }
    for place in 0..input.len() {
        let own = input[place];
        let mut moved = |to: f64| {
            input[place] = to;
            value(&params, &input)
        };
        let (above, below) = (moved(own + STEP), moved(own - STEP));
        input[place] = own;
        check.entry(above, below, input_grad[place], || format!("{}: ∂/∂input[{place}]", layer.name()));
    }
    assert!(
        check.kinks * 10 <= check.entries,
        "{}: {} kinks in {} entries",
        layer.name(),
        check.kinks,
        check.entries
    );
}

/// Compares entry by entry, and counts where there is no derivative to compare with.
struct Check {
    middle: f64,
    kinks: usize,
    entries: usize,
}

impl Check {
    fn entry(&mut self, above: f64, below: f64, gradient: f64, what: impl Fn() -> String) {
        self.entries += 1;
        let (right, left) = ((above - self.middle) / STEP, (self.middle - below) / STEP);
        let difference = 0.5 * (right + left);
        // A rectifier or a maximum may change its mind between the two points.
        if (right - left).abs() > 1e-3 * (1.0 + difference.abs()) {
            self.kinks += 1;
            return;
        }
        let off = (difference - gradient).abs();
        assert!(
            off <= 1e-6 * (1.0 + difference.abs()),
            "{} is {gradient}, but the difference is {difference}",
            what()
        );
    }
}
