//! How long a run may still take, from how the error has fallen so far.
//!
//! The error falls roughly as a power of the time. Its slope over the last half of the time says how much more the run
//! needs; while the error does not fall, nobody can say.

use fedflip_fleet::Display;
use fedflip_record::{Target, TargetMode};

/// The weight of the newest error in the smoothed one.
const NEWEST: f64 = 0.2;
/// Fewer evaluations than this say nothing about the many to come.
const EVALUATIONS_MIN: usize = 20;
/// A slope below this is no fall.
const SLOPE_MIN: f64 = 0.1;

/// How far a value is from the best one that there can be; none where nobody can say.
fn error(value: f64, mode: TargetMode, display: Display) -> Option<f64> {
    let error = match (mode, display) {
        (TargetMode::Min, _) => value,
        (TargetMode::Max, Display::Share) => (1.0 - value).max(1e-6),
        // There is no best value, so the inverse falls to 0.
        (TargetMode::Max, Display::Number) => 1.0 / value,
    };
    (error > 0.0 && error.is_finite()).then_some(error)
}

/// Seconds of the run's clock that are still needed to reach the target, from the target's metric over time.
pub(crate) fn secs_left(curve: &[(f64, f64)], target: &Target, display: Display) -> Option<f64> {
    let error = |value: f64| error(value, target.mode, display);
    let mut smoothed = None;
    let errors = curve.iter().filter_map(|&(secs, value)| {
        let error = error(value)?;
        let last = smoothed.unwrap_or(error);
        Some((secs, *smoothed.insert(last + NEWEST * (error - last))))
    });
    let errors: Vec<(f64, f64)> = errors.collect();
    let &(secs, now) = errors.last().filter(|_| errors.len() >= EVALUATIONS_MIN)?;
    let target = error(target.at)?;
    if now <= target {
        return Some(0.0);
    }
    let &(earlier, then) = errors.iter().rev().find(|&&(at, _)| at > 0.0 && 2.0 * at <= secs)?;
    let slope = (then / now).ln() / (secs / earlier).ln();
    let factor = (now / target).powf(1.0 / slope);
    (slope > SLOPE_MIN && factor.is_finite()).then_some(secs * (factor - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(at: f64, mode: TargetMode) -> Target {
        Target { metric: "any".to_owned(), at, mode }
    }

    fn curve(value: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        (0..=2000).map(|secs| (f64::from(secs), value(f64::from(secs.max(1))))).collect()
    }

    #[test]
    fn a_power_law_is_continued_whatever_the_metric() {
        let cases = [
            // 1 − 0.98 = t^−½ at t = 2500.
            (curve(|secs| 1.0 - secs.powf(-0.5)), target(0.98, TargetMode::Max), Display::Share),
            (curve(|secs| 25.0 * secs.powf(-0.5)), target(0.5, TargetMode::Min), Display::Number),
            (curve(|secs| secs.powf(0.5)), target(50.0, TargetMode::Max), Display::Number),
        ];
        for (curve, target, display) in cases {
            let left = secs_left(&curve, &target, display).unwrap();
            assert!((left - 500.0).abs() < 60.0, "{left}");
            assert_eq!(secs_left(&curve[..10], &target, display), None);
            let reached = Target { at: curve[100].1, ..target };
            assert_eq!(secs_left(&curve, &reached, display), Some(0.0));
        }
    }

    #[test]
    fn a_metric_that_does_not_improve_has_no_end() {
        for value in [0.1, 0.0, -1.0, 1e300] {
            let flat = curve(|_| value);
            assert_eq!(secs_left(&flat, &target(1e301, TargetMode::Max), Display::Number), None, "{value}");
        }
        assert_eq!(secs_left(&curve(|_| 0.1), &target(0.9, TargetMode::Max), Display::Share), None);
        assert_eq!(secs_left(&curve(|_| 3.0), &target(0.5, TargetMode::Min), Display::Number), None);
    }
}
