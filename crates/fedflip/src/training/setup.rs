//! A scenario's data, learner and fleet, made once for many runs; plans for them.

use std::path::Path;
use std::sync::Arc;

use fedflip_fleet::Fleet;
use fedflip_learn::Learner;
use fedflip_learn::sgd::SgdLearner;
use fedflip_learn::task::SharingReport;
use fedflip_plan::solve::{self, auto, baseline};
use fedflip_plan::{Constants, Evaluation, PLANNING_SEED, Plan, Problem, Scheme, Settings};
use fedflip_record::Header;
use fedflip_record::schema::VERSION;

use crate::error::CliError;
use crate::progress::Progress;
use crate::scenario::Scenario;

/// What all runs of a scenario share, whatever their seed; and but for the fleet, whatever their scheme.
pub(crate) struct Setup {
    pub learner: Arc<SgdLearner>,
    pub sharing: SharingReport,
    /// With the sample counts that the data have, and the times of what the scenario computes and sends.
    pub fleet: Fleet,
}

/// A plan, and what it expects of the run.
pub(crate) struct Planned {
    pub plan: Plan,
    /// None where nobody knows α and β: a pilot, or a baseline that these rule out.
    pub expected: Option<Evaluation>,
}

impl Setup {
    pub(crate) fn new(scenario: &Scenario, data_dir: &Path) -> Result<Self, CliError> {
        let _progress = Progress::start(&format!("reading the data of {}", scenario.task.name()));
        let (learner, sharing) = scenario.task_settings().learner(data_dir)?;
        let fleet = fleet(scenario, &learner)?;
        Ok(Self { learner: Arc::new(learner), sharing, fleet })
    }

    /// The same data under a scheme that may send other bytes.
    pub(crate) fn under(&self, scenario: &Scenario) -> Result<Self, CliError> {
        let fleet = fleet(scenario, &self.learner)?;
        Ok(Self { learner: Arc::clone(&self.learner), sharing: self.sharing, fleet })
    }

    /// q under the scenario's scheme. A baseline needs no constants: where they rule it out it is run all the same.
    pub(crate) fn plan(&self, scenario: &Scenario, constants: Constants) -> Result<Planned, CliError> {
        let scheme = scenario.plan.scheme;
        // A pilot is there to find the constants: it does not expect anything of them.
        if scenario.stop.target_loss.is_some()
            && let Some(unjudged) = self.unjudged(scheme)
        {
            return Ok(unjudged);
        }
        let noise = scenario.plan.noise;
        let own = auto::constants(scheme, &self.fleet, noise, Some(constants)).unwrap_or(constants);
        let problem = match Problem::new(&self.fleet, scenario.band, own) {
            Ok(problem) => problem,
            Err(error) => return self.unjudged(scheme).ok_or(error.into()),
        };
        let settings = Settings { seed: PLANNING_SEED, noise, ..Settings::default() };
        let plan = solve::solve(&problem, scheme, &settings)?;
        // Whatever it was planned with, what it takes is judged by what is known.
        let judge = Problem::new(&self.fleet, scenario.band, constants).ok();
        let expected = judge.map(|problem| Evaluation::new(&problem, &plan, PLANNING_SEED, Some(2_000)));
        Ok(Planned { plan, expected })
    }

    /// q of a baseline before α and β are known.
    pub(crate) fn unjudged(&self, scheme: Scheme) -> Option<Planned> {
        Some(Planned { plan: baseline::unjudged(&self.fleet, scheme)?, expected: None })
    }

    /// The first line of a run's records.
    pub(crate) fn header(&self, scenario: &Scenario, planned: &Planned) -> Header {
        let expected = planned.expected.as_ref();
        let rounds = expected.and_then(|expected| expected.rounds);
        let round_secs = expected.map(|expected| expected.round_secs.mean.mean);
        header(scenario, self.learner.params_len(), &planned.plan, (rounds, round_secs))
    }
}

fn fleet(scenario: &Scenario, learner: &SgdLearner) -> Result<Fleet, CliError> {
    let samples: Vec<usize> = (0..learner.devices()).map(|device| learner.samples(device)).collect();
    scenario.fleet(&samples)
}

/// The first line of the records of a run: `expected` are rounds, and seconds a round.
pub(crate) fn header(
    scenario: &Scenario,
    parameters: usize,
    plan: &Plan,
    (expected_rounds, expected_round_secs): (Option<f64>, Option<f64>),
) -> Header {
    Header {
        version: VERSION,
        fedflip: env!("CARGO_PKG_VERSION").to_owned(),
        task: scenario.task.name().to_owned(),
        scheme: plan.scheme().to_string(),
        seed: scenario.seed,
        devices: plan.q().len(),
        parameters,
        bandwidth_mbps: scenario.band.get(),
        target_accuracy: scenario.stop.target_loss.is_none().then_some(scenario.stop.target_accuracy),
        target_loss: scenario.stop.target_loss,
        expected_participants: plan.q().iter().sum(),
        expected_rounds,
        expected_round_secs,
        deployed: None,
    }
}
