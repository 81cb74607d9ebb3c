//! The seam between the round loop and the devices.

use std::sync::Arc;

use fedflip_fleet::bandwidth::{Allocation, DeviceJob, Share};
use fedflip_fleet::{Metrics, ModelVector};
use fedflip_learn::{LearnError, Metric};
use fedflip_record::{Estimated, Round};

use crate::error::EngineError;
use crate::lead::Lead;

/// Where devices live: a simulation on a virtual clock, or a server with devices at the other end.
///
/// For each round the engine calls [`World::open`], [`World::dispatch`], [`World::next_event`] until every device of the
/// cohort is accounted for, and [`World::close`]. An empty round is opened, dispatched and closed too.
pub trait World {
    /// What the world knows of a closed round beside its record. The engine hands the receipt to the [`Sink`](crate::Sink).
    type Receipt;

    /// The time in seconds since the run began.
    fn now_secs(&self) -> f64;

    /// The metrics of [`World::evaluate`].
    fn metrics(&self) -> &[Metric];

    /// Waits until a round can open, or the first model can be evaluated. This time is not part of a round.
    fn await_devices(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    /// Opens a round that starts from `model`: writes the cohort in device order, each device with its work as far as it
    /// is known and with its aggregation weight. A world that asks devices before it draws says what their answers take.
    fn open(&mut self, round: u64, model: &Arc<ModelVector>, cohort: &mut Cohort) -> Result<(), EngineError>;

    /// The world's own deadline for a round of these devices, which holds if the settings of the run have none.
    fn deadline_secs(&self, _device_jobs: &[DeviceJob]) -> Option<f64> {
        None
    }

    /// Hands out the work of the round.
    fn dispatch(&mut self, order: Order<'_>) -> Result<(), EngineError>;

    /// Waits for the next event of the round. Events may come in any order.
    fn next_event(&mut self) -> Result<Event, EngineError>;

    /// Takes back the memory of an update that has been used.
    fn recycle(&mut self, _delta: Vec<f32>) {}

    /// Evaluates a model on the test samples.
    fn evaluate(&mut self, model: &Arc<ModelVector>) -> Result<Metrics, LearnError>;

    /// Fails if the last evaluation was given up halfway. The engine asks where a resumed run would evaluate again: before
    /// the first round and after the last.
    fn check_evaluation(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    /// Whether evaluations are estimates.
    fn estimates(&self) -> bool {
        false
    }

    /// How sure the metrics of the last evaluation are; none if they are no estimates.
    fn estimated(&mut self) -> Option<Estimated> {
        None
    }

    /// Whether [`World::observe`] uses the loss of each device. Records hold these losses only then.
    fn observes(&self) -> bool {
        false
    }

    /// Takes the record of a round that is over, on which later cohorts may depend. Whoever resumes a run hands over the
    /// rounds before.
    fn observe(&mut self, _record: &Round) {}

    /// The models that devices still train from although the server has stepped since, oldest first. Worlds with rounds have
    /// none between two rounds.
    fn stale_models(&self) -> Vec<Arc<ModelVector>> {
        Vec::new()
    }

    /// Closes a round that ended at `secs` and whose step is part of the model.
    fn close(&mut self, round: u64, secs: f64) -> Result<Self::Receipt, EngineError>;
}

/// The devices of a round: what each has to do, and its aggregation weight.
///
/// Where devices work without rounds, a round is a step of the server, and its cohort are the devices whose work ended
/// since the step before. They have divided the bandwidth among themselves, and each has its own lag.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cohort {
    device_jobs: Vec<DeviceJob>,
    weights: Vec<f64>,
    /// The devices that download the model, if they are not just the cohort.
    receivers: Vec<DeviceJob>,
    /// What the devices that are asked do for their answers.
    answers: Vec<DeviceJob>,
    worked: Vec<Share>,
    lags: Vec<u64>,
}

impl Cohort {
    /// Removes all devices and keeps their memory.
    pub fn clear(&mut self) {
        self.device_jobs.clear();
        self.weights.clear();
        self.receivers.clear();
        self.answers.clear();
        self.worked.clear();
        self.lags.clear();
    }

    /// Appends a device. Devices come in ascending order.
    pub fn push(&mut self, device_job: DeviceJob, weight: f64) {
        self.device_jobs.push(device_job);
        self.weights.push(weight);
    }

    /// Adds a device that downloads the model. If there are any, devices of the cohort are among them.
    pub fn push_receiver(&mut self, device_job: DeviceJob) {
        self.receivers.push(device_job);
    }

    /// Adds a device that is asked before the cohort is drawn: what it computes and sends for its answer.
    pub fn push_answer(&mut self, device_job: DeviceJob) {
        self.answers.push(device_job);
    }

    /// The devices that download the model.
    pub fn receivers(&self) -> &[DeviceJob] {
        if self.receivers.is_empty() { &self.device_jobs } else { &self.receivers }
    }

    /// What the devices that are asked do for their answers.
    pub fn answers(&self) -> &[DeviceJob] {
        &self.answers
    }

    /// Appends a device that has done its work without a round: with its times, counted from its own start, its mean rate,
    /// and the steps of the server since then. Devices come in ascending order.
    pub fn push_worked(&mut self, device_job: DeviceJob, weight: f64, worked: Share, lag: u64) {
        self.push(device_job, weight);
        self.worked.push(worked);
        self.lags.push(lag);
    }

    /// The shares of devices that have worked without a round; empty where the engine divides the bandwidth.
    pub fn worked(&self) -> &[Share] {
        &self.worked
    }

    /// The steps of the server since each device began; empty where there are rounds.
    pub fn lags(&self) -> &[u64] {
        &self.lags
    }

    /// The devices and their work.
    pub fn device_jobs(&self) -> &[DeviceJob] {
        &self.device_jobs
    }

    /// The devices and their work, to be changed.
    pub fn device_jobs_mut(&mut self) -> &mut [DeviceJob] {
        &mut self.device_jobs
    }

    /// The factor of each device's update in the sum, in the order of the devices.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }
}

/// The work of a round.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    /// The round, counted from 1.
    pub round: u64,
    /// The global model x_r, from which every device starts.
    pub model: &'a Arc<ModelVector>,
    /// The cohort and its shares of the bandwidth.
    pub allocation: &'a Allocation,
    /// After this time the round is over for devices that have not reported.
    pub deadline_secs: Option<f64>,
    /// The time before the cohort computes. The compute times in the allocation count from the start of the round, so they
    /// include it.
    pub lead: Lead,
    /// The time that the round takes in addition.
    pub overhead_secs: f64,
}

/// An event of a round.
#[derive(Debug)]
pub enum Event {
    /// A device has reported.
    Update(Update),
    /// A device will not report.
    Lost {
        /// The position in the fleet.
        device: usize,
        /// The reason as one word, such as `vanished`.
        reason: &'static str,
    },
    /// A device could not train.
    Failed {
        /// The position in the fleet.
        device: usize,
        /// The failure that the learner reported.
        error: LearnError,
    },
    /// The deadline has passed: devices that have not reported are lost.
    Deadline,
}

/// The report of a device.
#[derive(Clone, Debug)]
pub struct Update {
    /// The position in the fleet.
    pub device: usize,
    /// The update Δ_n: local model − x_r.
    pub delta: Vec<f32>,
    /// The mean loss of the local training.
    pub train_loss: f64,
    /// The seconds until the upload began, and the seconds of the upload.
    pub took_secs: [f64; 2],
}
