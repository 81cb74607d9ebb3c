//! Ranges, means and standard deviations of features, in one pass over the values each.

use crate::inspect::Channels;
use crate::table::{Features, Table};

/// The most features whose mean and deviation are told one by one.
const FEATURES_MAX: usize = 4096;

/// Values that are added up side by side: the compiler makes vectors of them.
const LANES: usize = 1024;
/// The squares of this many bytes are below 2³².
const BYTES_IN_BLOCK: usize = 4096;

/// The means and standard deviations of groups of features.
#[derive(Debug, PartialEq)]
pub(crate) struct Moments {
    pub(crate) means: Vec<f64>,
    pub(crate) deviations: Vec<f64>,
}

/// Which values share a mean: `run` values of a group follow each other, then those of the next group.
#[derive(Clone, Copy)]
struct Groups {
    run: usize,
    count: usize,
}

impl Moments {
    pub(crate) fn of(table: &Table, channels: Option<Channels>) -> Self {
        let groups = match (&table.shape[..], channels) {
            (&[features], _) if features <= FEATURES_MAX => Groups { run: 1, count: features },
            (&[count, height, width], Some(Channels::First)) => Groups { run: height * width, count },
            (&[_, _, count], Some(Channels::Last)) => Groups { run: 1, count },
            _ => Groups { run: 1, count: 1 },
        };
        let size: usize = table.shape.iter().product();
        let values_each = table.len() * size / groups.count;
        let (means, deviations) = match &table.features {
            Features::Bytes(values) => {
                of_bytes(values, groups).map(|sums| byte_moments(sums, values_each)).unzip()
            }
            Features::Floats(values) => of_floats(values, groups, values_each).unzip(),
        };
        Self { means, deviations }
    }
}

/// The sums of the bytes of each group and of their squares. They are whole numbers, so the order does not matter.
fn of_bytes(values: &[u8], groups: Groups) -> impl Iterator<Item = [u64; 2]> {
    let Groups { run, count } = groups;
    let mut sums = vec![[0_u64; 2]; count];
    if run == 1 {
        let lanes = count * (LANES / count).max(1);
        for block in values.chunks(lanes * BYTES_IN_BLOCK) {
            let (mut plain, mut squared) = (vec![0_u32; lanes], vec![0_u32; lanes]);
            for row in block.chunks(lanes) {
                for ((value, plain), squared) in row.iter().zip(&mut plain).zip(&mut squared) {
                    let value = u16::from(*value);
                    *plain += u32::from(value);
                    *squared += u32::from(value * value);
                }
            }
            for (lane, (plain, squared)) in plain.into_iter().zip(squared).enumerate() {
                let [sum, squares] = &mut sums[lane % count];
                *sum += u64::from(plain);
                *squares += u64::from(squared);
            }
        }
    } else {
        for (at, values) in values.chunks(run).enumerate() {
            let [sum, squares] = &mut sums[at % count];
            for block in values.chunks(BYTES_IN_BLOCK) {
                *sum += u64::from(block.iter().map(|value| u32::from(*value)).sum::<u32>());
                let squared = block.iter().map(|value| u32::from(u16::from(*value) * u16::from(*value)));
                *squares += u64::from(squared.sum::<u32>());
            }
        }
    }
    sums.into_iter()
}

/// Bytes count as shares of 255.
fn byte_moments([sum, squares]: [u64; 2], count: usize) -> (f64, f64) {
    let (whole_count, whole_sum) = (count as u128, u128::from(sum));
    // Exact, so a constant has no variance.
    let scaled = whole_count * u128::from(squares) - whole_sum * whole_sum;
    let scale = 255.0 * count as f64;
    (sum as f64 / scale, if scaled == 0 { 1.0 } else { (scaled as f64).sqrt() / scale })
}

/// Sums are around a first value, so that large numbers do not cancel.
fn of_floats(values: &[f32], groups: Groups, values_each: usize) -> impl Iterator<Item = (f64, f64)> {
    let Groups { run, count } = groups;
    let first: Vec<f64> = values.iter().step_by(run).take(count).map(|value| f64::from(*value)).collect();
    let mut sums = vec![[0.0; 2]; count];
    let add = |[sum, squares]: &mut [f64; 2], first: f64, value: f32| {
        let value = f64::from(value) - first;
        *sum += value;
        *squares += value * value;
    };
    if run == 1 && count > 1 {
        for row in values.chunks(count) {
            for ((value, sums), first) in row.iter().zip(&mut sums).zip(&first) {
                add(sums, *first, *value);
            }
        }
    } else {
        // A single group is one run.
        let run = if count == 1 { values.len().max(1) } else { run };
        for (at, values) in values.chunks(run).enumerate() {
            let group = at % count;
            let (mut sum, first) = (sums[group], first[group]);
            values.iter().for_each(|value| add(&mut sum, first, *value));
            sums[group] = sum;
        }
    }
    let values_each = values_each as f64;
    sums.into_iter().zip(first).map(move |([sum, squares], first)| {
        let mean = sum / values_each;
        let variance = squares / values_each - mean * mean;
        (first + mean, if variance > 1e-20 { variance.sqrt() } else { 1.0 })
    })
}

/// The smallest and the largest value.
pub(crate) fn range(features: &Features) -> [f64; 2] {
    match features {
        Features::Bytes(values) => {
            let low = values.iter().fold(u8::MAX, |low, value| low.min(*value));
            let high = values.iter().fold(u8::MIN, |high, value| high.max(*value));
            [low.into(), high.into()]
        }
        Features::Floats(values) => range_of_floats(values),
    }
}

pub(crate) fn range_of_floats(values: &[f32]) -> [f64; 2] {
    const WIDTH: usize = 16;
    let (mut low, mut high) = ([f32::INFINITY; WIDTH], [f32::NEG_INFINITY; WIDTH]);
    let (blocks, rest) = values.as_chunks::<WIDTH>();
    for block in blocks.iter().map(|block| &block[..]).chain([rest]) {
        for ((value, low), high) in block.iter().zip(&mut low).zip(&mut high) {
            *low = if value < low { *value } else { *low };
            *high = if value > high { *value } else { *high };
        }
    }
    let [low, high] = [low.into_iter().reduce(f32::min), high.into_iter().reduce(f32::max)];
    [low.unwrap_or(f32::INFINITY).into(), high.unwrap_or(f32::NEG_INFINITY).into()]
}
