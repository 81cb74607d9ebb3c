//! Fifty steps of SGD from the same parameters on the same batches as PyTorch (`tests/golden/generate.py`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use fedflip_learn::layer::ParamSpec;
use fedflip_learn::models::cnn;
use fedflip_learn::network::Network;
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    learning_rate: f32,
    losses: Vec<f64>,
    arrays: Vec<Array>,
}

#[derive(Deserialize)]
struct Array {
    len: usize,
    mean: f64,
    rms: f64,
    entries: Vec<f64>,
}

/// Sums in another order differ in the last digits, and fifty steps carry that on: of a loss, relative to it.
const LOSS_TOLERANCE: f64 = 2e-4;
/// Of a parameter, relative to the root mean square of its array: more, because a sample at the edge of a
/// rectifier may fall to either side.
const PARAMETER_TOLERANCE: f64 = 2e-3;
const BATCH: usize = 32;

/// A number in [−1, 1) for each index: the formula of the generator.
fn number(index: usize) -> f64 {
    let mixed = (index as u64).wrapping_mul(2_654_435_761).wrapping_add(12_345) % (1 << 32);
    let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(2_246_822_519) % (1 << 32);
    mixed as f64 / (1_u64 << 31) as f64 - 1.0
}

fn parameters(network: &Network<f32>) -> Vec<f32> {
    let array = |(place, (_, spec)): (usize, (String, ParamSpec))| {
        let bound = if spec.shape.len() > 1 {
            1.0 / (spec.shape[1..].iter().product::<usize>() as f64).sqrt()
        } else {
            0.1
        };
        (0..spec.len()).map(move |n| (bound * number(n + 1_000_003 * (place + 1))) as f32)
    };
    network.params().into_iter().enumerate().flat_map(array).collect()
}

fn follow(file: &str, network: &Network<f32>, make_input: impl Fn(f64) -> f64) {
    let path = format!("{}/tests/golden/{file}", env!("CARGO_MANIFEST_DIR"));
    let golden: Golden = serde_json::from_str(&std::fs::read_to_string(&path).expect(&path)).expect(&path);
    let (features, classes) = (network.input_len(), network.classes());
    let mut params = parameters(network);
    let mut buffers = network.buffers(BATCH);
    for (step, &expected) in golden.losses.iter().enumerate() {
        let mut labels = Vec::new();
        for (n, sample) in buffers.input().chunks_exact_mut(features).enumerate() {
            let place = step * BATCH + n;
            let label = ((number(place + 77_777_777) + 1.0) / 2.0 * classes as f64) as u8;
            for (j, x) in sample.iter_mut().enumerate() {
                let shift = if j < features / 8 { f64::from(label) / classes as f64 } else { 0.0 };
                *x = make_input(number(place * features + j) + shift) as f32;
            }
            labels.push(label);
        }
        let loss = network.gradient(&params, &mut buffers, &labels).loss_sum / BATCH as f64;
        assert!(
            (loss / expected - 1.0).abs() < LOSS_TOLERANCE,
            "{file}, step {step}: loss {loss} is not {expected}"
        );
        params.iter_mut().zip(&buffers.params_grad).for_each(|(x, grad)| *x -= golden.learning_rate * grad);
    }
    let mut rest = &params[..];
    for ((name, _), array) in network.params().iter().zip(&golden.arrays) {
        let values;
        (values, rest) = rest.split_at(array.len);
        let mean = values.iter().map(|&x| f64::from(x)).sum::<f64>() / array.len as f64;
        let rms = (values.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / array.len as f64).sqrt();
        let close = |what: &str, ours: f64, expected: f64| {
            let off = (ours - expected).abs() / array.rms;
            assert!(off < PARAMETER_TOLERANCE, "{file}, {name}: {what} {ours} is not {expected}");
        };
        close("mean", mean, array.mean);
        close("rms", rms, array.rms);
        for (k, &expected) in array.entries.iter().enumerate() {
            close("entry", f64::from(values[k * (array.len - 1) / 7]), expected);
        }
    }
    assert!(rest.is_empty(), "{file} has fewer parameters");
}

#[test]
fn the_small_cnn() {
    follow("cnn.json", &cnn::cnn(10), |x| x);
}

#[test]
fn the_wide_cnn() {
    follow("wide_cnn.json", &cnn::wide_cnn(10), |x| x);
}
