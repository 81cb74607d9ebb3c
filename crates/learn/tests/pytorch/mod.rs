//! What tests against PyTorch share: the numbers that both sides make by formulas, and the comparison of updates.

use fedflip_learn::layer::{Init, ParamSpec};
use fedflip_learn::network::Network;
use fedflip_learn::real::Real;
use serde::Deserialize;

/// A distance or a tolerance.
#[derive(Deserialize, Clone, Copy)]
pub(crate) struct Off {
    /// Of a loss, relative to it.
    pub(crate) loss: f64,
    /// Of the change of an array, relative to the size of the change.
    pub(crate) change: f64,
}

/// What the steps changed in a parameter array.
#[derive(Deserialize)]
pub(crate) struct Array {
    pub(crate) name: String,
    pub(crate) rms: f64,
    /// Its products with pseudo-random vectors of length 1: a transposed weight changes all of them.
    pub(crate) projections: Vec<f64>,
}

/// How much further than PyTorch's f32 ours may be from the stored f64: one is as good a draw of rounding
/// errors as the other. Measured: up to 2.
pub(crate) const SINGLE_FACTOR: f64 = 10.0;
/// Batches take turns.
const BATCHES: usize = 5;

/// A number in [−1, 1) for each index: the formula of the generator.
fn number(index: usize) -> f64 {
    let mixed = (index as u64).wrapping_mul(2_654_435_761).wrapping_add(12_345) % (1 << 32);
    let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(2_246_822_519) % (1 << 32);
    mixed as f64 / (1_u64 << 31) as f64 - 1.0
}

/// Rounded to f32 for both precisions: they start from the same numbers.
fn rounded<T: Real>(value: f64) -> T {
    T::from_f64(f64::from(value as f32))
}

/// The parameters before the first step.
pub(crate) fn start<T: Real>(network: &Network<T>) -> Vec<T> {
    let array = |(place, (_, spec)): (usize, (String, ParamSpec))| {
        let (centre, spread) = match (&spec.shape[..], spec.init) {
            ([_, rest @ ..], _) if !rest.is_empty() => {
                (0.0, 1.0 / (rest.iter().product::<usize>() as f64).sqrt())
            }
            (_, Init::Constant(centre)) => (centre, 0.1),
            _ => (0.0, 0.1),
        };
        (0..spec.len()).map(move |n| rounded(centre + spread * number(n + 1_000_003 * (place + 1))))
    };
    network.params().into_iter().enumerate().flat_map(array).collect()
}

/// Writes the samples of a step and returns their labels. A stripe of the image, or the last symbol of a text,
/// tells the label.
pub(crate) fn fill_batch<T: Real>(
    step: usize,
    batch: usize,
    classes: usize,
    symbols: bool,
    input: &mut [T],
) -> Vec<f32> {
    let features = input.len() / batch;
    let samples = input.chunks_exact_mut(features).enumerate();
    samples
        .map(|(n, sample)| {
            let place = step % BATCHES * batch + n;
            let label = ((number(place + 77_777_777) + 1.0) / 2.0 * classes as f64) as usize;
            for (j, x) in sample.iter_mut().enumerate() {
                let value = number(place * features + j);
                *x = rounded(if !symbols {
                    value + f64::from(u8::from(j * classes / features == label))
                } else if j == features - 1 {
                    label as f64
                } else {
                    ((value + 1.0) / 2.0 * classes as f64).floor()
                });
            }
            label as f32
        })
        .collect()
}

pub(crate) fn compare_changes<T: Real>(
    case: &str,
    network: &Network<T>,
    arrays: &[Array],
    changes: &[f64],
    tolerance: f64,
) {
    let mut rest = changes;
    assert_eq!(network.params().len(), arrays.len(), "{case}: another number of arrays");
    for ((name, spec), array) in network.params().iter().zip(arrays) {
        assert_eq!(name, &array.name, "{case}");
        let change;
        (change, rest) = rest.split_at(spec.len());
        let squares: f64 = change.iter().map(|x| x * x).sum();
        let rms = (squares / change.len() as f64).sqrt();
        let close = |what: &str, ours: f64, expected: f64| {
            let off = (ours - expected).abs() / array.rms;
            assert!(off < tolerance, "{case}, {name}: {what} {ours} is not {expected}, off by {off:e}");
        };
        close("root mean square of the change", rms, array.rms);
        for (k, &expected) in array.projections.iter().enumerate() {
            let vector = |n: usize| number(n * array.projections.len() + k + 999_999_937);
            let (mut product, mut square) = (0.0, 0.0);
            for (n, x) in change.iter().enumerate() {
                product += x * vector(n);
                square += vector(n) * vector(n);
            }
            close("projection of the change", product / f64::sqrt(square), expected);
        }
    }
}
