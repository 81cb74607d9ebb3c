//! A scenario's data, learner and fleet, made once for many runs; plans for them.

use std::sync::Arc;

use fedflip_fleet::Fleet;
use fedflip_learn::Learner;
use fedflip_learn::sgd::SgdLearner;
use fedflip_learn::task::SharingReport;
use fedflip_plan::solve::{self, auto, baseline};
use fedflip_plan::{Constants, Expected, PLANNING_SEED, Plan, Problem, Schedule, Settings};
use fedflip_record::Header;
use fedflip_record::schema::VERSION;
use fedflip_scenario::{Mode, Scenario};

use crate::error::RunError;
use crate::session::Session;
use crate::warnings;

/// Draws of an estimate of E[T̂].
const DRAWS: u64 = 2_000;

/// What all runs of a scenario share, whatever their seed and scheme.
pub struct Setup {
    /// Trains on the data of every device.
    pub learner: Arc<SgdLearner>,
    /// How many samples devices hold.
    pub sharing: SharingReport,
    /// With the sample counts of the data, and the times of what the scenario computes and sends.
    pub fleet: Fleet,
}

/// A plan, and what it expects of the run.
pub struct Planned {
    /// The plan of every round.
    pub schedule: Schedule,
    /// Rounds and their length are not known without α and β: of a pilot, or of a baseline that these rule out.
    pub expected: Expected,
}

impl Setup {
    /// Reads the data and makes the fleet that holds them.
    pub fn new(scenario: &Scenario, session: &mut Session<'_>) -> Result<Self, RunError> {
        let what = format!("reading the data of {}", scenario.task.name());
        let Session { observers, data_dir, .. } = session;
        let (learner, sharing) =
            observers.while_working(&what, || scenario.task_settings().learner(data_dir))?;
        let fleet = fleet(scenario, &learner)?;
        warnings::counts_replaced(scenario, &fleet).iter().for_each(|text| observers.warn(text));
        Ok(Self { learner: Arc::new(learner), sharing, fleet })
    }

    /// q under the scenario's scheme. A baseline needs no constants: where they rule it out it is run all the same.
    pub fn plan(&self, scenario: &Scenario, constants: Option<Constants>) -> Result<Planned, RunError> {
        let scheme = scenario.plan.scheme;
        let constants = match (constants, baseline::unjudged(&self.fleet, scheme)) {
            (None, Some(plan)) => return self.scheduled(scenario, plan, None),
            (constants, _) => constants.unwrap_or(scenario.plan.constants),
        };
        let noise = scenario.plan.variance;
        let own = auto::constants(scheme, &self.fleet, noise, Some(constants)).unwrap_or(constants);
        let problem = match Problem::new(&self.fleet, scenario.band, own) {
            Ok(problem) => problem,
            Err(error) => {
                let plan = baseline::unjudged(&self.fleet, scheme).ok_or(error)?;
                return self.scheduled(scenario, plan, None);
            }
        };
        let settings = Settings { seed: PLANNING_SEED, noise, ..Settings::default() };
        let plan = solve::solve(&problem, scheme, &settings)?;
        // Whatever it was planned with, what it takes is judged by what is known.
        let judge = Problem::new(&self.fleet, scenario.band, constants).ok();
        self.scheduled(scenario, plan, judge.as_ref())
    }

    /// With the plan of quiet rounds, and what comes of both.
    fn scheduled(
        &self,
        scenario: &Scenario,
        plan: Plan,
        judge: Option<&Problem<'_>>,
    ) -> Result<Planned, RunError> {
        let schedule = Schedule::new(plan, scenario.record.evaluate_every);
        let schedule = schedule.quietened(&self.fleet, scenario.band, scenario.plan.quiet())?;
        let expected = schedule.expected(judge, PLANNING_SEED, DRAWS);
        Ok(Planned { schedule, expected })
    }

    /// The first line of a run's records.
    pub fn header(&self, scenario: &Scenario, planned: &Planned) -> Header {
        header(scenario, self.learner.params_len(), &planned.schedule, planned.expected)
    }
}

fn fleet(scenario: &Scenario, learner: &SgdLearner) -> Result<Fleet, RunError> {
    let samples: Vec<usize> = (0..learner.devices()).map(|device| learner.samples(device)).collect();
    Ok(scenario.fleet(&samples)?)
}

/// The first line of the records of a run.
pub fn header(scenario: &Scenario, parameters: usize, schedule: &Schedule, expected: Expected) -> Header {
    let (plan, target) = (schedule.usual(), &scenario.stop.target);
    Header {
        version: VERSION,
        fedflip: env!("CARGO_PKG_VERSION").to_owned(),
        task: scenario.task.name().to_owned(),
        scheme: plan.scheme().to_string(),
        seed: scenario.seed,
        devices: plan.q().len(),
        parameters,
        bandwidth_mbps: scenario.band.get(),
        target_accuracy: (target.mode == Mode::Max).then_some(target.at),
        target_loss: (target.mode == Mode::Min).then_some(target.at),
        expected_participants: expected.participants,
        expected_rounds: expected.rounds,
        expected_round_secs: expected.round_secs,
        deployed: None,
    }
}
