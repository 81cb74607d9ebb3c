//! The deployed world: the second one behind the engine's round loop.
//!
//! The engine is synchronous and waits here; devices are served by the runtime and leave what they bring at the
//! hub. Time is that of the clock on the wall since the run began, over all restarts.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use fedflip_engine::{EngineError, Event, Order, Update as EngineUpdate, World};
use fedflip_fleet::ModelVector;
use fedflip_fleet::bandwidth::Entrant;
use fedflip_learn::Metrics as Scores;
use tokio::runtime::Runtime;
use tokio::time::Instant;
use tracing::{info, warn};

use super::hub::{Arrival, Desk, Hub, Offered};
use super::patience::Patience;
use super::planning::Planned;
use super::presence::LOOK;
use super::round::Current;
use crate::coin::Toss;
use crate::measure::{Measures, Outcome as Seen};
use crate::reason::Reason;
use crate::status::{Health, Metrics};
use crate::wire::numbers::VectorDigest;

/// What the round loop and whoever commits its rounds both know of the round.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub measures: Measures,
    /// Digest and training loss of every update that was handed to the engine.
    pub accepted: BTreeMap<usize, (VectorDigest, f64)>,
    /// The engine waits for nobody any more: the run is to stop.
    pub abandoned: bool,
}

/// How a model is scored.
pub(crate) type Evaluate<'a> = &'a mut dyn FnMut(&Arc<ModelVector>) -> Result<Scores, EngineError>;

