//! The deployed world behind the engine's round loop.
//!
//! The engine is synchronous and waits here; the runtime serves devices and leaves their updates at the hub. Time is
//! wall-clock time since the run began, over all restarts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fedflip_engine::{Cohort, EngineError, Event, Order, World};
use fedflip_fleet::bandwidth::{DeviceJob, Job, finish_together};
use fedflip_fleet::{Downlink, Link, Metrics as Scores, ModelVector, RoundCosts};
use fedflip_learn::{LearnError, Metric};
use fedflip_record::Estimated;
use tokio::time::Instant;
use tracing::info;

use super::Server;
use super::clock::Clock;
use super::cycle::Cycle;
use super::deploy::{Deployment, Evaluate};
use super::planning::Planned;
use super::quorum::POLL_EVERY;
use super::round::Current;
use crate::measure::Measures;
use crate::wire::numbers::VectorDigest;

/// The data of a closed round that are committed beside its record.
#[derive(Debug)]
pub(crate) struct Receipt {
    /// The digest and the training loss of every update that the engine took.
    pub accepted: BTreeMap<usize, (VectorDigest, f64)>,
    /// The measurements of all devices after the round, as JSON.
    pub measures: String,
    /// Whether devices were benched or have returned: then the plan is for other devices.
    pub bench_changed: bool,
    /// The longest download of the round, as measured; 0 where downloads have no model.
    pub download_secs: f64,
}

/// Why a round was given up. Its updates do not count, and it is opened again later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GivenUp {
    #[error("the server is to stop")]
    Stopping,
    /// Too few devices attend, so benched devices are asked again: another plan is due.
    #[error("benched devices are asked again")]
    Recalled,
    /// Devices have left for good while the server waited: another plan is due.
    #[error("devices have left")]
    Departed,
}

impl From<GivenUp> for EngineError {
    fn from(given_up: GivenUp) -> Self {
        Self::World(Box::new(given_up))
    }
}

/// Devices at the other end of a network.
pub(crate) struct NetWorld<'a> {
    pub server: &'a Server,
    pub deployment: &'a Deployment,
    pub toss_run: [u8; 16],
    pub planned: &'a Planned,
    pub measures: &'a mut Measures,
    /// The costs of rounds, by what was measured before the round.
    pub costs: RoundCosts,
    /// The round in progress, or the one before until the next could open.
    pub cycle: Option<Cycle>,
    /// The digest and the training loss of every update of the round that the engine took.
    pub accepted: BTreeMap<usize, (VectorDigest, f64)>,
    pub evaluate: Evaluate<'a>,
    pub scored_by: &'a [Metric],
    /// Returns true when the run should stop.
    pub stop: &'a dyn Fn() -> bool,
    /// The folder of the run.
    pub folder: PathBuf,
    pub clock: &'a mut Clock,
    /// Until then a restarted server recalls no benched devices.
    pub muster_until: Instant,
    pub deadline: Option<Instant>,
    /// The round's deadline was found to have passed long ago, and was moved once.
    pub was_late: bool,
    pub stopping_since: Option<Instant>,
    /// How sure the newest evaluation is, where devices made it.
    pub estimated: Option<Estimated>,
    /// Whether the newest evaluation ended early, because the run is to stop.
    pub is_given_up: bool,
}

impl NetWorld<'_> {
    /// Waits for the bell, a moment, or `until`.
    pub(super) fn wait(&self, until: Instant) {
        self.server.write_device_status(&self.folder);
        self.server.wait(until.min(Instant::now() + POLL_EVERY));
    }

    /// Fails if the run should stop, and has been asked to for longer than `grace`.
    pub(super) fn check_stop(&mut self, grace: Duration) -> Result<(), EngineError> {
        if !(self.stop)() {
            return Ok(());
        }
        let since = *self.stopping_since.get_or_insert_with(Instant::now);
        if since.elapsed() < grace {
            return Ok(());
        }
        Err(GivenUp::Stopping.into())
    }
}

/// A job whose link limits nothing: limits were found by uploads and say nothing about downloads.
fn unlimited(job: Job) -> Job {
    Job { link: Link::default(), ..job }
}

