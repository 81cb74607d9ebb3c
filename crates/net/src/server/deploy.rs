//! A deployed run: its settings, the callbacks of its owner, and its start.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fedflip_engine::{Aggregation, Optimiser, Stop};
use fedflip_fleet::bandwidth::Division;
use fedflip_fleet::{Metrics, ModelVector, RoundCosts, Secs};
use fedflip_learn::{LearnError, Metric};
use fedflip_plan::{Constants, Quiet, Scheme};
use fedflip_record::{End, Header, Initial, Round};

use super::Server;
use super::deployed_run::DeployedRun;
use super::enrolment;
use super::planning::Planned;
use super::quorum::{self, Quorum};
use super::timeouts::Timeouts;
use crate::error::NetError;
use crate::state::{EnrolledDevice, Resumed, RunState};
use crate::status::Readiness;

/// The file with the fleet as measured so far.
pub const MEASURED: &str = "measured.csv";

/// The settings of a deployed run.
#[derive(Clone, Debug)]
pub struct Deployment {
    pub scheme: Scheme,
    /// α and β; a pilot runs without them.
    pub constants: Option<Constants>,
    /// The sampling variance Σ a²/q that `auto` allows.
    pub variance: f64,
    /// Quiet rounds, in which more devices take part, if there are any.
    pub quiet: Option<Quiet>,
    /// What rounds cost, as far as it is known before anything is measured: the bandwidth, how downloads are counted, and the first
    /// value of the overhead.
    pub costs: RoundCosts,
    /// The overhead that all plans count on; without it, the measured one.
    pub planned_overhead: Option<Secs>,
    pub division: Division,
    /// The time after which a round ends for devices that have not reported; without it, measured times decide.
    pub deadline_secs: Option<f64>,
    /// The share of a deadline that is kept free when the bandwidth is divided, because compute times vary.
    pub deadline_margin: f64,
    pub aggregation: Aggregation,
    pub optimiser: Optimiser,
    /// Rounds from one evaluation to the next, in runs without quiet rounds.
    pub evaluate_every: u64,
    /// Devices evaluate models on samples that they hold out, each with this probability; without it, the server does.
    pub device_evaluation: Option<f64>,
    pub stop: Stop,
    /// Seeds local training and the planner's draws.
    pub seed: u64,
    /// Devices that must have enrolled before the first round.
    pub devices_min: usize,
    /// Rounds from one review of the plan to the next; none never reviews it.
    pub replan_every: Option<u64>,
    pub timeouts: Timeouts,
    /// The folder in which an operator finds the status of devices and retires some; by default the run's own.
    pub operators_folder: Option<PathBuf>,
}

/// A function that evaluates a model.
pub type Evaluate<'a> = &'a mut dyn FnMut(&Arc<ModelVector>) -> Result<Metrics, LearnError>;

/// A run calls these functions of the program that started it.
pub struct Callbacks<'a> {
    pub evaluate: Evaluate<'a>,
    pub metrics: &'a [Metric],
    /// Evaluates the model at the end of the run on test samples that nobody has looked at before, where there are such.
    pub test: Option<Evaluate<'a>>,
    /// Returns true when the run should stop.
    pub stop: &'a dyn Fn() -> bool,
    pub observer: &'a mut dyn Observer,
    /// Called for a device that has enrolled, before this run's state keeps it, and again if that fails.
    pub enrolled: &'a mut dyn FnMut(&EnrolledDevice) -> Result<(), NetError>,
}

pub trait Observer {
    /// Rounds begin or continue under this plan.
    fn planned(&mut self, planned: &PlanStart<'_>) -> Result<(), NetError>;
    fn initial(&mut self, _initial: &Initial) -> Result<(), NetError> {
        Ok(())
    }
    fn round(&mut self, round: &Round) -> Result<(), NetError>;
}

pub struct PlanStart<'a> {
    pub header: &'a Header,
    pub planned: &'a Planned,
    /// The folder of the run.
    pub folder: &'a Path,
    pub after_round: u64,
}

/// How a deployed run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    Over(End),
    /// The run resumes when it is started again.
    Stopped,
}

impl Deployment {
    /// Runs rounds from the last committed one until the run ends or should stop. `header` makes the first line of the
    /// records once there is a plan.
    pub fn run(
        &self,
        server: &Server,
        (state, mut resumed): (&mut RunState, Resumed),
        initial_model: impl FnOnce() -> ModelVector,
        header: &dyn Fn(&Planned) -> Header,
        callbacks: &mut Callbacks<'_>,
    ) -> Result<Ended, NetError> {
        if let Some(end) = resumed.end {
            return Ok(Ended::Over(end));
        }
        // From here on this thread reads the clock of the server's runtime, which may be a simulated one.
        let _clock = server.runtime.enter();
        server.health.set(Readiness::WaitingForDevices);
        server.restore(&resumed.devices)?;
        server.norms.restore(resumed.norms.as_deref())?;
        // A run that has a plan has had its devices: it resumes with those that attend.
        let wanted = if resumed.plan.is_some() { 0 } else { self.devices_min };
        let devices = &mut resumed.devices;
        let are_enough = quorum::gather(server, "waiting for devices to enrol", || {
            enrolment::keep(server, state, &mut *callbacks.enrolled, devices)?;
            server.write_device_status(self.operators_folder.as_deref().unwrap_or(state.path()));
            Ok::<_, NetError>(match devices.len() {
                there if there >= wanted => Quorum::Reached,
                _ if (callbacks.stop)() => Quorum::Cancelled,
                there => Quorum::Missing { there, wanted },
            })
        })?;
        if !are_enough {
            return Ok(Ended::Stopped);
        }
        DeployedRun::start(self, server, (state, resumed), initial_model, header)?.run(callbacks)
    }
}
