//! A scenario's data, learner and fleet, made once for many runs; plans for them.

use std::path::Path;
use std::sync::Arc;

use fedflip_fleet::Fleet;
use fedflip_learn::Learner;
use fedflip_learn::sgd::SgdLearner;
use fedflip_learn::task::SharingReport;
pub(crate) use fedflip_plan::Planned;
use fedflip_plan::{Constants, Expected, Plan, Planning, Problem, Schedule, sampling_variance, schedule};
use fedflip_record::Header;
use fedflip_record::schema::VERSION;

use crate::error::CliError;
use crate::progress::Progress;
use crate::render::{significant, variance_above};
use crate::scenario::Scenario;

/// What all runs of a scenario share, whatever their seed; and but for the fleet, whatever their scheme.
pub(crate) struct Setup {
    pub learner: Arc<SgdLearner>,
    pub sharing: SharingReport,
    /// With the sample counts that the data have, and the times of what the scenario computes and sends.
    pub fleet: Fleet,
}

/// Warnings about a plan: a sampling variance above what was asked for, quiet rounds that are like the others, and
/// devices that can never make the deadline.
pub(crate) fn plan_warnings(planned: &Planned, scenario: &Scenario, fleet: &Fleet) -> Vec<String> {
    let variance_of = |plan: &Plan| sampling_variance(fleet.weights(), plan.q());
    let scheme = scenario.plan.scheme;
    let usual = variance_of(planned.schedule.usual());
    let mut warnings: Vec<String> = never_in_time(scenario, fleet).into_iter().collect();
    if scheme.needs_variance() {
        warnings.extend(variance_above("plan.noise", usual, scenario.plan.noise));
    }
    if let (Some(asked), Some(quiet)) = (scenario.plan.quiet_noise, planned.schedule.quiet()) {
        warnings.extend(variance_above("plan.quiet_noise", variance_of(quiet), asked));
        if usual <= asked {
            let [usual, asked] = [usual, asked].map(|variance| significant(variance, 4));
            warnings.push(format!(
                "under {scheme} quiet rounds are like all others, whose sampling variance is {usual} where \
                 plan.quiet_noise is {asked}"
            ));
        }
    }
    warnings
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

    /// The schedule under the scenario's scheme, and what is expected of it.
    pub(crate) fn plan(&self, scenario: &Scenario, constants: Constants) -> Result<Planned, CliError> {
        let scheme = scenario.plan.scheme;
        // A pilot is there to find the constants, so it predicts nothing by them.
        let is_pilot = scenario.stop.target_loss.is_some() && scheme.is_baseline();
        let planning = Planning {
            constants: (!is_pilot).then_some(constants),
            variance: scenario.plan.noise,
            quiet: scenario.plan.quiet(),
            evaluate_every: scenario.record.evaluate_every,
            ..Planning::new(scheme)
        };
        Ok(schedule(&Problem::new(&self.fleet, scenario.band), &planning)?)
    }

    /// The first line of a run's records.
    pub(crate) fn header(&self, scenario: &Scenario, planned: &Planned) -> Header {
        header(scenario, self.learner.params_len(), &planned.schedule, planned.expected)
    }
}

fn fleet(scenario: &Scenario, learner: &SgdLearner) -> Result<Fleet, CliError> {
    let samples: Vec<usize> = (0..learner.devices()).map(|device| learner.samples(device)).collect();
    scenario.fleet(&samples)
}

/// The first line of the records of a run.
pub(crate) fn header(
    scenario: &Scenario,
    parameters: usize,
    schedule: &Schedule,
    expected: Expected,
) -> Header {
    let plan = schedule.usual();
    Header {
        version: VERSION,
        fedflip: env!("CARGO_PKG_VERSION").to_owned(),
        task: scenario.task.name().to_owned(),
        scheme: scenario.plan.scheme.to_string(),
        seed: scenario.seed,
        devices: plan.q().len(),
        parameters,
        bandwidth_mbps: scenario.band.get(),
        target_accuracy: scenario.stop.target_loss.is_none().then_some(scenario.stop.target_accuracy),
        target_loss: scenario.stop.target_loss,
        expected_participants: expected.participants,
        expected_rounds: expected.rounds,
        expected_round_secs: expected.round_secs,
        deployed: None,
    }
}