impl World for NetWorld<'_> {
    type Receipt = Receipt;

    fn now_secs(&self) -> f64 {
        self.clock.secs()
    }

    fn metrics(&self) -> &[Metric] {
        self.scored_by
    }

    fn await_devices(&mut self) -> Result<(), EngineError> {
        self.settle();
        self.gather()?;
        self.clock.start();
        Ok(())
    }

    fn open(&mut self, round: u64, model: &Arc<ModelVector>, cohort: &mut Cohort) -> Result<(), EngineError> {
        let opened = Instant::now();
        self.costs = self.deployment.planned_costs(self.measures);
        let (window, window_end) = self.open_window(round, model);
        while Instant::now() < window_end
            && !self.server.hub.state().current.as_ref().is_none_or(Current::all_answered)
        {
            self.check_stop(self.deployment.timeouts.finish)?;
            self.wait(window_end);
        }
        let open = window.saturating_sub(window_end.saturating_duration_since(Instant::now()));
        let mut state = self.server.hub.state();
        self.note_answers(&mut state, open);
        self.accepted.clear();
        let Some(current) = &mut state.current else {
            return Err(EngineError::World("the round is gone".into()));
        };
        current.close();
        let believed = self.measures.believed();
        let weights = self.planned.schedule.plan(round).aggregation_weights();
        cohort.clear();
        for (&device, joined) in current.joined() {
            self.server.hub.metrics.joins.add(1);
            self.server.hub.metrics.join_secs.observe(joined.answer_secs);
            cohort.push(DeviceJob { device, job: self.measures.job(device, believed) }, weights[device]);
        }
        let jobs = cohort.device_jobs().iter().map(|device| unlimited(device.job));
        let [first, modelled] =
            [self.deployment.costs, self.costs].map(|costs| costs.downlink.secs(jobs.clone()));
        // Downloads began with the coins: what is left of them comes before computing.
        let left_secs = (modelled - current.elapsed_secs()).max(0.0);
        for DeviceJob { device, job } in cohort.device_jobs_mut() {
            let has_model = current.transfer(*device).is_some_and(|transfer| transfer.is_over());
            job.compute_secs += if has_model { 0.0 } else { left_secs };
        }
        let is_evaluated = self.planned.schedule.evaluates(round);
        self.cycle = Some(Cycle::begin([first, modelled], opened, is_evaluated));
        Ok(())
    }

    /// Follows from measured times: the claim or the delay of one device does not make all others wait.
    fn deadline_secs(&self, device_jobs: &[DeviceJob]) -> Option<f64> {
        let believed = self.measures.believed();
        let jobs =
            device_jobs.iter().map(|device_job| self.measures.deadline_job(device_job.device, believed));
        let RoundCosts { band, downlink, .. } = self.costs;
        let expected_secs =
            downlink.secs(jobs.clone().map(unlimited)) + finish_together(jobs, band).round_secs();
        Some(self.deployment.timeouts.deadline_secs(expected_secs))
    }

    fn dispatch(&mut self, order: Order<'_>) -> Result<(), EngineError> {
        let expected_secs = order.allocation.round_secs;
        let deadline_secs =
            order.deadline_secs.unwrap_or_else(|| self.deployment.timeouts.deadline_secs(0.0));
        let now = Instant::now();
        let deadline =
            now + Duration::try_from_secs_f64(deadline_secs).unwrap_or(Duration::from_secs(86_400));
        (self.deadline, self.was_late) = (Some(deadline), false);
        self.cycle.iter_mut().for_each(|cycle| cycle.granted(now));
        info!(
            round = order.round,
            cohort = order.allocation.shares.len(),
            expected_secs,
            "the bandwidth is divided"
        );
        let believed = self.measures.believed();
        let mut state = self.server.hub.state();
        for share in &order.allocation.shares {
            let job = self.measures.job(share.device, believed);
            let alone_secs = share.compute_secs + self.costs.upload_alone_secs(job);
            let is_crowded_out =
                share.finish_secs(share.compute_secs) > deadline_secs && alone_secs <= deadline_secs;
            let grant = |current: &mut Current| current.grant(share, is_crowded_out, now, deadline);
            let notice = state.current.as_mut().and_then(grant);
            if let Some(notice) = notice {
                // One call for the model if it was not fetched yet, and one for the update.
                state.members[share.device].calls.grant(2.0);
                // A device that is away gets the message when it is back.
                state.tell(share.device, notice);
            }
        }
        Ok(())
    }

    fn next_event(&mut self) -> Result<Event, EngineError> {
        loop {
            if let Some(event) = self.poll_event() {
                self.cycle.iter_mut().for_each(|cycle| cycle.heard(Instant::now()));
                return Ok(event);
            }
            self.check_stop(self.deployment.timeouts.finish)?;
            self.wait(self.deadline.unwrap_or_else(Instant::now));
        }
    }

    fn evaluate(&mut self, model: &Arc<ModelVector>) -> Result<Scores, LearnError> {
        (self.estimated, self.is_given_up) = (None, false);
        let began = Instant::now();
        let scores = match self.deployment.device_evaluation {
            Some(probability) => self.evaluate_on_devices(model, probability),
            None => (self.evaluate)(model),
        };
        if let Some(cycle) = &mut self.cycle {
            cycle.evaluated(began.elapsed().as_secs_f64());
        }
        scores
    }

    fn check_evaluation(&mut self) -> Result<(), EngineError> {
        if self.is_given_up { Err(GivenUp::Stopping.into()) } else { Ok(()) }
    }

    fn estimates(&self) -> bool {
        self.deployment.device_evaluation.is_some()
    }

    fn estimated(&mut self) -> Option<Estimated> {
        self.estimated.take()
    }

    fn close(&mut self, round: u64, secs: f64) -> Result<Receipt, EngineError> {
        let bench_changed = self.review(round, secs);
        self.measures.age_limits();
        self.server.note_conditions(self.measures);
        let overhead_secs = self.deployment.measured_overhead_secs(self.measures);
        self.server.hub.metrics.overhead_secs.set(overhead_secs.unwrap_or(0.0));
        let measures = serde_json::to_string(&*self.measures);
        let measures = measures.map_err(|error| EngineError::World(Box::new(error)))?;
        let is_modelled = self.costs.downlink != Downlink::None;
        let measured = self.cycle.as_ref().filter(|_| is_modelled);
        let download_secs = measured.map_or(0.0, Cycle::downloaded_secs);
        Ok(Receipt { accepted: std::mem::take(&mut self.accepted), measures, bench_changed, download_secs })
    }
}
