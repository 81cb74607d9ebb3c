//! How a scheme did over its seeds: what a row of Table I is made from.

use fedflip_record::{EndReason, Summary};
use serde::Serialize;

/// Mean and standard deviation over seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The mean over all seeds.
    pub mean: f64,
    /// None for a single one.
    pub std: Option<f64>,
}

impl Spread {
    /// None if there are no values.
    pub fn of(values: impl Iterator<Item = f64> + Clone) -> Option<Self> {
        let count = values.clone().count() as f64;
        let mean = values.clone().sum::<f64>() / count;
        let squares: f64 = values.map(|value| (value - mean).powi(2)).sum();
        let std = (count > 1.0).then(|| (squares / (count - 1.0)).sqrt());
        (count > 0.0).then_some(Self { mean, std })
    }
}

/// The mean, where there is one.
pub(crate) fn mean(spread: Option<Spread>) -> Option<f64> {
    spread.map(|spread| spread.mean)
}

/// How many times as fast.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SpeedUp {
    /// Hours of the reference by hours of the scheme.
    pub ratio: f64,
    /// One standard deviation, where there are seeds enough.
    pub std: Option<f64>,
    /// Whether `ratio` is exact or a bound.
    pub bound: Bound,
}

/// Whether a number is exact or only a bound, because some run ended before the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The number is exact.
    #[default]
    Exact,
    /// The number is larger: for a speed-up, the reference ended before the target.
    AtLeast,
    /// The number is smaller: for a speed-up, the scheme ended before the target.
    AtMost,
}

impl Bound {
    /// Of a number that is a lower bound, or not.
    pub fn lower_if(is_lower_bound: bool) -> Self {
        if is_lower_bound { Self::AtLeast } else { Self::Exact }
    }

    /// The sign in front of a number.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Exact => "",
            Self::AtLeast => "> ",
            Self::AtMost => "< ",
        }
    }

    /// For programs, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::AtLeast => "at_least",
            Self::AtMost => "at_most",
        }
    }
}

/// How a scheme did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Standing {
    /// Seeds that were run.
    pub seeds: usize,
    /// Seeds that reached the target.
    pub reached: usize,
    /// Seeds that diverged: their hours say nothing.
    pub diverged: usize,
    /// Seeds that have not ended.
    pub going_on: usize,
    /// Hours of a run; none if there are no runs, or if some diverged.
    pub hours: Option<Spread>,
    /// Rounds of a run.
    pub rounds: Option<Spread>,
    /// Devices in a round.
    pub participants: Option<Spread>,
}

impl Standing {
    /// Of the runs of one scheme.
    pub fn of(runs: &[&Summary]) -> Self {
        let number = |holds: fn(&Summary) -> bool| runs.iter().filter(|run| holds(run)).count();
        let diverged = number(|run| run.end == Some(EndReason::Diverged));
        let spread = |value: fn(&Summary) -> f64| Spread::of(runs.iter().map(|run| value(run)));
        Self {
            seeds: runs.len(),
            reached: number(Summary::reached),
            diverged,
            going_on: number(|run| run.end.is_none()),
            hours: spread(|run| run.hours).filter(|_| diverged == 0),
            rounds: spread(|run| run.rounds as f64),
            participants: spread(|run| run.mean_participants),
        }
    }

    /// Whether every seed reached the target.
    pub fn is_whole(&self) -> bool {
        self.reached == self.seeds
    }

    /// Whether some run ended before the target, so that its hours are fewer than it needs. A run that diverged never
    /// reaches the target: its hours bound nothing.
    pub fn is_lower_bound(&self) -> bool {
        !self.is_whole() && self.diverged == 0
    }

    /// Whether the hours are exact or a lower bound.
    pub fn bound(&self) -> Bound {
        Bound::lower_if(self.is_lower_bound())
    }

    /// How many times as fast as a reference.
    pub fn speed_up_over(&self, reference: &Self) -> Option<SpeedUp> {
        let (slow, fast) = reference.hours.zip(self.hours)?;
        let bound = match (reference.is_lower_bound(), self.is_lower_bound()) {
            (false, false) => Bound::Exact,
            (true, false) => Bound::AtLeast,
            (false, true) => Bound::AtMost,
            // A ratio of two lower bounds says nothing.
            (true, true) => return None,
        };
        let relative = |spread: Spread| spread.std.map(|std| std / spread.mean);
        let ratio = Some(slow.mean / fast.mean).filter(|ratio| ratio.is_finite())?;
        let std = relative(slow).zip(relative(fast)).map(|(slow, fast)| ratio * slow.hypot(fast));
        Some(SpeedUp { ratio, std: std.filter(|std| std.is_finite()), bound })
    }
}

/// The fewest hours of the schemes that reached the target with every seed.
pub fn best_hours<'a>(standings: impl Iterator<Item = &'a Standing>) -> Option<f64> {
    let whole = standings.filter(|standing| standing.is_whole());
    whole.filter_map(|standing| Some(standing.hours?.mean)).min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(hours: f64, end: EndReason) -> Summary {
        Summary {
            scheme: "exact".to_owned(),
            seed: 1,
            end: Some(end),
            rounds: 10,
            empty_rounds: 0,
            biased_rounds: 0,
            hours,
            mean_participants: 2.0,
            metrics: Default::default(),
            estimated: None,
            test: Default::default(),
            evaluated_round: None,
        }
    }

    fn standing(runs: &[(f64, EndReason)]) -> Standing {
        let runs: Vec<Summary> = runs.iter().map(|&(hours, end)| run(hours, end)).collect();
        Standing::of(&runs.iter().collect::<Vec<_>>())
    }

    #[test]
    fn a_scheme_that_gave_up_is_never_the_best() {
        let good = standing(&[(1.0, EndReason::Target), (3.0, EndReason::Target)]);
        assert_eq!(good.hours, Some(Spread { mean: 2.0, std: Some(2.0_f64.sqrt()) }));
        let short = standing(&[(0.5, EndReason::Target), (0.5, EndReason::VirtualTimeMax)]);
        assert!(short.is_lower_bound() && !good.is_lower_bound());
        assert_eq!((short.reached, good.reached), (1, 2));
        assert_eq!(best_hours([&short, &good].into_iter()), Some(2.0));
        assert_eq!(best_hours([].into_iter()), None);
    }

    #[test]
    fn speed_up_says_what_it_is() {
        let slow = standing(&[(4.0, EndReason::Target)]);
        let fast = standing(&[(1.0, EndReason::Target)]);
        let gave_up = standing(&[(2.0, EndReason::VirtualTimeMax)]);
        let over =
            |reference: &Standing, of: &Standing| of.speed_up_over(reference).map(|up| (up.ratio, up.bound));
        assert_eq!(over(&slow, &fast), Some((4.0, Bound::Exact)));
        assert_eq!(over(&gave_up, &fast), Some((2.0, Bound::AtLeast)));
        assert_eq!(over(&slow, &gave_up), Some((2.0, Bound::AtMost)));
        assert_eq!(over(&gave_up, &gave_up), None);
    }

    #[test]
    fn hours_of_a_diverged_scheme_say_nothing() {
        let diverged = standing(&[(0.1, EndReason::Diverged), (3.0, EndReason::Target)]);
        assert_eq!((diverged.hours, diverged.diverged), (None, 1));
        assert!(!diverged.is_lower_bound() && !diverged.is_whole());
        assert_eq!(standing(&[(1.0, EndReason::Target)]).hours.unwrap().std, None);
    }
}
