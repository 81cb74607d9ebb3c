//! Pilots, plans, and every scheme with every seed: what `compare` does once and `sweep` at each point.

use std::path::{Path, PathBuf};

use fedflip_plan::Scheme;
use fedflip_record::atomic;
use fedflip_sim::with_crew;
use serde::Serialize;

use super::comparison::{Comparison, Entry};
use super::follow::Followers;
use super::pilots::Pilots;
use super::setup::Setup;
use super::verdict::{ComparisonJson, PilotJson};
use super::{overrides, threads};
use crate::args::{ComparisonArgs, TrainingArgs};
use crate::error::CliError;
use crate::scenario::Scenario;

/// How to compare, whatever the scenario.
pub(crate) struct Study {
    schemes: Vec<Scheme>,
    seeds: u64,
    give_up: f64,
    /// With the scenario's α and β.
    no_pilot: bool,
    resume: bool,
    threads: usize,
    data_dir: PathBuf,
}

/// What came of a scenario.
pub(crate) struct Studied {
    pub json: ComparisonJson,
    pub entries: Vec<Entry>,
}

impl Study {
    pub(crate) fn new(args: &ComparisonArgs, data_dir: PathBuf) -> Result<Self, CliError> {
        let mut schemes: Vec<Scheme> = Vec::new();
        for name in &args.schemes {
            let scheme = name.trim().parse()?;
            if !schemes.contains(&scheme) {
                schemes.push(scheme);
            }
        }
        Ok(Self {
            schemes,
            seeds: args.seeds,
            give_up: args.give_up,
            no_pilot: args.no_pilot,
            resume: args.training.resume,
            threads: threads(&args.training),
            data_dir,
        })
    }

    /// Whether this is one of the schemes.
    pub(crate) fn has(&self, scheme: Scheme) -> bool {
        self.schemes.contains(&scheme)
    }

    /// Whether α and β are measured: not all schemes need them.
    pub(crate) fn has_pilots(&self) -> bool {
        !self.no_pilot && self.schemes.iter().any(|scheme| scheme.needs_constants())
    }

    /// A scenario for each scheme, from what makes one of the flags.
    pub(crate) fn scenarios(
        &self,
        training: &TrainingArgs,
        scenario: impl Fn(&[String]) -> Result<Scenario, CliError>,
    ) -> Result<Vec<Scenario>, CliError> {
        let under = |scheme: &Scheme| overrides(&training.set, training.seed, Some(&scheme.to_string()));
        let scenarios = self.schemes.iter().map(|scheme| scenario(&under(scheme)));
        let scenarios = scenarios.collect::<Result<Vec<Scenario>, CliError>>()?;
        let goes_on = |of: &Scenario| of.pilot.keep && of.plan.scheme.needs_constants();
        if self.no_pilot && scenarios.iter().any(goes_on) {
            return Err(CliError::Usage {
                problem: "pilot.keep goes on from pilots, and --no-pilot leaves them out",
                hint: "leave out one of the two",
            });
        }
        Ok(scenarios)
    }

    /// Everything for the scenarios of all schemes, kept in `out`: pilots, runs, and at last `compare.json`. None if
    /// it was interrupted. `prefix` is what the bar says before the names of runs.
    pub(crate) fn run(
        &self,
        scenarios: &[Scenario],
        out: Option<&Path>,
        prefix: &str,
        followers: &mut Followers,
    ) -> Result<Option<Studied>, CliError> {
        // Pilots are those of a scheme that needs them.
        let needy = scenarios.iter().find(|scenario| scenario.plan.scheme.needs_constants());
        let Some(scenario) = needy.or(scenarios.first()) else { return Ok(None) };
        let setup = Setup::new(scenario, &self.data_dir)?;
        let Self { resume, threads, .. } = *self;
        let given = scenario.plan.constants;
        let mut pilot = PilotJson { alpha: given.alpha(), beta: given.beta(), hours: None, kept: false };
        let entries = with_crew(&*setup.learner, threads, |crew| {
            let mut constants = given;
            let mut kept = Vec::new();
            if self.has_pilots() {
                let out = out.map(|out| out.join("pilots"));
                let out = out.as_deref();
                let of_runs = if scenario.pilot.keep { self.seeds } else { 0 };
                let pilots = Pilots { setup: &setup, scenario, out, resume, threads, prefix, kept: of_runs };
                let Some(piloted) = pilots.run(crew, followers)? else { return Ok(None) };
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
                resume,
                threads,
                prefix,
            };
            comparison.run(crew, followers)
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
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), CliError> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(std::io::Error::from)?;
    bytes.push(b'\n');
    Ok(atomic::write(path, &bytes)?)
}
