//! Every scheme with every seed, to the target: what the paper's Table I is made from.

use std::path::Path;

use fedflip_learn::Crew;
use fedflip_plan::{Constants, PlanError, Scheme};
use fedflip_record::{Curve, Summary};
use fedflip_report::standing::{self, Standing};

use crate::error::RunError;
use crate::seed_after;
use crate::session::Session;
use crate::setup::Setup;
use crate::single::{Single, WarmStart};
use fedflip_scenario::Scenario;

/// What is compared.
pub struct Comparison<'a> {
    pub setup: &'a Setup,
    /// One for each scheme: what a scheme brings besides its q may differ.
    pub scenarios: &'a [Scenario],
    pub constants: Constants,
    /// Where the runs of planned schemes go on, seed by seed; otherwise they begin.
    pub kept: Vec<WarmStart>,
    pub seeds: u64,
    /// A run past so many times the best scheme's hours is stopped.
    pub give_up: f64,
    pub out: Option<&'a Path>,
    /// What the bar says before a run's number and name.
    pub prefix: &'a str,
}

/// How a scheme did.
pub struct Entry {
    pub scheme: Scheme,
    /// A run per seed, or why there is no plan.
    pub runs: Result<Vec<Summary>, PlanError>,
    /// Of the first seed.
    pub curve: Curve,
}

impl Entry {
    pub fn runs(&self) -> &[Summary] {
        self.runs.as_deref().unwrap_or_default()
    }

    /// How it did over its seeds.
    pub fn standing(&self) -> Standing {
        Standing::of(&self.runs().iter().collect::<Vec<_>>())
    }
}

/// The fewest hours of the schemes that reached the target with every seed.
pub fn best_hours(entries: &[Entry]) -> Option<f64> {
    let standings: Vec<Standing> = entries.iter().map(Entry::standing).collect();
    standing::best_hours(standings.iter())
}

impl Comparison<'_> {
    /// Runs everything, scheme after scheme; none if it was interrupted. What a run may take depends on the
    /// schemes before it alone, so a comparison that goes on comes out the same, but for runs that the clock on the
    /// wall has stopped.
    pub fn run(
        &self,
        crew: &mut dyn Crew,
        session: &mut Session<'_>,
    ) -> Result<Option<Vec<Entry>>, RunError> {
        let (mut entries, mut told) = (Vec::new(), Vec::new());
        for (place, scenario) in self.scenarios.iter().enumerate() {
            let scheme = scenario.plan.scheme;
            let setup = self.setup.under(scenario)?;
            let planned = match setup.plan(scenario, self.constants) {
                Ok(planned) => planned,
                Err(RunError::Plan(error)) => {
                    entries.push(Entry { scheme, runs: Err(error), curve: Curve::default() });
                    continue;
                }
                Err(error) => return Err(error),
            };
            for text in planned.warnings(scenario, &setup.fleet) {
                // Once, however many schemes have the same quiet rounds.
                if !told.contains(&text) {
                    session.observers.warn(&format!("{}{text}", self.prefix));
                    told.push(text);
                }
            }
            let cap_hours = best_hours(&entries).map(|best| self.give_up * best);
            let (mut runs, mut first) = (Vec::new(), None);
            for number in 0..self.seeds {
                let mut scenario = scenario.clone();
                scenario.seed = seed_after(scenario.seed, number);
                scenario.plan.constants = self.constants;
                let kept = self.kept.get(number as usize).filter(|_| scheme.needs_constants()).cloned();
                // What is kept is on the clock before the first round: it is no reason to give up.
                let before_hours = kept.as_ref().map_or(0.0, |kept| kept.secs / 3600.0);
                let cap_hours = cap_hours.map(|cap| cap + before_hours);
                let caps = [cap_hours, scenario.stop.virtual_hours_max];
                scenario.stop.virtual_hours_max = caps.into_iter().flatten().min_by(f64::total_cmp);
                let name = format!("{scheme}-seed{}", scenario.seed);
                let out = self.out.map(|out| out.join(&name));
                let done = place as u64 * self.seeds + number + 1;
                let all = self.scenarios.len() as u64 * self.seeds;
                let single = Single {
                    setup: &setup,
                    scenario: &scenario,
                    planned: &planned,
                    warm_start: kept,
                    out: out.as_deref(),
                    title: &format!("{}{done}/{all} {name}", self.prefix),
                };
                let fold = single.run(crew, session)?.fold;
                // One that the clock on the wall stopped is a lower bound.
                if fold.summary.end.is_none() && (session.stop)() {
                    return Ok(None);
                }
                runs.push(fold.summary);
                first.get_or_insert(fold.curve);
            }
            entries.push(Entry { scheme, runs: Ok(runs), curve: first.unwrap_or_default() });
        }
        Ok(Some(entries))
    }
}
