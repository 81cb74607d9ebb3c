//! The sampling variance Σ a_n²/q_n, and the values that a plan may be asked for.

use std::ops::RangeInclusive;

use fedflip_fleet::Fleet;

/// The sampling variance that suits a task of which nothing is known.
///
/// Under P2 the variance at the optimum is β/2, whatever α is: pilots tell the planner only how much variance to allow.
/// One device per round, drawn by its share of the data, has C(a) = Σ a²/a = 1 in every fleet, and training is known to
/// tolerate that. Measured values of β lie between 2.2 and 3.4, which allows 1.1 to 1.7. The total time is flat around
/// 1.4 (experiments/noise, experiments/candidates).
///
/// Tasks of thousands of rounds train faster with less variance, because their devices compute side by side
/// (docs/results.md). Scenarios therefore choose the variance by task.
pub const DEFAULT_VARIANCE: f64 = 1.4;
/// The sampling variances that a plan may be asked for.
pub const VARIANCE_RANGE: RangeInclusive<f64> = 1e-6..=1e6;
/// The range [`VARIANCE_RANGE`] in words.
pub const VARIANCE_WANTED: &str = "a number above 0 (from 1e-6 to 1e6)";

/// C(q) = Σ a_n²/q_n. Devices with q = 0 are not part of a plan, and the shares a are then those of the others.
pub fn sampling_variance(weights: &[f64], q: &[f64]) -> f64 {
    let variance: f64 = weights.iter().zip(q).map(|(a, q)| a * a / q).sum();
    if variance.is_finite() {
        return variance;
    }
    let planned = || weights.iter().zip(q).filter(|(_, q)| **q > 0.0);
    let total: f64 = planned().map(|(a, _)| a).sum();
    planned().map(|(a, q)| (a / total).powi(2) / q).sum()
}

/// Σ a_n²/cap_n: the sampling variance when every device takes part as often as it is available.
pub fn least_sampling_variance(fleet: &Fleet) -> f64 {
    sampling_variance(fleet.weights(), fleet.availability())
}
