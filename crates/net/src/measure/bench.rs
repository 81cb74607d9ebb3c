//! Benches devices that take part and do not deliver: they are not asked for a while, and for longer each time.
//!
//! A device that does not attend costs the others nothing. A device that takes part and does not deliver makes the round
//! last until its deadline. So failures to deliver are counted apart from absence, and never raise the probability of a
//! device's coin.

use serde::{Deserialize, Serialize};

/// Failures after which a device is benched.
const FAILURES_MAX: f64 = 3.0;
/// A delivery makes up for this part of a failure, so a device that fails every third time is benched, too.
const FORGIVEN: f64 = 0.25;
/// The first pause, in lengths of the round that the device spoilt; each later pause is twice as long.
const FIRST_PAUSE: f64 = 10.0;
/// No pause is shorter: a round may last milliseconds.
const PAUSE_SECS_MIN: f64 = 10.0;
/// No pause is longer: a device that was repaired is back within a day.
const PAUSE_SECS_MAX: f64 = 86_400.0;

/// The failures of a device, and its time on the bench.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Conduct {
    /// Failures to deliver, minus the parts that deliveries make up for.
    failures: f64,
    /// How often the device was benched since it last delivered reliably.
    times: u32,
    /// The length of the longest round that the device spoilt since it was benched last.
    spoilt_secs: f64,
    /// The device failed since the last review: only then is it benched, and not for old failures.
    failed_lately: bool,
    /// Until then, on the run's clock, the device is not asked.
    until_secs: Option<f64>,
}

impl Conduct {
    pub(super) fn delivered(&mut self) {
        self.failures = (self.failures - FORGIVEN).max(0.0);
        self.failed_lately = false;
        if self.failures <= 0.0 {
            (self.times, self.spoilt_secs) = (0, 0.0);
        }
    }

    /// Notes that the others waited for this long and the device delivered nothing.
    pub(super) fn failed(&mut self, waited_secs: f64) {
        self.failures = (self.failures + 1.0).min(FAILURES_MAX);
        self.failed_lately = true;
        if waited_secs.is_finite() {
            self.spoilt_secs = self.spoilt_secs.max(waited_secs);
        }
    }

    /// The time that the others lost by a device that is due for the bench: the worst is benched first. None for all others.
    pub(super) fn badness(&self) -> Option<f64> {
        let is_due = self.failures >= FAILURES_MAX && self.failed_lately && self.until_secs.is_none();
        is_due.then_some(self.spoilt_secs)
    }

    pub(super) fn is_benched(&self) -> bool {
        self.until_secs.is_some()
    }

    /// Benches the device. Returns the length of its pause.
    pub(super) fn sit_out(&mut self, now_secs: f64) -> f64 {
        let pause_secs =
            (FIRST_PAUSE * self.spoilt_secs).max(PAUSE_SECS_MIN) * 2_f64.powi(self.times.min(30) as i32);
        let pause_secs = pause_secs.min(PAUSE_SECS_MAX);
        self.until_secs = Some(now_secs + pause_secs);
        (self.spoilt_secs, self.failed_lately) = (0.0, false);
        self.times = self.times.saturating_add(1);
        // The first failure after its return benches the device again.
        self.failures = FAILURES_MAX - 1.0;
        pause_secs
    }

    /// Ends the pause at once. Returns whether there was one.
    pub(super) fn recall(&mut self) -> bool {
        self.until_secs.take().is_some()
    }

    /// Ends a pause whose time is over. Returns whether there was one.
    pub(super) fn returns(&mut self, now_secs: f64) -> bool {
        let over = self.until_secs.is_some_and(|until_secs| until_secs <= now_secs);
        if over {
            self.until_secs = None;
        }
        over
    }
}

/// The result of a review.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BenchChange {
    /// Slots, with the length of the pause in seconds.
    pub benched: Vec<(usize, f64)>,
    /// Slots whose pause is over.
    pub returned: Vec<usize>,
    /// Slots that are due for the bench beyond half of the fleet: then the deadline is at fault rather than the devices.
    pub spared: Vec<usize>,
}

