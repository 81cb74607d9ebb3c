//! How many calls a caller may make, before anything else is looked at.
//!
//! A device of the fleet has its bucket with it. All others have one here, by name and coin: those who have not
//! enrolled, those who find the fleet full, and whoever shows another coin for a name, who must not be able to
//! use up the calls of the device that has it.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::bucket::{Bucket, Rate};
use crate::coin::KEY_BYTES;
use crate::door::Caller;
use crate::wire::limits::{CALLS_IN_A_ROW_MAX, CALLS_PER_SEC_MAX};

/// The calls of one device.
pub(crate) const CALLS: Rate = Rate { in_a_row: CALLS_IN_A_ROW_MAX, per_sec: CALLS_PER_SEC_MAX };

/// Callers at a time that are not of the fleet and have called in the last seconds: about 3 MB. With certificates
/// there is one for each that the authority has made; without, on this machine alone, anybody can make up names.
const STRANGERS_MAX: usize = 16_384;
/// How often a full table is looked through for callers that are gone.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// Name and coin; callers without a name share the empty one.
type Key = (String, [u8; KEY_BYTES]);

fn key(caller: &Caller) -> Key {
    (caller.name.to_string(), caller.coin.to_bytes())
}

/// The buckets of callers that are not of the fleet.
#[derive(Default)]
pub(crate) struct Strangers {
    buckets: BTreeMap<Key, Bucket>,
    swept: Option<Instant>,
}

impl Strangers {
    /// Whether a caller may make one more call; if so it counts. Callers without a name share a bucket.
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

    /// What a caller has left when it gets a place in the fleet.
    pub(crate) fn leave(&mut self, caller: &Caller) -> Bucket {
        self.buckets.remove(&key(caller)).unwrap_or_else(|| Bucket::full(CALLS))
    }

    /// A bucket that is full again is as good as none.
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
