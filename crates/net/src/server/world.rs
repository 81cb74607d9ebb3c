//! The deployed world: the second one behind the engine's round loop.
//!
//! The engine is synchronous and waits here; devices are served by the runtime and leave what they bring at the
//! hub. Time is that of the clock on the wall since the run began, over all restarts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fedflip_engine::{Cohort, EngineError, Event, Order, Update as EngineUpdate, World};
use fedflip_fleet::bandwidth::{self, Entrant};
use fedflip_fleet::{Mbps, Metrics as Scores, ModelVector};
use fedflip_learn::{LearnError, Metric};
use tokio::runtime::Runtime;
use tokio::time::Instant;
use tracing::{info, warn};

use super::hub::{Arrival, Hub, OfferedModel};
use super::planning::Planned;
use super::quorum::POLL_EVERY;
use super::round::{Current, Granted};
use super::timeouts::Timeouts;
use crate::coin::Toss;
use crate::measure::{Measures, Outcome as Seen};
use crate::reason::Reason;
use crate::status::{Health, Metrics};
use crate::wire::numbers::VectorDigest;

/// What packets add to a payload at most.
const FRAMED: f64 = 1.25;

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

/// Time since the run began, over restarts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    started: Instant,
    secs_before: f64,
}

impl Clock {
    pub(crate) fn after(secs_before: f64) -> Self {
        Self { started: Instant::now(), secs_before }
    }

    pub(crate) fn secs(&self) -> f64 {
        self.secs_before + self.started.elapsed().as_secs_f64()
    }
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

    /// A device that took part will not report.
    fn lost(&mut self, slot: usize, reason: Reason) {
        warn!(slot, reason = reason.name(), "a device that took part is lost to the round");
        self.metrics.refused.add(reason);
        self.missed(slot);
        self.hub.state().note(None, Some(slot), reason);
    }

    /// A device's grant came to nothing, and others have waited for it until now.
    fn missed(&mut self, slot: usize) {
        let seen = match self.granted(slot) {
            Some(granted) if granted.is_crowded_out => Seen::CrowdedOut,
            Some(granted) => Seen::Missed { waited_secs: granted.at.elapsed().as_secs_f64() },
            None => Seen::Missed { waited_secs: 0.0 },
        };
        self.measures.granted(slot, seen);
    }

    fn granted(&self, slot: usize) -> Option<Granted> {
        self.hub.state().current.as_ref().and_then(|current| current.granted(slot).ok())
    }

    /// What an arrival is to the engine.
    fn event(&mut self, Arrival { slot, what }: Arrival) -> Event {
        let update = match what {
            Ok(update) => update,
            Err(reason) => {
                self.missed(slot);
                return Event::Lost { device: slot, reason: reason.name() };
            }
        };
        if let Some(Granted { mbps, upload_from_secs, .. }) = self.granted(slot) {
            let [compute_secs, upload_secs] = update.took_secs;
            // Whoever sends faster than granted sends no less for that.
            let upload_secs = upload_secs.max(self.payload_mbit / mbps);
            let seen = Seen::Reported { compute_secs, upload_from_secs, upload_secs, mbps };
            self.measures.granted(slot, seen);
        }
        self.accepted.insert(slot, (update.digest, update.train_loss));
        // Memory is counted while the network holds it; from here on the engine does.
        drop(update.memory);
        Event::Update(EngineUpdate {
            device: slot,
            delta: update.delta,
            train_loss: update.train_loss,
            took_secs: update.took_secs,
        })
    }
}

impl NetWorld<'_> {
    /// An upload that was slow counts as a larger one, so that all finish together. Where the deadline does not leave time
    /// for that, everybody's upload counts as its payload: nobody gets bandwidth that another device needs by being slow.
    fn count_payloads_under_pressure(&self, entrants: &mut [Entrant]) {
        let Some(deadline_secs) = self.explicit_deadline_secs else { return };
        let jobs = entrants.iter().map(|entrant| entrant.job);
        if bandwidth::finish_together(jobs, self.band).round_secs()
            <= deadline_secs * (1.0 - self.deadline_margin)
        {
            return;
        }
        for Entrant { job, .. } in entrants {
            job.load_mbit = job.load_mbit.min(FRAMED * self.payload_mbit);
        }
    }
}

/// What happens next in a round.
enum Next {
    Arrival(Arrival),
    Missing(usize),
    Deadline(Vec<usize>),
    Nothing,
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
            cohort.push(Entrant { device, job: self.measures.job(device, believed) }, weights[device]);
        }
        drop(state);
        self.count_payloads_under_pressure(cohort.entrants_mut());
        Ok(())
    }

    /// Follows from what was measured: one device's word, or delay, does not make everybody wait.
    fn deadline_secs(&self, entrants: &[Entrant]) -> Option<f64> {
        let believed = self.measures.believed();
        let jobs = entrants.iter().map(|entrant| self.measures.deadline_job(entrant.device, believed));
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
        let mut deadline = self.deadline.unwrap_or_else(Instant::now);
        loop {
            let now = Instant::now();
            let next = {
                let mut state = self.hub.state();
                if let Some(arrival) = state.arrived.pop_front() {
                    Next::Arrival(arrival)
                } else if let Some(slot) = self.missing(&mut state, now) {
                    Next::Missing(slot)
                } else if now >= deadline + POLL_EVERY && !self.was_late {
                    // The server itself was away: what has come meanwhile is still to be read.
                    (self.was_late, self.deadline) = (true, Some(now + POLL_EVERY));
                    deadline = now + POLL_EVERY;
                    Next::Nothing
                } else if now >= deadline {
                    // Under the same lock: whoever comes from now on is told that it is too late.
                    Next::Deadline(state.current.as_mut().map(Current::close_for_good).unwrap_or_default())
                } else {
                    Next::Nothing
                }
            };
            match next {
                Next::Arrival(arrival) => return Ok(self.event(arrival)),
                Next::Missing(device) => {
                    self.lost(device, Reason::Disconnected);
                    return Ok(Event::Lost { device, reason: Reason::Disconnected.name() });
                }
                Next::Deadline(late) => {
                    late.into_iter().for_each(|slot| self.lost(slot, Reason::Deadline));
                    return Ok(Event::Deadline);
                }
                Next::Nothing => {}
            }
            self.check_stop(self.timeouts.finish)?;
            self.wait(deadline);
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