/// Devices at the other end of a network.
pub(crate) struct NetWorld<'a> {
    pub hub: &'a Hub,
    /// Not its handle, which does not drive the tasks and timers of a single-threaded runtime.
    pub runtime: &'a Runtime,
    pub metrics: &'a Metrics,
    pub health: &'a Health,
    pub patience: Patience,
    /// Which coins are flipped.
    pub toss_run: [u8; 16],
    /// Of local training.
    pub seed: u64,
    pub planned: &'a Planned,
    pub ledger: Rc<RefCell<Ledger>>,
    pub evaluate: Evaluate<'a>,
    /// Whether somebody wants the run to stop.
    pub stop: &'a dyn Fn() -> bool,
    pub clock: Clock,
    /// Until then a server that was started again waits for all devices.
    pub muster_until: Instant,
    pub deadline: Option<Instant>,
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
        self.runtime.block_on(self.hub.changed_or(until.min(Instant::now() + LOOK)));
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
        self.ledger.borrow_mut().abandoned = true;
        Err(EngineError::World { problem: "the server is to stop".to_owned() })
    }

    /// A device that took part will not report.
    fn lost(&self, slot: usize, reason: Reason) {
        warn!(slot, reason = reason.name(), "a device that took part is lost to the round");
        self.metrics.refused.add(reason);
        self.ledger.borrow_mut().measures.granted(slot, Seen::Missed);
        let mut desk = self.hub.desk();
        let round = desk.current.as_ref().map_or(0, Current::round);
        desk.note(round, Some(slot), reason);
    }

    /// What an arrival is to the engine.
    fn event(&mut self, Arrival { slot, what }: Arrival) -> Event {
        let mut ledger = self.ledger.borrow_mut();
        match what {
            Ok(update) => {
                let granted = self.hub.desk().current.as_ref().and_then(|current| current.granted(slot).ok());
                if let Some(granted) = granted {
                    let [compute_secs, upload_secs] = update.took_secs;
                    let mbps = granted.mbps;
                    ledger.measures.granted(slot, Seen::Reported { compute_secs, upload_secs, mbps });
                }
                ledger.accepted.insert(slot, (update.digest, update.train_loss));
                // Memory is counted while the network holds it; from here on the engine does.
                drop(update.memory);
                Event::Update(EngineUpdate {
                    device: slot,
                    delta: update.delta,
                    train_loss: update.train_loss,
                    took_secs: update.took_secs,
                })
            }
            Err(reason) => {
                ledger.measures.granted(slot, Seen::Missed);
                Event::Lost { device: slot, reason: reason.name() }
            }
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
    fn now_secs(&self) -> f64 {
        self.clock.secs()
    }

    fn open(
        &mut self,
        round: u64,
        model: &Arc<ModelVector>,
        entrants: &mut Vec<Entrant>,
    ) -> Result<(), EngineError> {
        self.gather()?;
        let coin_q = self.planned.coin_q(round);
        let devices = coin_q.len();
        self.metrics.round.set(round as f64);
        // Its digest takes a while, and calls need the desk.
        let known = self.hub.desk().model.clone().filter(|known| known.is(model));
        let offered = known.unwrap_or_else(|| Offered::new(model));
        let window_end = {
            let mut desk = self.hub.desk();
            let digest = offered.digest;
            desk.model = Some(offered);
            if let Some(before) = desk.current.take() {
                desk.previous = Some((before.toss, before.into_taken()));
            }
            desk.arrived.clear();
            let toss = Toss { run: self.toss_run, round };
            let now = Instant::now();
            let mut current = Current::open(toss, digest, self.seed, coin_q, self.patience.window, now);
            for slot in 0..devices {
                // An answer and, with heads, a model.
                desk.members[slot].calls.grant(2.0);
                if desk.members[slot].line.is_some()
                    && let Some(notice) = current.ask(slot)
                    && !desk.tell(slot, notice)
                {
                    current.gone(slot);
                }
            }
            let end = current.window_end();
            desk.current = Some(current);
            end
        };
        loop {
            let answered = self.hub.desk().current.as_ref().is_none_or(Current::all_answered);
            if answered || Instant::now() >= window_end {
                break;
            }
            self.check_stop(self.patience.finish)?;
            self.wait(window_end);
        }
        let mut ledger = self.ledger.borrow_mut();
        ledger.accepted.clear();
        let mut desk = self.hub.desk();
        let Desk { current: Some(current), members, .. } = &mut *desk else {
            return Err(EngineError::World { problem: "the round is gone".to_owned() });
        };
        current.close();
        for (slot, member) in members.iter().enumerate().take(devices) {
            // Whoever has not come back since the server started may not know yet that it did.
            if member.has_attended {
                ledger.measures.opened(slot, current.answered(slot));
            }
        }
        entrants.clear();
        for (&device, joined) in current.joined() {
            self.metrics.joins.add(1);
            self.metrics.join_secs.observe(joined.answer_secs);
            entrants.push(Entrant { device, job: ledger.measures.job(device) });
        }
        Ok(())
    }

    fn dispatch(&mut self, order: Order<'_>) -> Result<(), EngineError> {
        let expected_secs = order.allocation.round_secs;
        let deadline_secs = order.deadline_secs.unwrap_or_else(|| self.patience.deadline_secs(expected_secs));
        let now = Instant::now();
        let deadline =
            now + Duration::try_from_secs_f64(deadline_secs).unwrap_or(Duration::from_secs(86_400));
        self.deadline = Some(deadline);
        info!(
            round = order.round,
            cohort = order.allocation.shares.len(),
            expected_secs,
            "the band is divided"
        );
        let mut desk = self.hub.desk();
        for share in &order.allocation.shares {
            let notice = desk.current.as_mut().and_then(|current| current.grant(share, now, deadline));
            if let Some(notice) = notice {
                // A model that was not there yet, and an update.
                desk.members[share.device].calls.grant(2.0);
                // Whoever is away hears it when it comes back.
                desk.tell(share.device, notice);
            }
        }
        Ok(())
    }

    fn next_event(&mut self) -> Result<Event, EngineError> {
        let deadline = self.deadline.unwrap_or_else(Instant::now);
        loop {
            let now = Instant::now();
            let next = {
                let mut desk = self.hub.desk();
                if let Some(arrival) = desk.arrived.pop_front() {
                    Next::Arrival(arrival)
                } else if let Some(slot) = self.missing(&mut desk, now) {
                    Next::Missing(slot)
                } else if now >= deadline {
                    // Under the same lock: whoever comes from now on is told that it is too late.
                    Next::Deadline(desk.current.as_mut().map(Current::close_for_good).unwrap_or_default())
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
            self.check_stop(self.patience.finish)?;
            self.wait(deadline);
        }
    }

    fn evaluate(&mut self, model: &Arc<ModelVector>) -> Result<Scores, EngineError> {
        (self.evaluate)(model)
    }
}
