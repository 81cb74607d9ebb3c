//! A layer's backward pass, and a whole network's, against finite differences of the forward pass, in f64.

use rand::RngExt;

use crate::layer::{Backward, Forward, Init, Layer, ParamSpec};
use crate::network::Network;
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
    let params_len: usize = layer.params().iter().map(ParamSpec::len).sum();
    let mut stream = StreamKey { seed, purpose: Purpose::Test, round: 0 }.shared();
    let mut uniform =
        |len: usize| -> Vec<f64> { (0..len).map(|_| 2.0 * stream.random::<f64>() - 1.0).collect() };
    // Parameters and inputs in one row, as their gradients are.
    let mut numbers = uniform(params_len);
    numbers.extend(uniform(batch * layer.input_len()).into_iter().map(make));
    let output_weights = uniform(batch * layer.output_len());
    let value = |numbers: &[f64]| -> f64 {
        let (params, input) = numbers.split_at(params_len);
        let (output, _) = forward(layer, batch, params, input);
        output.iter().zip(&output_weights).map(|(y, w)| y * w).sum()
    };
    let (params, input) = numbers.split_at(params_len);
    let gradients = pass(layer, batch, params, input, |_| output_weights.clone()).concat();

    let mut check = Check { middle: value(&numbers), kinks: 0, entries: 0 };
    let params = layer.params().into_iter().map(|spec| (spec.name, spec.len(), spec.trained));
    let mut at = 0;
    for (name, len, trained) in params.chain([("input", numbers.len() - params_len, true)]) {
        for place in (at..at + len).filter(|_| trained) {
            let own = numbers[place];
            let [above, below] = [own + STEP, own - STEP].map(|moved| {
                numbers[place] = moved;
                value(&numbers)
            });
            numbers[place] = own;
            let what = || format!("{}: ∂/∂{name}[{}]", layer.name(), place - at);
            check.entry(above, below, gradients[place], what);
        }
        at += len;
    }
    let Check { kinks, entries, .. } = check;
    assert!(kinks * 10 <= entries, "{}: {kinks} kinks in {entries} entries", layer.name());
}

/// Checks the gradient of a network's mean loss by about `entries` of its trained parameters, evenly spaced: for random
/// parameters of the size that training starts from, and random samples, each number of which `make` makes from one in ±1.
///
/// # Panics
///
/// With the first entry that differs.
pub fn assert_network_gradients(
    network: &Network<f64>,
    labels: &[f32],
    seed: u64,
    entries: usize,
    make: impl Fn(f64) -> f64,
) {
    let mut stream = StreamKey { seed, purpose: Purpose::Test, round: 0 }.shared();
    let mut uniform = || 2.0 * stream.random::<f64>() - 1.0;
    let (mut params, mut places) = (Vec::new(), Vec::new());
    for (name, spec) in network.params() {
        let (middle, spread) = match spec.init {
            Init::Uniform(bound) | Init::Normal(bound) => (0.0, bound),
            Init::Constant(value) => (value, 0.1),
        };
        let own = params.len()..params.len() + spec.len();
        params.extend(own.clone().map(|_| middle + spread * uniform()));
        if spec.trained {
            places.extend(own.clone().map(|place| (place, format!("{name}[{}]", place - own.start))));
        }
    }
    let mut buffers = network.buffers(labels.len());
    let input: Vec<f64> = (0..labels.len() * network.input_len()).map(|_| make(uniform())).collect();
    let mut value = |params: &[f64]| {
        buffers.input().copy_from_slice(&input);
        let loss_sum = network.gradient(params, &mut buffers, labels).loss_sum;
        (loss_sum / labels.len() as f64, buffers.params_grad.clone())
    };
    let (middle, gradient) = value(&params);
    let mut check = Check { middle, kinks: 0, entries: 0 };
    for (place, name) in places.iter().step_by(places.len().div_ceil(entries).max(1)) {
        let own = params[*place];
        let [above, below] = [own + STEP, own - STEP].map(|moved| {
            params[*place] = moved;
            value(&params).0
        });
        params[*place] = own;
        check.entry(above, below, gradient[*place], || format!("∂/∂{name}"));
    }
    let Check { kinks, entries, .. } = check;
    assert!(kinks * 10 <= entries, "{kinks} kinks in {entries} entries");
}

/// The gradients of parameters and inputs; `grad` makes the gradient of the output from the output.
pub(crate) fn pass(
    layer: &dyn Layer<f64>,
    batch: usize,
    params: &[f64],
    input: &[f64],
    grad: impl Fn(&[f64]) -> Vec<f64>,
) -> [Vec<f64>; 2] {
    let (output, mut scratch) = forward(layer, batch, params, input);
    let mut input_grad = vec![f64::NAN; input.len()];
    let mut params_grad = vec![f64::NAN; params.len()];
    layer.backward(Backward {
        batch,
        params,
        input,
        output: &output,
        output_grad: &mut grad(&output),
        input_grad: &mut input_grad,
        params_grad: &mut params_grad,
        scratch: &mut scratch,
    });
    [params_grad, input_grad]
}

/// The output of a layer, and what the forward pass left for the backward pass.
pub(crate) fn forward(
    layer: &dyn Layer<f64>,
    batch: usize,
    params: &[f64],
    input: &[f64],
) -> (Vec<f64>, Vec<f64>) {
    let mut output = vec![f64::NAN; batch * layer.output_len()];
    // Nothing in the scratch must matter.
    let mut scratch = vec![f64::NAN; layer.scratch_len(batch)];
    let training = true;
    layer.forward(Forward { batch, params, input, output: &mut output, scratch: &mut scratch, training });
    (output, scratch)
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
