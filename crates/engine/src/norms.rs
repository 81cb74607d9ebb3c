//! How long updates usually are.
//!
//! The automatic limit of a norm is the median over past rounds of each round's median norm. A median of the present
//! cohort would not do: with a single device it is that device's own norm, and nothing could be added up before the
//! last update is there. While fewer than [`ROUNDS_TO_LEARN`] rounds are known, the present cohort's median joins
//! those of the past.

use std::collections::VecDeque;

use fedflip_record::{Line, Round};

use crate::aggregation::Clip;

/// The rounds that are remembered: as training proceeds, updates become shorter.
const ROUNDS_KEPT: usize = 31;
/// The rounds from which on the past alone decides.
pub const ROUNDS_TO_LEARN: usize = 3;

/// The Euclidean norm of an update.
pub fn norm(delta: &[f32]) -> f64 {
    delta.iter().map(|&number| f64::from(number).powi(2)).sum::<f64>().sqrt()
}

/// The median of those norms that say anything, the lower one of two; none if no norm does. A device that learnt
/// nothing says nothing about the others.
pub(crate) fn median(norms: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = norms.into_iter().filter(|norm| *norm > 0.0 && norm.is_finite()).collect();
    let middle = sorted.len().checked_sub(1)? / 2;
    let (_, median, _) = sorted.select_nth_unstable_by(middle, f64::total_cmp);
    Some(*median)
}

/// The median norms of the last rounds. They are in the records, from which an interrupted run has them again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NormHistory(VecDeque<f64>);

impl NormHistory {
    /// Takes over what a line of the records tells.
    pub fn take_line(&mut self, line: &Line) {
        if let Line::Round(round) = line {
            self.take(round);
        }
    }

    /// Takes over what a round tells.
    pub fn take(&mut self, round: &Round) {
        if let Some(norm) = round.update_norm {
            if self.0.len() == ROUNDS_KEPT {
                self.0.pop_front();
            }
            self.0.push_back(norm);
        }
    }
}

/// How long an update of the present round may be.
#[derive(Clone, Debug, PartialEq)]
pub enum NormLimit {
    /// The limit is known before the first update comes.
    Known(f64),
    /// The past is too short, and the cohort's own updates have a say.
    WithCohort(NormHistory),
}

impl NormLimit {
    /// The limit of a round after these.
    pub fn of(clip: Clip, history: &NormHistory) -> Self {
        match clip {
            Clip::Norm(norm) => Self::Known(norm),
            Clip::Auto if history.0.len() < ROUNDS_TO_LEARN => Self::WithCohort(history.clone()),
            Clip::Auto => Self::Known(median(history.0.iter().copied()).unwrap_or(f64::INFINITY)),
        }
    }

    /// The limit, now that the norms of the cohort's updates are known. There is none where all updates are 0.
    pub(crate) fn with_cohort(&self, norms: &[f64]) -> f64 {
        match self {
            Self::Known(norm) => *norm,
            Self::WithCohort(history) => {
                let own = median(norms.iter().copied());
                median(history.0.iter().copied().chain(own)).unwrap_or(f64::INFINITY)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(norms: &[f64]) -> NormHistory {
        let mut history = NormHistory::default();
        for &norm in norms {
            history.take(&Round { update_norm: Some(norm), ..Round::default() });
        }
        history
    }

    #[test]
    fn the_usual_norm_is_the_lower_median_of_what_says_anything() {
        assert_eq!(median([]), None);
        assert_eq!(median([0.0, f64::NAN, f64::INFINITY]), None);
        assert_eq!(median([4.0, 0.0, 1.0]), Some(1.0));
        assert_eq!(median([3.0, 9.0, 1.0]), Some(3.0));
    }

    #[test]
    fn a_single_device_does_not_set_its_own_limit() {
        assert_eq!(NormLimit::of(Clip::Norm(2.5), &after(&[])), NormLimit::Known(2.5));
        assert_eq!(NormLimit::of(Clip::Auto, &after(&[1.0, 2.0, 9e5])), NormLimit::Known(2.0));
        // Its first rounds are bounded by the shortest update so far.
        let limit = |past: &[f64], norm| NormLimit::of(Clip::Auto, &after(past)).with_cohort(&[norm]);
        assert_eq!([limit(&[], 7.0), limit(&[7.0], 1.0), limit(&[1.0], 7.0)], [7.0, 1.0, 1.0]);
        assert_eq!(limit(&[], 0.0), f64::INFINITY);
    }

    #[test]
    fn old_rounds_are_forgotten() {
        let mut norms = vec![100.0; 50];
        norms.extend([1.0; ROUNDS_KEPT]);
        assert_eq!(NormLimit::of(Clip::Auto, &after(&norms)), NormLimit::Known(1.0));
        assert_eq!(after(&norms).0.len(), ROUNDS_KEPT);
    }
}
