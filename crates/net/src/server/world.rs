//! The deployed world: the second one behind the engine's round loop.
//!
//! The engine is synchronous and waits here; devices are served by the runtime and leave what they bring at the
//! hub. Time is that of the clock on the wall since the run began, over all restarts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fedflip_engine::{Cohort, EngineError, Event, Order, World};
use fedflip_fleet::bandwidth::{self, DeviceJob};
use fedflip_fleet::{Mbps, Metrics as Scores, ModelVector};
use fedflip_learn::{LearnError, Metric};
use tokio::runtime::Runtime;
use tokio::time::Instant;
use tracing::info;

use super::clock::Clock;
use super::exchange::OfferedModel;
use super::hub::Hub;
use super::planning::Planned;
use super::quorum::POLL_EVERY;
use super::round::Current;
use super::timeouts::Timeouts;
use crate::coin::Toss;
use crate::measure::Measures;
use crate::status::{Health, Metrics};
use crate::wire::numbers::VectorDigest;

/// What the server knows of a closed round beside its record: it is committed with the round.
#[derive(Debug)]
pub(crate) struct Receipt {
    /// The digest and the training loss of every update that the engine took.
    pub accepted: BTreeMap<usize, (VectorDigest, f64)>,
    /// The measurements of all devices after the round, as JSON.
    pub measures: String,
    /// Whether devices were benched or return: the plan is for other devices than before.
    pub bench_changed: bool,
}

/// Why a round was given up. Nothing of it counts, and it is opened again later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GivenUp {
    #[error("the server is to stop")]
    Stopping,
    /// Too few devices are there, so benched devices are asked again: another plan is due.
    #[error("benched devices are asked again")]
    Recalled,
}

impl From<GivenUp> for EngineError {
    fn from(given_up: GivenUp) -> Self {
        Self::World(Box::new(given_up))
    }
}

pub(crate) type Evaluate<'a> = &'a mut dyn FnMut(&Arc<ModelVector>) -> Result<Scores, LearnError>;

/// Devices at the other end of a network.
pub(crate) struct NetWorld<'a> {
    pub hub: &'a Hub,
    /// Not its handle, which does not drive the tasks and timers of a single-threaded runtime.
    pub runtime: &'a Runtime,
    pub metrics: &'a Metrics,
    pub health: &'a Health,
    pub timeouts: Timeouts,
    pub band: Mbps,
    pub payload_mbit: f64,
    /// The deadline of the scenario, and the share of it that is kept free.
    pub explicit_deadline_secs: Option<f64>,
    pub deadline_margin: f64,
    pub toss_run: [u8; 16],
    pub seed: u64,
    pub planned: &'a Planned,
    pub measures: &'a mut Measures,
    /// The digest and the training loss of every update of the round that the engine took.
    pub accepted: BTreeMap<usize, (VectorDigest, f64)>,
    pub evaluate: Evaluate<'a>,
    pub scored_by: &'a [Metric],
    /// Whether somebody wants the run to stop.
    pub stop: &'a dyn Fn() -> bool,
    pub clock: Clock,
    /// Until then a server that was started again waits for all devices.
    pub muster_until: Instant,
    pub deadline: Option<Instant>,
    /// The round's deadline was found to have passed long ago, and was moved once.
    pub was_late: bool,
    pub stopping_since: Option<Instant>,
}

impl NetWorld<'_> {
    /// Waits for the bell, a moment, or `until`.
    fn wait(&self, until: Instant) {
        self.runtime.block_on(self.hub.changed_or(until.min(Instant::now() + POLL_EVERY)));
    }

    /// Whether to give up what is waited for.
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

