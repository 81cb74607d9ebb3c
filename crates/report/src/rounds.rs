//! The rounds of a run that are worth looking at.

use fedflip_record::Round;

/// A few rounds of a run, each for a reason.
#[derive(Clone, Debug, Default)]
pub struct KeptRounds {
    chosen_number: Option<u64>,
    chosen: Option<Round>,
    fullest: Option<Round>,
    longest: Option<Round>,
    last: Option<Round>,
}

impl KeptRounds {
    pub(crate) fn new(chosen_number: Option<u64>) -> Self {
        Self { chosen_number, ..Self::default() }
    }

    pub(crate) fn offer(&mut self, round: Round) {
        if Some(round.round) == self.chosen_number {
            self.chosen = Some(round.clone());
        }
        if round.cohort.is_empty() {
            return;
        }
        if self.fullest.as_ref().is_none_or(|than| round.cohort.len() > than.cohort.len()) {
            self.fullest = Some(round.clone());
        }
        if self.longest.as_ref().is_none_or(|than| round.round_secs > than.round_secs) {
            self.longest = Some(round.clone());
        }
        self.last = Some(round);
    }

    /// Whether somebody wants to see a certain round.
    pub(crate) fn is_choosy(&self) -> bool {
        self.chosen_number.is_some()
    }

    /// Whether the round that somebody wants to see was there.
    pub(crate) fn has_chosen(&self) -> bool {
        self.chosen.is_some()
    }

    /// Each with its reason, the one to show first in front; no round twice.
    pub fn all(&self) -> Vec<(&'static str, &Round)> {
        let reasons = ["chosen", "most participants", "longest", "last"];
        let rounds = [&self.chosen, &self.fullest, &self.longest, &self.last];
        let mut kept: Vec<(&'static str, &Round)> = Vec::new();
        for (reason, round) in reasons.into_iter().zip(rounds) {
            if let Some(round) = round
                && kept.iter().all(|(_, other)| other.round != round.round)
            {
                kept.push((reason, round));
            }
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(number: u64, cohort: &[usize], round_secs: f64) -> Round {
        Round { round: number, cohort: cohort.to_vec(), round_secs, ..Round::default() }
    }

    #[test]
    fn rounds_are_kept_for_a_reason_and_once() {
        let mut kept = KeptRounds::new(Some(4));
        let rounds =
            [round(1, &[1], 9.0), round(2, &[1, 2, 3], 2.0), round(3, &[2], 1.0), round(4, &[], 0.0)];
        for round in rounds {
            kept.offer(round);
        }
        let reasons: Vec<(&str, u64)> = kept.all().iter().map(|(why, round)| (*why, round.round)).collect();
        assert_eq!(reasons, [("chosen", 4), ("most participants", 2), ("longest", 1), ("last", 3)]);
    }
}
