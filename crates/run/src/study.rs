//! Pilots, plans, and every scheme with every seed: what `compare` does once and `sweep` at each point.

use std::path::Path;

use fedflip_learn::with_crew;
use fedflip_plan::Scheme;
use fedflip_record::{RecordError, atomic};
use serde::Serialize;

use crate::comparison::{Comparison, Entry};
use crate::error::RunError;
use crate::pilots::Pilots;
use crate::session::Session;
use crate::setup::Setup;
use crate::verdict::{ComparisonJson, PilotJson};
use fedflip_scenario::{Scenario, ScenarioError};

/// How to compare, whatever the scenario.
pub struct Study {
    /// The schemes, in the order in which they run.
    pub schemes: Vec<Scheme>,
    /// Runs of each scheme.
    pub seeds: u64,
    /// A run past so many times the best scheme's hours is stopped.
    pub give_up: f64,
    /// Plan with the scenario's α and β instead of pilots.
    pub no_pilot: bool,
}

/// What came of a scenario.
pub struct Studied {
    pub json: ComparisonJson,
    pub entries: Vec<Entry>,
}

impl Study {
    /// Whether this is one of the schemes.
    pub fn has(&self, scheme: Scheme) -> bool {
        self.schemes.contains(&scheme)
    }

    /// Whether α and β are measured: not all schemes need them.
    pub fn has_pilots(&self) -> bool {
        !self.no_pilot && self.schemes.iter().any(|scheme| scheme.needs_constants())
    }

    /// A scenario for each scheme, made by `under`.
    pub fn scenarios(
        &self,
        under: impl Fn(Scheme) -> Result<Scenario, ScenarioError>,
    ) -> Result<Vec<Scenario>, RunError> {
        let scenarios = self.schemes.iter().map(|&scheme| under(scheme));
        let scenarios = scenarios.collect::<Result<Vec<Scenario>, ScenarioError>>()?;
        let continues = |of: &Scenario| of.pilot.keep && of.plan.scheme.needs_constants();
        if self.no_pilot && scenarios.iter().any(continues) {
            return Err(RunError::Conflict {
                problem: "pilot.keep continues from pilots, and the comparison runs none",
                remedy: "leave out one of the two",
            });
        }
        Ok(scenarios)
    }

    /// Everything for the scenarios of all schemes, kept in `out`: pilots, runs, and at last `compare.json`. None if
    /// it was interrupted. `prefix` is what the bar says before the names of runs.
    pub fn run(
        &self,
        scenarios: &[Scenario],
        out: Option<&Path>,
        prefix: &str,
        session: &mut Session<'_>,
    ) -> Result<Option<Studied>, RunError> {
        // Pilots are those of a scheme that needs them.
        let needy = scenarios.iter().find(|scenario| scenario.plan.scheme.needs_constants());
        let Some(scenario) = needy.or(scenarios.first()) else { return Ok(None) };
        let setup = Setup::new(scenario, session)?;
        let given = scenario.plan.constants;
        let mut pilot = PilotJson { alpha: given.alpha(), beta: given.beta(), hours: None, kept: false };
        let entries = with_crew(&*setup.learner, session.threads, |crew| {
            let mut constants = given;
            let mut kept = Vec::new();
            if self.has_pilots() {
                let out = out.map(|out| out.join("pilots"));
                let out = out.as_deref();
                let of_runs = if scenario.pilot.keep { self.seeds } else { 0 };
                let pilots = Pilots { setup: &setup, scenario, out, prefix, kept: of_runs };
                let Some(piloted) = pilots.run(crew, session)? else { return Ok(None) };
                let hours = Some(piloted.hours());
                (constants, kept) = (piloted.fit?.constants, piloted.kept);
                pilot = PilotJson {
                    alpha: constants.alpha(),
                    beta: constants.beta(),
                    hours,
                    kept: scenario.pilot.keep,
                };
            }
            let out = out.map(|out| out.join("runs"));
            let comparison = Comparison {
                setup: &setup,
                scenarios,
                constants,
                kept,
                seeds: self.seeds,
                give_up: self.give_up,
                out: out.as_deref(),
                prefix,
            };
            comparison.run(crew, session)
        })?;
        let Some(entries) = entries else { return Ok(None) };
        let json = ComparisonJson::new(scenario, pilot, &entries, self.seeds);
        if let Some(out) = out {
            write_json(&out.join("compare.json"), &json)?;
        }
        Ok(Some(Studied { json, entries }))
    }
}

/// Replaces a file by a value as JSON for people.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), RunError> {
    let mut bytes = serde_json::to_vec_pretty(value)
        .map_err(|error| RecordError::io(path, "cannot be written")(error.into()))?;
    bytes.push(b'\n');
    Ok(atomic::write(path, &bytes)?)
}
