//! The state of a running server: its devices, and the round in progress.
//!
//! Calls of devices run on the runtime's threads, and the round loop on its own thread. Both use this state behind
//! one lock, which is held only briefly. A thread that changes something rings the bell.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prost::bytes::Bytes;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use super::capacity::FleetCapacity;
use super::evaluation::Evaluation;
use super::exchange::{Arrival, OfferedModel};
use super::journal::Journal;
use super::member::{AgentInfo, DeviceLink, Member};
use super::newcomers::Newcomers;
use super::rate::Strangers;
use super::round::{Current, Taken};
use crate::coin::Toss;
use crate::door::Caller;
use crate::identity::DeviceName;
use crate::reason::Reason;
use crate::state::{EnrolledDevice, Incident};
use crate::status::Metrics;
use crate::wire::limits::NOTICES_WAITING_MAX;
use crate::wire::sums::DeclaredSums;
use crate::wire::v1;

/// A message to a device that attends. Boxed, because its channel has room for many and is mostly empty.
pub(crate) type Notice = Box<v1::ToDevice>;

pub(crate) struct Hub {
    state: Mutex<ServerState>,
    bell: Notify,
    /// Limits the lines that devices cause in the log.
    pub(super) journal: Journal,
    pub(super) metrics: Arc<Metrics>,
    /// The sums of a device's evaluation.
    pub(super) declared: DeclaredSums,
}

impl Hub {
    pub(crate) fn new(capacity: FleetCapacity, declared: DeclaredSums, metrics: Arc<Metrics>) -> Self {
        let state = Mutex::new(ServerState { capacity, ..ServerState::default() });
        Self { state, bell: Notify::default(), journal: Journal::default(), metrics, declared }
    }

    /// Locks the state. Hold the lock only briefly.
    pub(crate) fn state(&self) -> MutexGuard<'_, ServerState> {
        // A thread that panicked has left counts and lists that are still valid.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn ring(&self) {
        self.bell.notify_one();
    }

    /// Waits until something changes, or `until`.
    pub(crate) async fn changed_or(&self, until: Instant) {
        // A timeout ends the wait like a bell.
        let _ = tokio::time::timeout_at(until, self.bell.notified()).await;
    }
}

#[derive(Default)]
pub(crate) struct ServerState {
    /// Whether devices may enrol: only after devices of before a restart have their slots again.
    pub open: bool,
    /// Devices that have said hello and have no slot yet.
    pub newcomers: Newcomers,
    /// Limits the calls of devices that have no slot.
    strangers: Strangers,
    /// The enrolled devices, by slot.
    pub members: Vec<Member>,
    slots: BTreeMap<DeviceName, usize>,
    pub capacity: FleetCapacity,
    /// The number of devices that have left for good.
    pub departed: usize,
    /// When the status of the devices was last written for operators.
    pub shown: Option<Instant>,
    pub current: Option<Current>,
    pub evaluation: Option<Evaluation>,
    /// The newest evaluation, in progress or over.
    pub evaluated: Option<Toss>,
    /// The updates of the round before: its devices may not have received their replies.
    pub previous: Option<(Toss, BTreeMap<usize, Taken>)>,
    /// Updates that have arrived, for the round loop.
    pub arrived: VecDeque<Arrival>,
    /// Incidents, for the round loop to record.
    pub incidents: VecDeque<Incident>,
    /// x_r, for the cohort.
    pub model: Option<OfferedModel>,
    pub finished: bool,
    links_ever: u64,
}

impl ServerState {
    /// A device says hello. Returns its slot, or the next free one if it has none, and whether it has one.
    pub(crate) fn hello(&mut self, caller: &Caller, now: Instant) -> Result<(usize, bool), Reason> {
        let Caller { name, coin } = caller;
        let enrolled = self.slot(name).is_some();
        if !enrolled {
            if self.is_full() {
                return Err(Reason::FleetFull);
            }
            self.newcomers.meet(name, *coin, self.capacity.devices_max, now)?;
        }
        self.known(caller, now)?;
        Ok((self.slot(name).unwrap_or(self.members.len()), enrolled))
    }

    /// Notes what a device that has said hello says of itself.
    pub(crate) fn introduce(&mut self, name: &DeviceName, about: AgentInfo) {
        if let Some(slot) = self.slot(name) {
            self.members[slot].about = about;
        } else if let Some(newcomer) = self.newcomers.get_mut(name) {
            newcomer.about = about;
        }
    }

    /// Counts a call of any caller before any other check; a caller without a name is none.
    pub(crate) fn call(&mut self, caller: Option<&Caller>, now: Instant) -> Result<(), Reason> {
        let member = caller.and_then(|caller| {
            let slot = self.slot(&caller.name)?;
            self.members.get_mut(slot).filter(|member| member.coin == caller.coin)
        });
        let is_allowed = match member {
            Some(member) => member.calls.take(now),
            None => self.strangers.take(caller, now),
        };
        if is_allowed { Ok(()) } else { Err(Reason::TooManyCalls) }
    }

