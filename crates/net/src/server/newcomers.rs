//! Devices that have said hello and have not enrolled: the server measures them, and they have no slot yet.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::member::AgentInfo;
use crate::coin::CoinPublic;
use crate::identity::DeviceName;
use crate::reason::Reason;

/// The time between two calls of a device that enrols: to read its data and to calibrate take a while.
const ENROL_TIME_MAX: Duration = Duration::from_secs(300);
/// The number of devices that may call beyond the slots of the fleet: not all of them enrol.
const BEYOND_MAX: usize = 1024;

/// A device that is about to enrol.
pub(crate) struct Newcomer {
    pub coin: CoinPublic,
    pub comm_mbit: Option<f64>,
    /// The number of its timed transfers so far.
    pub probes: u32,
    pub called: Instant,
    pub about: AgentInfo,
}

impl Newcomer {
    /// Whether the device has stopped calling.
    fn has_given_up(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.called) > ENROL_TIME_MAX
    }
}

#[derive(Default)]
pub(crate) struct Newcomers(BTreeMap<DeviceName, Newcomer>);

impl Newcomers {
    /// Notes a device that says hello, perhaps again.
    pub(crate) fn meet(
        &mut self,
        name: &DeviceName,
        coin: CoinPublic,
        capacity: usize,
        now: Instant,
    ) -> Result<(), Reason> {
        // Its owner may have got a new identity.
        let gone = |newcomer: &Newcomer| newcomer.coin != coin && newcomer.has_given_up(now);
        if self.0.get(name).is_some_and(gone) {
            self.0.remove(name);
        }
        if self.0.contains_key(name) {
            return Ok(());
        }
        let most = capacity.saturating_add(BEYOND_MAX);
        if self.0.len() >= most {
            self.0.retain(|_, newcomer| !newcomer.has_given_up(now));
        }
        if self.0.len() >= most {
            return Err(Reason::OutOfMemory);
        }
        let newcomer =
            Newcomer { coin, comm_mbit: None, probes: 0, called: now, about: AgentInfo::default() };
        self.0.insert(name.clone(), newcomer);
        Ok(())
    }

    pub(crate) fn get_mut(&mut self, name: &DeviceName) -> Option<&mut Newcomer> {
        self.0.get_mut(name)
    }

    pub(crate) fn leave(&mut self, name: &DeviceName) -> Option<Newcomer> {
        self.0.remove(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::CoinKey;

    #[test]
    fn those_who_give_up_make_room() {
        let (mut newcomers, start) = (Newcomers::default(), Instant::now());
        let coin = CoinKey::generate().public();
        let name = |n: usize| -> DeviceName { format!("device-{n}").parse().unwrap() };
        for n in 0..=BEYOND_MAX {
            newcomers.meet(&name(n), coin, 1, start).unwrap();
        }
        let one_more = name(BEYOND_MAX + 1);
        assert_eq!(newcomers.meet(&one_more, coin, 1, start), Err(Reason::OutOfMemory));
        newcomers.meet(&name(0), coin, 1, start).unwrap();
        let later = start + 2 * ENROL_TIME_MAX;
        // This one is at it still.
        newcomers.get_mut(&name(7)).unwrap().called = later;
        newcomers.meet(&one_more, coin, 1, later).unwrap();
        assert!(newcomers.get_mut(&name(0)).is_none() && newcomers.get_mut(&name(7)).is_some());
        // A name whose owner has given up is free for another coin.
        let other = CoinKey::generate().public();
        newcomers.meet(&name(7), other, 1, later).unwrap();
        assert_ne!(newcomers.get_mut(&name(7)).unwrap().coin, other);
        newcomers.meet(&name(7), other, 1, later + 2 * ENROL_TIME_MAX).unwrap();
        assert_eq!(newcomers.get_mut(&name(7)).unwrap().coin, other);
    }
}
