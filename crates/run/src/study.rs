//! Pilots, plans, and every scheme with every seed: what `compare` does once and `sweep` at each point.

use std::path::Path;

use fedflip_plan::{Constants, Scheme};
use fedflip_record::folder::{PILOTS, RUN};
use fedflip_record::{FolderProblem, RecordError, atomic};
use fedflip_scenario::Scenario;
use serde::Serialize;

use crate::comparison::{Comparison, Entry, run_name};
use crate::error::RunError;
use crate::folders::{self, COMPARE, RUNS};
use crate::pilots::{Piloted, Pilots};
use crate::seed_after;
use crate::session::Session;
use crate::setup::Setup;
use crate::shard::Part;
use crate::verdict::{ComparisonJson, PilotJson};

/// The schemes of the paper's Table I.
pub const TABLE1: [Scheme; 5] = [
    Scheme::Full,
    Scheme::Fixed(fedflip_fleet::Probability::ONE_FIFTH),
    Scheme::Weighted,
    Scheme::Uniform,
    Scheme::Paper,
];

/// The scheme that ratios are to, as in Table I.
pub const REFERENCE: Scheme = Scheme::Paper;

/// How to compare, whatever the scenario.
#[derive(Clone, Debug)]
pub struct Study {
    /// The schemes, in the order of the results.
    pub schemes: Vec<Scheme>,
    /// One of the schemes: ratios are to it, it runs first, and the limit of the others follows from it.
    pub reference: Scheme,
    /// Runs of each scheme.
    pub seeds: u64,
    /// A run that exceeds this multiple of the reference's hours is stopped; none runs everything to its end.
    pub give_up: Option<f64>,
    /// Plan with the scenario's α and β instead of pilots.
    pub no_pilot: bool,
    /// The part of the runs to do; none to do all.
    pub part: Option<Part>,
}

/// The result for one scenario.
pub struct Studied {
    /// The result for programs.
    pub json: ComparisonJson,
    /// The rows of the table for people.
    pub entries: Vec<Entry>,
}

impl Study {
    /// Whether α and β are measured: not all schemes need them.
    pub fn has_pilots(&self) -> bool {
        !self.no_pilot && self.schemes.iter().any(Scheme::needs_constants)
    }

    /// The runs and pilots of a scenario.
    pub fn items(&self, scenario: &Scenario) -> u64 {
        self.pilots(scenario) + self.schemes.len() as u64 * self.seeds
    }

    fn pilots(&self, scenario: &Scenario) -> u64 {
        match self.has_pilots() {
            true => Pilots::count(scenario, self.kept(scenario)),
            false => 0,
        }
    }

    /// The number of runs that continue from pilots.
    fn kept(&self, scenario: &Scenario) -> u64 {
        if scenario.pilot.keep { self.seeds } else { 0 }
    }

    /// Refuses a scenario that cannot be compared in this way.
    pub fn check(&self, scenario: &Scenario) -> Result<(), RunError> {
        let needs_pilots = self.schemes.iter().any(Scheme::needs_constants);
        if self.no_pilot && scenario.pilot.keep && needs_pilots {
            return Err(RunError::NoPilots);
        }
        Ok(())
    }

    /// Refuses a scenario without a target. An external task may have none; whoever has no learner for it is told of that first.
    pub fn check_target(scenario: &Scenario) -> Result<(), RunError> {
        scenario.target().map(drop).ok_or(RunError::NoTarget)
    }

    /// Refuses a folder that has one of the runs already, before the others are trained. Whoever resumes has it continued.
    pub fn check_runs(&self, scenario: &Scenario, out: &Path, resume: bool) -> Result<(), RunError> {
        if resume || self.part.is_some() {
            return Ok(());
        }
        for scheme in &self.schemes {
            for number in 0..self.seeds {
                let folder = out.join(RUNS).join(run_name(scheme, seed_after(scenario.seed, number)));
                if folder.join(RUN).exists() {
                    return Err(RecordError::folder(&folder, FolderProblem::Occupied).into());
                }
            }
        }
        Ok(())
    }

    /// Pilots, runs, and `compare.json`, kept in `out`; none if it was interrupted. All runs have the settings of the
    /// scenario, but for scheme and seed. Observers are shown `prefix` before the names of runs.
    pub fn run(
        &self,
        scenario: &Scenario,
        out: Option<&Path>,
        prefix: &str,
        session: &mut Session<'_>,
    ) -> Result<Option<Studied>, RunError> {
        self.check(scenario)?;
        let setup = Setup::new(scenario, session)?;
        self.run_in(&setup, scenario, out, prefix, session)
    }

    /// The same with a setup that is there already, such as that of a program's own learner.
    pub fn run_in(
        &self,
        setup: &Setup,
        scenario: &Scenario,
        out: Option<&Path>,
        prefix: &str,
        session: &mut Session<'_>,
    ) -> Result<Option<Studied>, RunError> {
        self.check(scenario)?;
        Self::check_target(scenario)?;
        if let Some(out) = out {
            folders::check_comparison(out)?;
            self.check_runs(scenario, out, session.resume)?;
        }
        // Before anything runs: a mistake in a file must not cost the hours of the other schemes.
        for given in self.schemes.iter().filter_map(Scheme::given) {
            given.for_fleet(&setup.fleet)?;
        }
        let given = scenario.plan.constants;
        let found = setup.with_crew(session.threads, |crew| {
            let (mut pilot, mut constants, mut warm_starts) = (PilotJson::given(given), given, Vec::new());
            if self.has_pilots() {
                let folder = out.map(|out| out.join(PILOTS));
                let pilots = Pilots {
                    setup,
                    scenario,
                    out: folder.as_deref(),
                    prefix,
                    kept: self.kept(scenario),
                    part: self.part.zip(out),
                };
                let Some(piloted) = pilots.run(crew, session)? else { return Ok(None) };
                (pilot, constants, warm_starts) = measured(piloted, scenario)?;
            }
            let part = self.part.map(|part| part.after(self.pilots(scenario))).zip(out);
            let out = out.map(|out| out.join(RUNS));
            let comparison = Comparison {
                setup,
                scenario,
                schemes: &self.schemes,
                reference: self.reference.clone(),
                constants,
                warm_starts,
                seeds: self.seeds,
                give_up: self.give_up,
                out: out.as_deref(),
                prefix,
                part,
            };
            Ok(comparison.run(crew, session)?.map(|entries| (pilot, entries)))
        })?;
        let Some((pilot, entries)) = found else { return Ok(None) };
        let json = ComparisonJson::new(scenario, pilot, &entries, self);
        // A shard has only some of the runs.
        if let Some(out) = out.filter(|_| self.part.is_none()) {
            write_json(&out.join(COMPARE), &json)?;
        }
        Ok(Some(Studied { json, entries }))
    }
}

fn measured(
    piloted: Piloted,
    scenario: &Scenario,
) -> Result<(PilotJson, Constants, Vec<crate::single::WarmStart>), RunError> {
    let hours = Some(piloted.hours());
    let constants = piloted.fit?.constants;
    let pilot = PilotJson { hours, kept: scenario.pilot.keep, ..PilotJson::given(constants) };
    Ok((pilot, constants, piloted.kept))
}

/// Replaces a file by a value as JSON for people.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), RunError> {
    let mut bytes = serde_json::to_vec_pretty(value)
        .map_err(|error| RecordError::io(path, "cannot be written")(error.into()))?;
    bytes.push(b'\n');
    Ok(atomic::write(path, &bytes)?)
}
