//! How long a run may still take, from how the error has fallen so far.
//!
//! The error 1 − accuracy falls roughly as a power of the rounds. Its slope over the last half of the rounds
//! says how many more it needs; while it does not fall, nobody can say.

/// Watches the error fall.
#[derive(Clone, Debug, Default)]
pub(crate) struct Eta {
    /// Smoothed error after each evaluation, with its round.
    errors: Vec<(u64, f64)>,
}

/// The weight of the newest accuracy in the smoothed one.
const NEWEST: f64 = 0.2;
/// Evaluations before an estimate is worth showing.
const SAYS_NOTHING: usize = 20;
/// Of the errors kept, at most: every other one is dropped when there are more.
const KEPT_MAX: usize = 1024;

impl Eta {
    pub(crate) fn evaluated(&mut self, round: u64, accuracy: f64) {
        let error = (1.0 - accuracy).max(1e-6);
        let smoothed = self.errors.last().map_or(error, |&(_, last)| last + NEWEST * (error - last));
        self.errors.push((round, smoothed));
        if self.errors.len() > KEPT_MAX {
            let mut place = 0;
            self.errors.retain(|_| {
                place += 1;
                place % 2 == 1
            });
        }
    }

    /// Rounds that are still needed to reach an accuracy.
    pub(crate) fn rounds_left(&self, target_accuracy: f64) -> Option<f64> {
        // The first few say nothing about the many.
        let &(round, error) = self.errors.last().filter(|_| self.errors.len() >= SAYS_NOTHING)?;
        let &(earlier, earlier_error) = self.errors.iter().rev().find(|&&(at, _)| 2 * at <= round)?;
        let slope = (earlier_error / error).ln() / (round as f64 / earlier as f64).ln();
        let target_error = (1.0 - target_accuracy).max(1e-6);
        if error <= target_error {
            return Some(0.0);
        }
        let factor = (error / target_error).powf(1.0 / slope);
        (slope > 0.1 && factor.is_finite()).then_some(round as f64 * (factor - 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_law_is_continued() {
        let mut eta = Eta::default();
        assert_eq!(eta.rounds_left(0.9), None);
        for round in 1..=2000_u64 {
            eta.evaluated(round, 1.0 - (round as f64).powf(-0.5));
        }
        // 1 − 0.98 = r^−½ at r = 2500.
        let left = eta.rounds_left(0.98).unwrap();
        assert!((left - 500.0).abs() < 60.0, "{left}");
        assert_eq!(eta.rounds_left(0.5), Some(0.0));
    }

    #[test]
    fn what_does_not_fall_has_no_end() {
        let mut eta = Eta::default();
        (1..100).for_each(|round| eta.evaluated(round, 0.1));
        assert_eq!(eta.rounds_left(0.9), None);
    }
}
