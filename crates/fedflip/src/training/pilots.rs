//! Lines 1–3 of Algorithm 2: short runs under uniform and full sampling, and what they say of α and β.

use std::path::Path;

use fedflip_learn::sgd::SgdLearner;
use fedflip_plan::{Pilot, PilotFit, PlanError, Scheme, constants};
use fedflip_record::Summary;
use fedflip_sim::Crew;

use super::follow::Followers;
use super::seed_after;
use super::setup::Setup;
use super::single::Single;
use super::watch::interrupted;
use crate::error::CliError;
use crate::scenario::{Scenario, Stop};

/// Pilots have seeds of their own, so that no run goes the way of its pilot.
const SEED_OFFSET: u64 = 1_000_000;

/// The paper's two.
const SCHEMES: [Scheme; 2] = [Scheme::Uniform, Scheme::Full];

/// Where and how pilots run.
pub(crate) struct Pilots<'a> {
    pub setup: &'a Setup,
    pub scenario: &'a Scenario,
    /// A folder of all pilots, or none.
    pub out: Option<&'a Path>,
    pub resume: bool,
    pub threads: usize,
    /// What the bar says before a pilot's name.
    pub prefix: &'a str,
}

/// What pilots came to.
pub(crate) struct Piloted {
    /// In the order in which they ran.
    pub runs: Vec<Summary>,
    /// α and β, or why there are none.
    pub fit: Result<PilotFit, PlanError>,
}

impl Piloted {
    /// Virtual hours of all pilots of one seed, averaged over the seeds: what Algorithm 2 takes.
    pub(crate) fn hours(&self) -> f64 {
        let seeds = self.runs.len().div_ceil(SCHEMES.len()).max(1);
        self.runs.iter().map(|run| run.hours).sum::<f64>() / seeds as f64
    }
}

impl Pilots<'_> {
    /// Runs them all; none if it was interrupted.
    pub(crate) fn run(
        &self,
        crew: &mut Crew<'_, SgdLearner>,
        followers: &mut Followers,
    ) -> Result<Option<Piloted>, CliError> {
        let (mut runs, mut points) = (Vec::new(), Vec::new());
        for number in 0..self.scenario.pilot.seeds {
            for scheme in SCHEMES {
                let scenario = pilot_scenario(self.scenario, scheme, number);
                let Some(planned) = self.setup.unjudged(scheme) else { continue };
                let name = format!("{scheme}-seed{}", scenario.seed);
                let out = self.out.map(|out| out.join(&name));
                let single = Single {
                    setup: self.setup,
                    scenario: &scenario,
                    planned: &planned,
                    out: out.as_deref(),
                    resume: self.resume,
                    threads: self.threads,
                    title: &format!("{}pilot {name}", self.prefix),
                };
                let done = single.run(crew, followers)?;
                let summary = done.outline.summary;
                if summary.end.is_none() || interrupted() {
                    return Ok(None);
                }
                points.push(Pilot { rounds: summary.rounds as f64, reached: summary.reached(), scheme });
                runs.push(summary);
            }
        }
        let fit = constants::from_pilots(&self.setup.fleet, &points);
        Ok(Some(Piloted { runs, fit }))
    }
}

/// The scenario of a pilot: rounds to the loss F_s, with a seed of its own.
pub(crate) fn pilot_scenario(of: &Scenario, scheme: Scheme, number: u64) -> Scenario {
    let mut scenario = of.clone();
    scenario.seed = seed_after(of.seed, SEED_OFFSET + number);
    scenario.plan.scheme = scheme;
    scenario.stop = Stop {
        target_loss: Some(of.pilot.loss),
        rounds_max: of.pilot.rounds_max,
        virtual_hours_max: None,
        ..of.stop
    };
    // A pilot counts rounds, so it has to look at each.
    scenario.record.evaluate_every = 1;
    scenario
}
