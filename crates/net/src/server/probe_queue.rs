//! The order of timed transfers: one at a time, because each needs the whole bandwidth.
//!
//! A device waits for one transfer at most, and devices with fewer transfers come first. So a new device waits for the
//! transfer under way and for one of each other device that was never measured, however often a device asks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::identity::DeviceName;
use crate::reason::Reason;

/// The number of earlier transfers of a device, and the order in which devices asked.
type Rank = (u32, u64);

/// Devices that wait for their timed transfer, in order.
#[derive(Default)]
pub(super) struct ProbeQueue {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    asked_ever: u64,
    /// The device that has the bandwidth.
    measuring: Option<DeviceName>,
    waiting: BTreeMap<Rank, (DeviceName, oneshot::Sender<ProbeTurn>)>,
    ranks: BTreeMap<DeviceName, Rank>,
}

/// The whole bandwidth for one transfer; when it is dropped, the next device has its turn.
pub(super) struct ProbeTurn {
    queue: Arc<ProbeQueue>,
}

impl Drop for ProbeTurn {
    fn drop(&mut self) {
        self.queue.pass_on();
    }
}

impl ProbeQueue {
    /// Waits until the bandwidth is free for a device with `had` earlier transfers. The wait may be dropped at any moment.
    pub(super) async fn turn(self: &Arc<Self>, name: &DeviceName, had: u32) -> Result<ProbeTurn, Reason> {
        let coming = self.ask(name, had)?;
        // The sender is dropped only with the queue.
        coming.await.map_err(|_| Reason::Disconnected)
    }

    fn ask(self: &Arc<Self>, name: &DeviceName, had: u32) -> Result<oneshot::Receiver<ProbeTurn>, Reason> {
        let (sender, coming) = oneshot::channel();
        {
            let mut state = self.locked();
            state.forget_if_gone(name);
            if state.measuring.as_ref() == Some(name) || state.ranks.contains_key(name) {
                return Err(Reason::AlreadyProbing);
            }
            if state.measuring.is_some() {
                state.asked_ever += 1;
                let rank = (had, state.asked_ever);
                state.ranks.insert(name.clone(), rank);
                state.waiting.insert(rank, (name.clone(), sender));
                return Ok(coming);
            }
            state.measuring = Some(name.clone());
        }
        // Sent without the lock, because a turn that is dropped takes it.
        drop(sender.send(ProbeTurn { queue: Arc::clone(self) }));
        Ok(coming)
    }

    /// Gives the bandwidth to the first device that still waits.
    fn pass_on(self: &Arc<Self>) {
        let Some(next) = self.locked().next() else { return };
        // A device that has just stopped waiting drops its turn, which passes it on.
        drop(next.send(ProbeTurn { queue: Arc::clone(self) }));
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A device whose connection broke while it waited may ask again.
    fn forget_if_gone(&mut self, name: &DeviceName) {
        if let Some(rank) = self.ranks.get(name).copied()
            && self.waiting.get(&rank).is_none_or(|(_, sender)| sender.is_closed())
        {
            self.ranks.remove(name);
            self.waiting.remove(&rank);
        }
    }

    fn next(&mut self) -> Option<oneshot::Sender<ProbeTurn>> {
        self.measuring = None;
        while let Some((_, (name, sender))) = self.waiting.pop_first() {
            self.ranks.remove(&name);
            if !sender.is_closed() {
                self.measuring = Some(name);
                return Some(sender);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> DeviceName {
        text.parse().unwrap()
    }

    #[tokio::test]
    async fn a_device_waits_once_and_those_who_had_none_come_first() {
        let queue = Arc::new(ProbeQueue::default());
        let first = queue.turn(&name("first"), 0).await.unwrap();
        assert_eq!(queue.ask(&name("first"), 0).err(), Some(Reason::AlreadyProbing), "it is its turn");
        let mut again = queue.ask(&name("again"), 1).unwrap();
        assert_eq!(queue.ask(&name("again"), 1).err(), Some(Reason::AlreadyProbing), "it waits");
        let mut new = queue.ask(&name("new"), 0).unwrap();
        let newer = queue.ask(&name("newer"), 0).unwrap();
        assert!(again.try_recv().is_err() && new.try_recv().is_err());
        drop(first);
        let turn = new.try_recv().expect("it was never measured");
        assert!(again.try_recv().is_err(), "it had a turn before");
        // One that is gone is passed over, and may ask again.
        drop(newer);
        drop(turn);
        let turn = again.try_recv().expect("nobody else waits");
        let mut newer = queue.ask(&name("newer"), 0).unwrap();
        drop(turn);
        drop(newer.try_recv().unwrap());
        drop(queue.turn(&name("last"), 9).await.unwrap());
        let state = queue.locked();
        assert!(state.measuring.is_none() && state.waiting.is_empty() && state.ranks.is_empty());
    }

    #[tokio::test]
    async fn a_turn_that_nobody_takes_is_passed_on() {
        let queue = Arc::new(ProbeQueue::default());
        let first = queue.turn(&name("first"), 0).await.unwrap();
        let gone = queue.ask(&name("gone"), 0).unwrap();
        let mut next = queue.ask(&name("next"), 0).unwrap();
        drop(first);
        // It was sent its turn, and never looks.
        drop(gone);
        assert!(next.try_recv().is_ok());
        // One whose line broke while it waited may ask again at once.
        let held = queue.turn(&name("held"), 0).await.unwrap();
        drop(queue.ask(&name("broken"), 0).unwrap());
        let mut again = queue.ask(&name("broken"), 0).unwrap();
        drop(held);
        assert!(again.try_recv().is_ok());
    }
}