/// Reviews all devices between two rounds. At most half of the fleet is benched at a time.
pub(super) fn review<'a>(conducts: impl Iterator<Item = &'a mut Conduct>, now_secs: f64) -> BenchChange {
    let mut conducts: Vec<&mut Conduct> = conducts.collect();
    let mut change = BenchChange::default();
    for (slot, conduct) in conducts.iter_mut().enumerate() {
        if conduct.returns(now_secs) {
            change.returned.push(slot);
        }
    }
    let mut due: Vec<(f64, usize)> = conducts
        .iter()
        .enumerate()
        .filter_map(|(slot, conduct)| conduct.badness().map(|badness| (badness, slot)))
        .collect();
    due.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let benched = conducts.iter().filter(|conduct| conduct.is_benched()).count();
    let room = (conducts.len() / 2).saturating_sub(benched);
    for (place, (_, slot)) in due.into_iter().enumerate() {
        if place < room {
            change.benched.push((slot, conducts[slot].sit_out(now_secs)));
        } else {
            change.spared.push(slot);
        }
    }
    conducts.iter_mut().for_each(|conduct| conduct.failed_lately = false);
    change.benched.sort_by_key(|(slot, _)| *slot);
    change.spared.sort_unstable();
    change
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fleet(devices: usize) -> Vec<Conduct> {
        vec![Conduct::default(); devices]
    }

    #[test]
    fn three_failures_bench_a_device_and_pauses_grow() {
        let mut fleet = fleet(4);
        let (mut now_secs, mut pauses) = (0.0, Vec::new());
        for round in 0..12 {
            fleet[1].failed(2.0);
            fleet[0].delivered();
            fleet[2].delivered();
            let change = review(fleet.iter_mut(), now_secs);
            if round < 2 {
                assert_eq!(change, BenchChange::default());
                continue;
            }
            let [(1, pause_secs)] = change.benched[..] else { panic!("{change:?}") };
            pauses.push(pause_secs);
            assert!(review(fleet.iter_mut(), now_secs + 0.9 * pause_secs).returned.is_empty());
            now_secs += pause_secs;
            assert_eq!(review(fleet.iter_mut(), now_secs).returned, [1]);
        }
        assert_eq!(pauses[..4], [20.0, 40.0, 80.0, 160.0]);
        assert!(pauses.iter().all(|secs| *secs <= PAUSE_SECS_MAX));
    }

    #[test]
    fn a_device_that_delivers_now_and_then_is_benched_too_and_one_that_seldom_fails_is_not() {
        let benched_after = |fails: fn(u32) -> bool| {
            let mut fleet = fleet(2);
            (0..1000).find(|&round| {
                if fails(round) {
                    fleet[0].failed(1.0);
                } else {
                    fleet[0].delivered();
                }
                !review(fleet.iter_mut(), 0.0).benched.is_empty()
            })
        };
        assert_eq!(benched_after(|round| round % 2 == 0), Some(6));
        assert_eq!(benched_after(|round| round % 3 == 0), Some(12));
        assert_eq!(benched_after(|round| round % 5 == 0), None);
    }

    #[test]
    fn deliveries_are_the_way_back() {
        let mut fleet = fleet(2);
        (0..3).for_each(|_| fleet[0].failed(1.0));
        assert_eq!(review(fleet.iter_mut(), 0.0).benched, [(0, 10.0)]);
        assert_eq!(review(fleet.iter_mut(), 10.0).returned, [0]);
        (0..8).for_each(|_| fleet[0].delivered());
        (0..3).for_each(|_| fleet[0].failed(1.0));
        assert_eq!(review(fleet.iter_mut(), 20.0).benched, [(0, 10.0)], "as if for the first time");
    }

    #[test]
    fn the_longest_wait_decides_and_what_is_long_past_does_not() {
        let mut fleet = fleet(4);
        [3600.0, 3600.0, 0.0].into_iter().for_each(|waited_secs| fleet[0].failed(waited_secs));
        assert_eq!(review(fleet.iter_mut(), 0.0).benched, [(0, 36_000.0)]);
        // A common outage: two are benched, and the third delivers again when there is room.
        let mut fleet = vec![Conduct::default(); 4];
        (0..20).for_each(|_| fleet[..3].iter_mut().for_each(|conduct| conduct.failed(1.0)));
        assert_eq!(review(fleet.iter_mut(), 0.0).spared, [2]);
        fleet[2].delivered();
        assert_eq!(review(fleet.iter_mut(), 1e6).benched, []);
    }

    #[test]
    fn half_of_the_fleet_stays_whatever_happens() {
        for devices in 1..6 {
            let mut fleet = fleet(devices);
            for now_secs in 0..20 {
                fleet.iter_mut().for_each(|conduct| conduct.failed(1e6));
                let change = review(fleet.iter_mut(), f64::from(now_secs));
                let benched = fleet.iter().filter(|conduct| conduct.is_benched()).count();
                assert!(benched <= devices / 2, "{benched} of {devices}");
                assert_eq!(now_secs >= 2, !change.spared.is_empty());
            }
        }
    }
}
