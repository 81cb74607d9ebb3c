//! Every scheme with every seed, under equal settings, to the target: what the paper's Table I is made from.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fedflip_learn::Crew;
use fedflip_plan::{Constants, PlanError, Scheme};
use fedflip_record::{Curve, Summary};
use fedflip_report::standing::{self, Standing};
use fedflip_scenario::Scenario;

use crate::error::RunError;
use crate::folders::RUNS;
use crate::seed_after;
use crate::session::Session;
use crate::setup::{Planned, Setup};
use crate::shard::{Part, Place};
use crate::single::{Finished, Single, WarmStart};
use crate::warnings;

/// One comparison: schemes and seeds under one scenario.
pub(crate) struct Comparison<'a> {
    pub setup: &'a Setup,
    /// The settings of all runs, but for scheme and seed.
    pub scenario: &'a Scenario,
    pub schemes: &'a [Scheme],
    /// It runs first; the limit for the others follows from it.
    pub reference: Scheme,
    pub constants: Constants,
    /// What the runs of planned schemes continue from, seed by seed.
    pub warm_starts: Vec<WarmStart>,
    pub seeds: u64,
    /// A run that exceeds this multiple of the reference's hours is stopped.
    pub give_up: Option<f64>,
    pub out: Option<&'a Path>,
    /// What observers are shown before a run's number and name.
    pub prefix: &'a str,
    /// The runs that this process does, and the folder of the comparison; none if it does all.
    pub part: Option<(Part, &'a Path)>,
}

/// How a scheme did.
pub struct Entry {
    /// The scheme that all runs of this entry share.
    pub scheme: Scheme,
    /// One run per seed, or why there is no plan.
    pub runs: Result<Vec<Summary>, PlanError>,
    /// The curve of the first seed; none without a plan.
    pub curve: Option<Curve>,
}

impl Entry {
    /// How it did over its seeds.
    pub fn standing(&self) -> Standing {
        Standing::of(&self.runs.iter().flatten().collect::<Vec<_>>())
    }

    /// Mean hours to the target, if every seed reached it.
    pub(crate) fn whole_hours(&self) -> Option<f64> {
        let standing = self.standing();
        standing.hours.filter(|_| standing.is_whole()).map(|hours| hours.mean)
    }
}

/// The fewest hours of the schemes that reached the target with every seed.
pub fn best_hours(entries: &[Entry]) -> Option<f64> {
    let standings: Vec<Standing> = entries.iter().map(Entry::standing).collect();
    standing::best_hours(standings.iter())
}