impl World for NetWorld<'_> {
    type Receipt = Receipt;

    fn now_secs(&self) -> f64 {
        self.clock.secs()
    }

    fn metrics(&self) -> &[Metric] {
        self.scored_by
    }

    fn open(&mut self, round: u64, model: &Arc<ModelVector>, cohort: &mut Cohort) -> Result<(), EngineError> {
        self.gather()?;
        let mut coin_q = self.planned.coin_q(round);
        // Also where the planner had no plan without a benched device.
        for (slot, q) in coin_q.iter_mut().enumerate() {
            if self.measures.is_benched(slot) {
                *q = 0.0;
            }
        }
        self.metrics.round.set(round as f64);
        // Its digest takes a while, and calls need the state.
        let known = self.hub.state().model.clone().filter(|known| known.is(model));
        let offered = known.unwrap_or_else(|| OfferedModel::new(model));
        let window_end = {
            let mut state = self.hub.state();
            let digest = offered.digest;
            state.model = Some(offered);
            if let Some(before) = state.current.take() {
                state.previous = Some((before.toss, before.into_taken()));
            }
            state.arrived.clear();
            let toss = Toss { run: self.toss_run, round };
            let now = Instant::now();
            let mut current = Current::open(toss, digest, self.seed, coin_q, self.timeouts.window, now);
            self.ask_everybody(&mut state, &mut current);
            let end = current.window_end();
            state.current = Some(current);
            end
        };
        while Instant::now() < window_end
            && !self.hub.state().current.as_ref().is_none_or(Current::all_answered)
        {
            self.check_stop(self.timeouts.finish)?;
            self.wait(window_end);
        }
        let open = self.timeouts.window.saturating_sub(window_end.saturating_duration_since(Instant::now()));
        let mut state = self.hub.state();
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
            self.metrics.joins.add(1);
            self.metrics.join_secs.observe(joined.answer_secs);
            cohort.push(DeviceJob { device, job: self.measures.job(device, believed) }, weights[device]);
        }
        drop(state);
        self.count_payloads_under_pressure(cohort.device_jobs_mut());
        Ok(())
    }

    /// Follows from what was measured: one device's word, or delay, does not make everybody wait.
    fn deadline_secs(&self, device_jobs: &[DeviceJob]) -> Option<f64> {
        let believed = self.measures.believed();
        let jobs =
            device_jobs.iter().map(|device_job| self.measures.deadline_job(device_job.device, believed));
        let expected_secs = bandwidth::finish_together(jobs, self.band).round_secs();
        Some(self.timeouts.deadline_secs(expected_secs))
    }

    fn dispatch(&mut self, order: Order<'_>) -> Result<(), EngineError> {
        let expected_secs = order.allocation.round_secs;
        let deadline_secs = order.deadline_secs.unwrap_or_else(|| self.timeouts.deadline_secs(0.0));
        let now = Instant::now();
        let deadline =
            now + Duration::try_from_secs_f64(deadline_secs).unwrap_or(Duration::from_secs(86_400));
        (self.deadline, self.was_late) = (Some(deadline), false);
        info!(
            round = order.round,
            cohort = order.allocation.shares.len(),
            expected_secs,
            "the band is divided"
        );
        let mut state = self.hub.state();
        for share in &order.allocation.shares {
            let alone_secs = share.compute_secs + share.mbps * share.upload_secs / self.band.get();
            let is_crowded_out =
                share.finish_secs(share.compute_secs) > deadline_secs && alone_secs <= deadline_secs;
            let grant = |current: &mut Current| current.grant(share, is_crowded_out, now, deadline);
            let notice = state.current.as_mut().and_then(grant);
            if let Some(notice) = notice {
                // A model that was not there yet, and an update.
                state.members[share.device].calls.grant(2.0);
                // Whoever is away hears it when it comes back.
                state.tell(share.device, notice);
            }
        }
        Ok(())
    }

    fn next_event(&mut self) -> Result<Event, EngineError> {
        loop {
            if let Some(event) = self.poll_event() {
                return Ok(event);
            }
            self.check_stop(self.timeouts.finish)?;
            self.wait(self.deadline.unwrap_or_else(Instant::now));
        }
    }

    fn evaluate(&mut self, model: &Arc<ModelVector>) -> Result<Scores, LearnError> {
        (self.evaluate)(model)
    }

    fn close(&mut self, round: u64, secs: f64) -> Result<Receipt, EngineError> {
        let bench_changed = self.review(round, secs);
        let measures = serde_json::to_string(&*self.measures).unwrap_or_default();
        Ok(Receipt { accepted: std::mem::take(&mut self.accepted), measures, bench_changed })
    }
}
