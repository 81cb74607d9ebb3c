//! Every scheme with every seed, to the target: what the paper's Table I is made from.

use std::path::Path;

use fedflip_learn::sgd::SgdLearner;
use fedflip_plan::{Constants, PlanError, Scheme};
use fedflip_record::{EndReason, Summary};
use fedflip_sim::Crew;

use super::follow::Followers;
use super::outline::Curve;
use super::seed_after;
use super::setup::Setup;
use super::single::Single;
use crate::error::CliError;
use crate::scenario::Scenario;

/// What is compared.
pub(crate) struct Comparison<'a> {
    pub setup: &'a Setup,
    pub scenario: &'a Scenario,
    pub constants: Constants,
    pub schemes: &'a [Scheme],
    pub seeds: u64,
    /// A run past so many times the best scheme's hours is stopped.
    pub give_up: f64,
    pub out: Option<&'a Path>,
    pub resume: bool,
    pub threads: usize,
    /// What the bar says before a run's number and name.
    pub prefix: &'a str,
}

/// How a scheme did.
pub(crate) struct Entry {
    pub scheme: Scheme,
    /// A run per seed, or why there is no plan.
    pub runs: Result<Vec<Summary>, PlanError>,
    /// Of the first seed.
    pub curve: Curve,
}

/// Mean and standard deviation over seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub mean: f64,
    /// None for a single one.
    pub std: Option<f64>,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let count = values.clone().count() as f64;
        let mean = values.clone().sum::<f64>() / count.max(1.0);
        let squares: f64 = values.map(|value| (value - mean).powi(2)).sum();
        Self { mean, std: (count > 1.0).then(|| (squares / (count - 1.0)).sqrt()) }
    }
}

impl Entry {
    pub(crate) fn runs(&self) -> &[Summary] {
        self.runs.as_deref().unwrap_or_default()
    }

    /// Seeds that reached the target.
    pub(crate) fn reached(&self) -> usize {
        self.runs().iter().filter(|run| run.reached()).count()
    }

    /// Seeds whose model left the numbers: their hours say nothing.
    pub(crate) fn diverged(&self) -> usize {
        self.runs().iter().filter(|run| run.end == Some(EndReason::Diverged)).count()
    }

    /// Whether some run did not get there, so that its hours are fewer than it needs.
    pub(crate) fn is_lower_bound(&self) -> bool {
        self.reached() < self.runs().len()
    }

    /// Virtual hours of a run; none if there are no runs, or if some diverged.
    pub(crate) fn hours(&self) -> Option<Spread> {
        if self.diverged() > 0 { None } else { self.over_runs(|run| run.hours) }
    }

    pub(crate) fn rounds(&self) -> Option<Spread> {
        self.over_runs(|run| run.rounds as f64)
    }

    pub(crate) fn participants(&self) -> Option<Spread> {
        self.over_runs(|run| run.mean_participants)
    }

    fn over_runs(&self, value: fn(&Summary) -> f64) -> Option<Spread> {
        (!self.runs().is_empty()).then(|| Spread::of(self.runs().iter().map(value)))
    }
}

/// The fewest hours of the schemes that reached the target with every seed.
pub(crate) fn best_hours(entries: &[Entry]) -> Option<f64> {
    let whole = entries.iter().filter(|entry| !entry.is_lower_bound());
    whole.filter_map(|entry| Some(entry.hours()?.mean)).min_by(f64::total_cmp)
}

impl Comparison<'_> {
    /// Runs everything, scheme after scheme; none if it was interrupted. What a run may take depends on the
    /// schemes before it alone, so a comparison that goes on comes out the same.
    pub(crate) fn run(
        &self,
        crew: &mut Crew<'_, SgdLearner>,
        followers: &mut Followers,
    ) -> Result<Option<Vec<Entry>>, CliError> {
        let mut entries = Vec::new();
        for (place, &scheme) in self.schemes.iter().enumerate() {
            let planned = match self.setup.plan(self.scenario, scheme, self.constants) {
                Ok(planned) => planned,
                Err(CliError::Plan(error)) => {
                    entries.push(Entry { scheme, runs: Err(error), curve: Curve::default() });
                    continue;
                }
                Err(error) => return Err(error),
            };
            let cap_hours = best_hours(&entries).map(|best| self.give_up * best);
            let (mut runs, mut first) = (Vec::new(), None);
            for number in 0..self.seeds {
                let mut scenario = self.scenario.clone();
                scenario.seed = seed_after(self.scenario.seed, number);
                scenario.plan.scheme = scheme;
                scenario.plan.constants = self.constants;
                let caps = [cap_hours, scenario.stop.virtual_hours_max];
                scenario.stop.virtual_hours_max = caps.into_iter().flatten().min_by(f64::total_cmp);
                let name = format!("{scheme}-seed{}", scenario.seed);
                let out = self.out.map(|out| out.join(&name));
                let done = place as u64 * self.seeds + number + 1;
                let all = self.schemes.len() as u64 * self.seeds;
                let single = Single {
                    setup: self.setup,
                    scenario: &scenario,
                    planned: &planned,
                    out: out.as_deref(),
                    resume: self.resume,
                    threads: self.threads,
                    title: &format!("{}{done}/{all} {name}", self.prefix),
                };
                let outline = single.run(crew, followers)?.outline;
                if outline.summary.end.is_none() {
                    return Ok(None);
                }
                runs.push(outline.summary);
                first.get_or_insert(outline.curve);
            }
            entries.push(Entry { scheme, runs: Ok(runs), curve: first.unwrap_or_default() });
        }
        Ok(Some(entries))
    }
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
            loss: None,
            accuracy: None,
            evaluated_round: None,
        }
    }

    #[test]
    fn a_scheme_that_gave_up_is_never_the_best() {
        let entry = |runs: &[(f64, EndReason)]| Entry {
            scheme: Scheme::Exact,
            runs: Ok(runs.iter().map(|&(hours, end)| run(hours, end)).collect()),
            curve: Curve::default(),
        };
        let good = entry(&[(1.0, EndReason::TargetAccuracy), (3.0, EndReason::TargetAccuracy)]);
        assert_eq!(good.hours(), Some(Spread { mean: 2.0, std: Some(2.0_f64.sqrt()) }));
        let short = entry(&[(0.5, EndReason::TargetAccuracy), (0.5, EndReason::VirtualTimeMax)]);
        assert!(short.is_lower_bound() && !good.is_lower_bound());
        assert_eq!((short.reached(), good.reached()), (1, 2));
        assert_eq!(best_hours(&[short, good]), Some(2.0));
        assert_eq!(best_hours(&[]), None);
    }
}