    /// Refuses a device that has not said hello, whose coin has changed since, or that has left for good.
    pub(crate) fn known(&mut self, caller: &Caller, now: Instant) -> Result<(), Reason> {
        let Caller { name, coin } = caller;
        let known = match self.slot(name) {
            Some(slot) if self.members[slot].departed.is_some() => return Err(Reason::Retired),
            Some(slot) => self.members[slot].coin,
            None => {
                let newcomer = self.newcomers.get_mut(name).ok_or(Reason::NotEnrolled)?;
                if newcomer.coin == *coin {
                    newcomer.called = now;
                }
                newcomer.coin
            }
        };
        if known == *coin { Ok(()) } else { Err(Reason::OtherCoin) }
    }

    /// The number of timed transfers of a device so far; refuses a device that needs none.
    pub(crate) fn may_probe(&mut self, name: &DeviceName) -> Result<u32, Reason> {
        if self.slot(name).is_some() {
            return Err(Reason::AlreadyEnrolled);
        }
        if self.is_full() {
            return Err(Reason::FleetFull);
        }
        self.newcomers.get_mut(name).map(|newcomer| newcomer.probes).ok_or(Reason::NotEnrolled)
    }

    /// Gives a device the next slot, for ever. Only this function gives slots, so no slot waits for a device that never
    /// enrols, and the fleet has no gaps. A device that has a slot keeps it with its first measurements.
    pub(crate) fn enrol(
        &mut self,
        caller: &Caller,
        device: impl FnOnce(usize) -> EnrolledDevice,
    ) -> Result<usize, Reason> {
        if self.slot(&caller.name).is_none() && self.is_full() {
            return Err(Reason::FleetFull);
        }
        self.seat(caller, device)
    }

    /// Does the same where the room does not matter: a device that enrolled before a restart keeps its slot.
    pub(crate) fn seat(
        &mut self,
        caller: &Caller,
        device: impl FnOnce(usize) -> EnrolledDevice,
    ) -> Result<usize, Reason> {
        let Caller { name, coin } = caller;
        if let Some(slot) = self.slot(name) {
            return if self.members[slot].coin == *coin { Ok(slot) } else { Err(Reason::OtherCoin) };
        }
        let slot = self.members.len();
        let about = self.newcomers.leave(name).map(|newcomer| newcomer.about).unwrap_or_default();
        let calls = self.strangers.leave(caller);
        self.members.push(Member::new(device(slot), *coin, calls, about));
        self.slots.insert(name.clone(), slot);
        Ok(slot)
    }

    /// The slot of a device that has enrolled.
    pub(crate) fn slot(&self, name: &DeviceName) -> Option<usize> {
        self.slots.get(name).copied()
    }

    /// The bytes of the model that devices can fetch, if it has this digest.
    pub(crate) fn offered(&self, digest: &[u8]) -> Option<Bytes> {
        self.model
            .as_ref()
            .filter(|offered| offered.digest[..] == *digest)
            .map(|offered| offered.bytes.clone())
    }

    pub(crate) fn attending(&self) -> usize {
        self.members.iter().filter(|member| member.link.is_some()).count()
    }

    /// A device attends. Its older connection is cut, and it gets the messages of the round that it has missed.
    pub(crate) fn attend(&mut self, slot: usize) -> (u64, mpsc::Receiver<Notice>) {
        let (notices, receiver) = mpsc::channel(NOTICES_WAITING_MAX);
        if self.tell(slot, v1::to_device::What::Superseded(v1::to_device::Superseded {})) {
            self.members[slot].came_twice(Instant::now());
        }
        self.links_ever += 1;
        let id = self.links_ever;
        self.members[slot].has_attended = true;
        self.members[slot].link = Some(DeviceLink { id, notices });
        if let Some(current) = &mut self.current {
            let is_awaited = self.members[slot].silence.is_waited_for();
            for notice in current.for_newcomer(slot, is_awaited, Instant::now()) {
                self.tell(slot, notice);
            }
        }
        let waits = self.members[slot].evaluating.is_waited_for();
        if let Some(notice) = self.evaluation.as_mut().and_then(|evaluation| evaluation.ask(slot, waits)) {
            self.tell(slot, notice);
        }
        if self.finished {
            self.tell_finished(slot);
        }
        (id, receiver)
    }

    /// A device's connection is gone; a newer one stays.
    pub(crate) fn leave(&mut self, slot: usize, id: u64) {
        if let Some(member) = self.members.get_mut(slot)
            && member.link.as_ref().is_some_and(|link| link.id == id)
        {
            member.disconnect();
        }
    }

    /// Sends a message to a device. A device that does not read is disconnected, and may connect again.
    pub(crate) fn tell(&mut self, slot: usize, what: v1::to_device::What) -> bool {
        let Some(member) = self.members.get_mut(slot) else { return false };
        let Some(link) = &member.link else { return false };
        let told = link.notices.try_send(Box::new(v1::ToDevice { what: Some(what) })).is_ok();
        if !told {
            member.disconnect();
        }
        told
    }

    /// Tells a device about a refusal, for its log.
    pub(crate) fn tell_refusal(&mut self, slot: usize, round: u64, reason: Reason) {
        let refusal = v1::Refusal { round, reason: reason.name().to_owned() };
        self.tell(slot, v1::to_device::What::Refusal(refusal));
    }

    pub(super) fn tell_finished(&mut self, slot: usize) {
        let digest = self.model.as_ref().map(|model| Bytes::copy_from_slice(&model.digest));
        let finished = v1::to_device::Finished { digest: digest.unwrap_or_default() };
        self.tell(slot, v1::to_device::What::Finished(finished));
    }
}
