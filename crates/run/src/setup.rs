//! A scenario's data, learner and fleet, made once for many runs; plans for them.

use std::sync::Arc;

use fedflip_fleet::Fleet;
use fedflip_learn::Learner;
use fedflip_learn::sgd::SgdLearner;
use fedflip_learn::task::SharingReport;
use fedflip_plan::problem::sampling_noise;
use fedflip_plan::solve::{self, auto, baseline};
use fedflip_plan::{Constants, Expected, PLANNING_SEED, Plan, Problem, Schedule, Scheme, Settings};
use fedflip_record::Header;
use fedflip_record::schema::VERSION;
use fedflip_report::numbers::significant;

use crate::error::RunError;
use crate::session::Session;
use fedflip_scenario::Scenario;

/// Draws of an estimate of E[T̂].
const DRAWS: u64 = 2_000;

/// What all runs of a scenario share, whatever their seed; and but for the fleet, whatever their scheme.
pub struct Setup {
    pub learner: Arc<SgdLearner>,
    pub sharing: SharingReport,
    /// With the sample counts that the data have, and the times of what the scenario computes and sends.
    pub fleet: Fleet,
}

/// A plan, and what it expects of the run.
pub struct Planned {
    pub schedule: Schedule,
    /// Rounds and their length are not known without α and β: of a pilot, or of a baseline that these rule out.
    pub expected: Expected,
}

impl Planned {
    /// Says where rounds are not as quiet as they were to be, or quiet ones not more so than others, and who can never
    /// make the deadline.
    pub fn warnings(&self, scenario: &Scenario, fleet: &Fleet) -> Vec<String> {
        let noise_of = |plan: &Plan| sampling_noise(fleet.weights(), plan.q());
        let scheme = scenario.plan.scheme;
        let usual = noise_of(self.schedule.usual());
        let mut warnings: Vec<String> = never_in_time(scenario, fleet).into_iter().collect();
        if scheme == Scheme::Auto {
            warnings.extend(noise_above("plan.noise", usual, scenario.plan.noise));
        }
        if let (Some(asked), Some(quiet)) = (scenario.plan.quiet_noise, self.schedule.quiet()) {
            warnings.extend(noise_above("plan.quiet_noise", noise_of(quiet), asked));
            if usual <= asked {
                let [usual, asked] = [usual, asked].map(|noise| significant(noise, 4));
                warnings.push(format!(
                    "under {scheme} quiet rounds are like all others, whose noise is {usual} where plan.quiet_noise is \
                     {asked}"
                ));
            }
        }
        warnings
    }
}

/// Devices that miss the deadline even with the whole bandwidth: their updates are lost in every round.
fn never_in_time(scenario: &Scenario, fleet: &Fleet) -> Option<String> {
    let deadline_secs = scenario.round.deadline?.get();
    let needs_secs = |n: usize| fleet.compute_secs()[n] + fleet.comm_secs()[n] / scenario.band.get();
    let late: Vec<usize> = (0..fleet.len()).filter(|&n| needs_secs(n) > deadline_secs).collect();
    let first = *late.first()?;
    let share: f64 = late.iter().map(|&n| fleet.weights()[n]).sum();
    let (name, secs) = (fleet.name(first), significant(needs_secs(first), 3));
    let who = if late.len() == 1 {
        format!("{name}, which needs {secs} s alone on the bandwidth,")
    } else {
        format!(
            "{} of {} devices, such as {name}, which needs {secs} s alone on the bandwidth,",
            late.len(),
            fleet.len()
        )
    };
    let percent = significant(100.0 * share, 2);
    Some(format!(
        "{who} cannot make round.deadline_secs = {deadline_secs}: {percent} % of the data are lost to every round, \
         and the model is biased by it"
    ))
}

impl Setup {
    /// Reads the data and makes the fleet that holds them.
    pub fn new(scenario: &Scenario, session: &mut Session<'_>) -> Result<Self, RunError> {
        let what = format!("reading the data of {}", scenario.task.name());
        let Session { observers, data_dir, .. } = session;
        let (learner, sharing) =
            observers.while_working(&what, || scenario.task_settings().learner(data_dir))?;
        let fleet = fleet(scenario, &learner)?;
        Ok(Self { learner: Arc::new(learner), sharing, fleet })
    }

    /// The same data under a scheme that may send other bytes.
    pub fn under(&self, scenario: &Scenario) -> Result<Self, RunError> {
        let fleet = fleet(scenario, &self.learner)?;
        Ok(Self { learner: Arc::clone(&self.learner), sharing: self.sharing, fleet })
    }

    /// q under the scenario's scheme. A baseline needs no constants: where they rule it out it is run all the same.
    pub fn plan(&self, scenario: &Scenario, constants: Constants) -> Result<Planned, RunError> {
        let scheme = scenario.plan.scheme;
        // A pilot is there to find the constants: it does not expect anything of them.
        if scenario.stop.target_loss.is_some()
            && let Some(plan) = baseline::unjudged(&self.fleet, scheme)
        {
            return self.scheduled(scenario, plan, None);
        }
        let noise = scenario.plan.noise;
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
        header(scenario, &*self.learner, &planned.schedule, planned.expected)
    }
}

fn fleet(scenario: &Scenario, learner: &SgdLearner) -> Result<Fleet, RunError> {
    let samples: Vec<usize> = (0..learner.devices()).map(|device| learner.samples(device)).collect();
    Ok(scenario.fleet(&samples)?)
}

/// The first line of the records of a run.
pub fn header(
    scenario: &Scenario,
    learner: &impl Learner,
    schedule: &Schedule,
    expected: Expected,
) -> Header {
    let plan = schedule.usual();
    Header {
        version: VERSION,
        fedflip: env!("CARGO_PKG_VERSION").to_owned(),
        task: scenario.task.name().to_owned(),
        scheme: plan.scheme().to_string(),
        seed: scenario.seed,
        devices: plan.q().len(),
        parameters: learner.params_len(),
        bandwidth_mbps: scenario.band.get(),
        metrics: learner.metrics().iter().map(|metric| metric.name.to_string()).collect(),
        stop: scenario.engine_stop().target,
        pilot: scenario.stop.target_loss.is_some(),
        expected_participants: expected.participants,
        expected_rounds: expected.rounds,
        expected_round_secs: expected.round_secs,
        deployed: None,
    }
}

/// With devices at their caps a plan weighs cost against variance instead of meeting the variance that `key` allows.
pub fn noise_above(key: &str, noise: f64, allowed: f64) -> Option<String> {
    (noise > allowed * (1.0 + 1e-6)).then(|| {
        let [noise, allowed] = [noise, allowed].map(|noise| significant(noise, 4));
        format!(
            "{key}: the sampling noise is {noise} where {allowed} is allowed: some devices are at their caps, and for \
             the others more would cost more than it is worth"
        )
    })
}