impl Comparison<'_> {
    /// Runs everything, the reference first; none if it was interrupted. Entries are in the order of the schemes. The
    /// limit of a run depends on the reference alone, so a comparison that is resumed comes out the same, but for runs
    /// that a cap on real time has stopped.
    pub(crate) fn run(
        &self,
        crew: &mut dyn Crew,
        session: &mut Session<'_>,
    ) -> Result<Option<Vec<Entry>>, RunError> {
        let mut order: Vec<usize> = (0..self.schemes.len()).collect();
        order.sort_by_key(|&place| self.schemes[place] != self.reference);
        let (mut done, mut warned, mut limit_hours) = (Vec::new(), Vec::new(), None);
        let spread = self.spread(std::iter::once(&self.reference), None, session)?;
        let Some(mut spread) = spread else { return Ok(None) };
        for (number, place) in order.into_iter().enumerate() {
            let scheme = self.schemes[place].clone();
            let scenario = self.scenario_of(&scheme);
            let runs = match self.setup.plan(&scenario, Some(self.constants)) {
                Ok(planned) => {
                    self.warn(&planned, &scenario, &mut warned, session);
                    let first = number as u64 * self.seeds;
                    self.seeds((&scenario, &planned), (first, limit_hours), (&spread, crew), session)?
                }
                // A program whose scheme raises is to know at once.
                Err(RunError::Plan(error)) if !matches!(error, PlanError::Custom(_)) => {
                    Some(Entry { scheme: scheme.clone(), runs: Err(error), curve: None })
                }
                Err(error) => return Err(error),
            };
            let Some(entry) = runs else { return Ok(None) };
            // A shard lists its own runs, or the scheme of which it cannot have any.
            if entry.runs.as_ref().is_ok_and(Vec::is_empty) {
                continue;
            }
            if scheme == self.reference {
                limit_hours = self.give_up.zip(entry.whole_hours()).map(|(factor, hours)| factor * hours);
                let others = self.schemes.iter().filter(|scheme| **scheme != self.reference);
                let Some(more) = self.spread(others, limit_hours, session)? else { return Ok(None) };
                spread.extend(more);
            }
            done.push((place, entry));
        }
        done.sort_by_key(|(place, _)| *place);
        Ok(Some(done.into_iter().map(|(_, entry)| entry).collect()))
    }

    /// Each warning once, however many schemes share its cause.
    fn warn(
        &self,
        planned: &Planned,
        scenario: &Scenario,
        warned: &mut Vec<String>,
        session: &mut Session<'_>,
    ) {
        for text in warnings::of_plan(planned, scenario, &self.setup.fleet) {
            if !warned.contains(&text) {
                session.observers.warn(&format!("{}{text}", self.prefix));
                warned.push(text);
            }
        }
    }

    /// All seeds of one scheme, or those of the shard; none if it was interrupted.
    fn seeds(
        &self,
        (scenario, planned): (&Scenario, &Planned),
        (first, limit_hours): (u64, Option<f64>),
        (spread, crew): (&BTreeSet<PathBuf>, &mut dyn Crew),
        session: &mut Session<'_>,
    ) -> Result<Option<Entry>, RunError> {
        let scheme = scenario.plan.scheme.clone();
        let (mut runs, mut curve) = (Vec::new(), None);
        for number in 0..self.seeds {
            let (mut scenario, warm_start) = self.run_of(scenario, number, limit_hours);
            let name = run_name(&scheme, scenario.seed);
            let (out, repeats, before) = match self.place(&scheme, number, &name) {
                None => (self.out.map(|out| out.join(&name)), false, None),
                Some(None) => continue,
                Some(Some(Place::Own(folder))) => (Some(folder), false, None),
                Some(Some(Place::Repeated(folder))) => (Some(folder), true, None),
                Some(Some(Place::Done(folder, fold))) => (Some(folder), false, Some(fold)),
            };
            self.setup.with_first_model(&mut scenario)?;
            let is_there = repeats || out.as_ref().is_some_and(|out| spread.contains(out));
            let all = self.schemes.len() as u64 * self.seeds;
            let single = Single {
                setup: self.setup,
                scenario: &scenario,
                planned,
                warm_start,
                pilot: false,
                out: out.as_deref(),
                title: &format!("{}{}/{all} {scheme}-seed{}", self.prefix, first + number + 1, scenario.seed),
            };
            let done = match before {
                Some(fold) => single.check_same().map(|()| Finished::before(*fold))?,
                None if is_there => single.repeat(crew, session)?,
                None => single.run(crew, session)?,
            };
            // A run that a cap on real time stopped is a lower bound.
            if done.fold.summary.end.is_none() && (session.stop)() {
                return Ok(None);
            }
            runs.push(done.fold.summary);
            curve.get_or_insert(done.fold.curve);
        }
        Ok(Some(Entry { scheme, runs: Ok(runs), curve }))
    }

    /// The settings of all runs of a scheme.
    pub(crate) fn scenario_of(&self, scheme: &Scheme) -> Scenario {
        let mut scenario = self.scenario.clone();
        scenario.plan.scheme = scheme.clone();
        scenario.plan.constants = self.constants;
        scenario
    }

    /// The run of a seed: its scenario, but for the first model of a program's learner, and the model that it continues from.
    pub(crate) fn run_of(
        &self,
        scenario: &Scenario,
        number: u64,
        limit_hours: Option<f64>,
    ) -> (Scenario, Option<WarmStart>) {
        let mut scenario = Scenario { seed: seed_after(scenario.seed, number), ..scenario.clone() };
        let needs = scenario.plan.scheme.needs_constants();
        let warm_start = self.warm_starts.get(number as usize).filter(|_| needs).cloned();
        // The time of pilots is on the clock before the first round: it is no reason to give up.
        let before_hours = warm_start.as_ref().map_or(0.0, |start| start.secs / 3600.0);
        let limits = [limit_hours.map(|hours| hours + before_hours), scenario.stop.virtual_hours_max];
        scenario.stop.virtual_hours_max = limits.into_iter().flatten().min_by(f64::total_cmp);
        (scenario, warm_start)
    }

    /// Where a shard has a run: nowhere, if it neither does the run nor needs its result. None without shards.
    fn place(&self, scheme: &Scheme, number: u64, name: &str) -> Option<Option<Place>> {
        let (part, out) = self.part?;
        let item = |scheme: &Scheme, number: u64| {
            let place = self.schemes.iter().position(|other| other == scheme).unwrap_or(0) as u64;
            place * self.seeds + number
        };
        // The limit of the other schemes follows from all runs of the reference.
        let mut others = self.schemes.iter().filter(|other| **other != self.reference);
        let needed = *scheme == self.reference
            && self.give_up.is_some()
            && others.any(|other| (0..self.seeds).any(|number| part.owns(item(other, number))));
        let item = item(scheme, number);
        Some((needed || part.owns(item)).then(|| part.place(item, out, RUNS, name)))
    }
}

/// The name of a run's folder. The file of a scheme may be in another folder.
pub(crate) fn run_name(scheme: &Scheme, seed: u64) -> String {
    format!("{scheme}-seed{seed}").replace(std::path::is_separator, "+")
}
