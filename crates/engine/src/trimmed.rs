//! The coordinate-wise trimmed sum.
//!
//! It needs all updates of a round at once, so its memory is the cohort times the parameters; [`BYTES_MAX`] is the most
//! that a run may plan for. Beside the updates there is room for one block of coordinates.

use fedflip_plan::Plan;

/// With fewer updates there would be nothing left.
pub const UPDATES_MIN: usize = 3;
/// The most memory that the updates of one round may be expected to take.
pub const BYTES_MAX: f64 = (4_u64 << 30) as f64;
/// A cohort is larger than its mean plus this number of standard deviations once in a billion rounds.
const DEVIATIONS: f64 = 6.0;
/// The numbers of a block, over all updates: they fit the second cache.
const BLOCK_NUMBERS: usize = 1 << 16;

/// The bytes that the updates of one round take at most, but for one round in a billion.
pub fn bytes_expected(plan: &Plan, parameters: usize) -> f64 {
    let mean: f64 = plan.q().iter().sum();
    let variance: f64 = plan.q().iter().map(|q| q * (1.0 - q)).sum();
    let cohort = (mean + DEVIATIONS * variance.max(0.0).sqrt()).min(plan.q().len() as f64);
    cohort * parameters as f64 * size_of::<f32>() as f64
}

/// The number of updates that are left out at either end: the given share, at least one, and never all.
fn left_out(updates: usize, share: f64) -> usize {
    // A little more, so that 0.3 of 10 is 3.
    let wanted = (share * updates as f64 + 1e-9) as usize;
    wanted.max(1).min(updates.saturating_sub(1) / 2)
}

/// Writes the sum of weighted updates without the largest and the smallest in each coordinate, scaled to as many
/// terms as there are updates. Neither the order of the updates nor the size of a block matters.
pub(crate) fn sum(updates: &[(f32, Vec<f32>)], share: f64, step: &mut [f32]) {
    let (count, out) = (updates.len(), left_out(updates.len(), share));
    let kept = out..count - out;
    let scale = count as f64 / kept.len() as f64;
    let block_len = (BLOCK_NUMBERS / count).max(1);
    // One coordinate of all updates after the other.
    let mut block = vec![0.0_f32; block_len * count];
    for (number, steps) in step.chunks_mut(block_len).enumerate() {
        for (update, (weight, delta)) in updates.iter().enumerate() {
            let deltas = delta.iter().skip(number * block_len).take(steps.len());
            for (coordinate, delta) in deltas.enumerate() {
                block[coordinate * count + update] = weight * delta;
            }
        }
        for (step, values) in steps.iter_mut().zip(block.chunks_exact_mut(count)) {
            // What is not a number stands at an end, and is the first to go.
            values.sort_unstable_by(f32::total_cmp);
            let sum: f64 = values[kept.clone()].iter().map(|&value| f64::from(value)).sum();
            *step = (scale * sum) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn trimmed(updates: &[(f32, Vec<f32>)], share: f64) -> Vec<f32> {
        let mut step = vec![f32::NAN; updates[0].1.len()];
        sum(updates, share, &mut step);
        step
    }

    #[test]
    fn the_share_is_rounded_down_and_at_least_one() {
        let of = |updates, share| left_out(updates, share);
        assert_eq!([of(3, 0.1), of(10, 0.1), of(20, 0.1), of(10, 0.3), of(29, 0.1)], [1, 1, 2, 3, 2]);
        assert_eq!([of(3, 0.49), of(4, 0.49), of(100, 0.49), of(5, 0.0)], [1, 1, 49, 1]);
    }

    #[test]
    fn ends_are_left_out_and_the_number_of_terms_is_kept() {
        let updates: Vec<(f32, Vec<f32>)> =
            [[1.0, -9.0], [2.0, 0.5], [3.0, 0.5], [400.0, 0.5]].map(|delta| (2.0, delta.to_vec())).into();
        assert_eq!(trimmed(&updates, 0.1), [20.0, 4.0]);
        let broken = [&updates[..3], &[(2.0, vec![f32::NAN, f32::INFINITY])]].concat();
        assert_eq!(trimmed(&broken, 0.1), [20.0, 4.0]);
    }

    #[test]
    fn blocks_do_not_show() {
        let len = 2 * BLOCK_NUMBERS / 3 + 7;
        let updates: Vec<(f32, Vec<f32>)> =
            (0..3).map(|n| (1.0, (0..len).map(|k| ((k * 7 + n * 13) % 101) as f32).collect())).collect();
        let all = trimmed(&updates, 0.1);
        for k in [0, 1, BLOCK_NUMBERS / 3 - 1, BLOCK_NUMBERS / 3, len - 1] {
            let alone: Vec<_> = updates.iter().map(|(weight, delta)| (*weight, vec![delta[k]])).collect();
            assert_eq!(all[k], trimmed(&alone, 0.1)[0], "{k}");
        }
    }

    proptest! {
        /// Whatever one device sends, every coordinate of the mean stays within what the others sent.
        #[test]
        fn no_update_moves_the_sum_beyond_the_others(
            others in prop::collection::vec((0.01_f32..100.0, prop::collection::vec(-10.0_f32..10.0, 4)), 2..20),
            hostile in prop::collection::vec(prop_oneof![-1e30_f32..1e30, Just(f32::NAN), Just(f32::INFINITY)], 4),
            place in any::<prop::sample::Index>(),
            share in 0.0..0.49_f64,
        ) {
            let mut updates = others.clone();
            updates.insert(place.index(others.len() + 1), (100.0, hostile));
            let count = updates.len() as f32;
            for (k, step) in trimmed(&updates, share).into_iter().enumerate() {
                let contributions = || others.iter().map(|(weight, delta)| weight * delta[k]);
                let (low, high) = (contributions().fold(f32::MAX, f32::min), contributions().fold(f32::MIN, f32::max));
                let slack = 1e-5 * low.abs().max(high.abs());
                prop_assert!((low - slack..=high + slack).contains(&(step / count)), "{low} {high} {step}");
            }
        }
    }
}
