//! Limits the calls of a caller, before any other check.
//!
//! A device of the fleet has its own bucket. All other callers have one here, by name and coin: devices that have not
//! enrolled, devices that find the fleet full, and callers with another coin for a known name, which must not use up
//! the calls of the device that has this name.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::bucket::{Bucket, Rate};
use crate::coin::KEY_BYTES;
use crate::door::Caller;
use crate::wire::limits::{CALLS_IN_A_ROW_MAX, CALLS_PER_SEC_MAX};

/// The calls of one device.
pub(crate) const CALLS: Rate = Rate { in_a_row: CALLS_IN_A_ROW_MAX, per_sec: CALLS_PER_SEC_MAX };

/// The number of callers outside of the fleet that have called in the last seconds: about 3 MB. With certificates there
/// is one per issued identity; without certificates, on this machine only, any program can invent names.
const STRANGERS_MAX: usize = 16_384;
/// A full table is searched this often for callers that are gone.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// Name and coin; callers without a name share the empty one.
type Key = (String, [u8; KEY_BYTES]);

fn key(caller: &Caller) -> Key {
    (caller.name.to_string(), caller.coin.to_bytes())
}

/// The buckets of callers outside of the fleet.
#[derive(Default)]
pub(crate) struct Strangers {
    buckets: BTreeMap<Key, Bucket>,
    swept: Option<Instant>,
}

impl Strangers {
    /// Counts a call, unless the caller has made too many. Callers without a name share a bucket.
    pub(crate) fn take(&mut self, caller: Option<&Caller>, now: Instant) -> bool {
        let caller = caller.map(key).unwrap_or_default();
        if self.buckets.len() >= STRANGERS_MAX && !self.buckets.contains_key(&caller) {
            self.sweep(now);
            if self.buckets.len() >= STRANGERS_MAX {
                return false;
            }
        }
        self.buckets.entry(caller).or_insert_with(|| Bucket::full(CALLS)).take(now)
    }

    /// The bucket of a caller that gets a slot in the fleet.
    pub(crate) fn leave(&mut self, caller: &Caller) -> Bucket {
        self.buckets.remove(&key(caller)).unwrap_or_else(|| Bucket::full(CALLS))
    }

    /// Removes buckets that are full again: they limit nobody.
    fn sweep(&mut self, now: Instant) {
        if self.swept.is_some_and(|swept| now.saturating_duration_since(swept) < SWEEP_EVERY) {
            return;
        }
        self.swept = Some(now);
        self.buckets.retain(|_, bucket| !bucket.is_full(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::CoinKey;

    #[test]
    fn the_table_is_bounded_and_the_idle_make_room() {
        let (mut strangers, start) = (Strangers::default(), Instant::now());
        let coin = CoinKey::generate().public();
        let device = |n: usize| Caller { name: format!("device-{n}").parse().unwrap(), coin };
        for n in 0..STRANGERS_MAX {
            assert!(strangers.take(Some(&device(n)), start));
        }
        assert!(!strangers.take(Some(&device(STRANGERS_MAX)), start), "there is no room");
        assert!(strangers.take(Some(&device(0)), start), "those who have a bucket go on");
        let later = start + Duration::from_secs(60);
        assert!(strangers.take(Some(&device(STRANGERS_MAX)), later));
        assert_eq!(strangers.buckets.len(), 1);
    }

    #[test]
    fn a_name_with_another_coin_and_no_name_at_all_have_buckets_of_their_own() {
        let (mut strangers, now) = (Strangers::default(), Instant::now());
        let device = || Caller { name: "device".parse().unwrap(), coin: CoinKey::generate().public() };
        let [device, other] = [device(), device()];
        let mut all = |caller| (0..1000).filter(|_| strangers.take(caller, now)).count() as f64;
        assert_eq!(all(Some(&other)), CALLS_IN_A_ROW_MAX);
        assert_eq!(all(None), CALLS_IN_A_ROW_MAX);
        assert_eq!(all(Some(&device)), CALLS_IN_A_ROW_MAX);
        assert!(!strangers.leave(&device).take(now), "what was used up stays used up");
    }
}
