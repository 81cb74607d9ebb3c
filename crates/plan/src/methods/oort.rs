//! Oort of Lai, Zhu, Madhyastha and Chowdhury (2021): devices whose loss is large and that are not too slow.
//!
//! A device that has reported has a utility: its samples times its loss, and a bonus that grows while the device is not
//! seen. Devices slower than the preferred time T lose utility. One part of a cohort is drawn by utility among those near
//! the best, and the other part explores devices that have never reported, by speed. A pacer raises T when the cohorts
//! have less utility than before. A third more devices are invited than count.

use fedflip_fleet::{Fleet, Purpose, StreamKey};
use rand::RngExt;

use super::fedavg;
use crate::error::PlanError;
use crate::method::Method;
use crate::parameter::CohortSize;
use crate::sampler::{Draw, Observed, Report, Sampler};
use crate::schedule::Schedule;
use crate::weighted_draw::without_replacement;

/// The part of a cohort that explores in the first round, its factor from round to round, and the least part.
const EXPLORING: [f64; 3] = [0.9, 0.98, 0.2];
/// The quantile of utilities above which they are cut.
const CLIPPED_AT: f64 = 0.95;
/// Devices above this part of the utility of the last place may be drawn.
const CUT_OFF: f64 = 0.95;
/// α: the power of T over a device's time where the device is slower.
const PENALTY: i32 = 2;
/// The rounds that the pacer adds up.
const WINDOW: usize = 20;
/// T is a percentile of the devices' times: the first one, and the pacer's step.
const PERCENTILES: [f64; 2] = [30.0, 5.0];
/// The devices that are invited for each one that counts.
const INVITED: f64 = 1.3;
/// No time is shorter, and no spread of utilities narrower.
const LEAST_SECS: f64 = 1e-9;
const LEAST_RANGE: f64 = 1e-4;

/// K devices by utility and speed.
pub(crate) struct Oort(pub CohortSize);

impl Method for Oort {
    /// As if all devices were equally useful.
    fn rule(&self, fleet: &Fleet) -> Option<Result<Vec<f64>, PlanError>> {
        Some(fedavg::inclusion(fleet, "oort", self.0))
    }

    fn sampler<'s>(&self, _: &'s Schedule, fleet: &'s Fleet) -> Box<dyn Sampler + 's> {
        Box::new(ByUtility::new(fleet, self.0.get()))
    }

    fn flips_coins(&self) -> bool {
        false
    }

    fn depends_on_reports(&self) -> bool {
        true
    }

    fn is_unbiased(&self) -> bool {
        false
    }
}

/// The last report of a device.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// Its samples times its loss.
    utility: f64,
    round: u64,
    alone_secs: f64,
}

/// Draws by utility, and explores by speed.
struct ByUtility<'s> {
    fleet: &'s Fleet,
    size: usize,
    seen: Vec<Option<Seen>>,
    /// The utility of each round so far.
    collected: Vec<f64>,
    /// T, as a percentile of the devices' times.
    percentile: f64,
}

impl<'s> ByUtility<'s> {
    fn new(fleet: &'s Fleet, size: usize) -> Self {
        let (seen, collected, percentile) = (vec![None; fleet.len()], Vec::new(), PERCENTILES[0]);
        Self { fleet, size: size.min(fleet.len()), seen, collected, percentile }
    }

    /// The time that a device takes: as seen, or else as the fleet says.
    fn secs(&self, device: usize, observed: &Observed<'_>) -> f64 {
        let seen = self.seen[device].map(|seen| seen.alone_secs);
        seen.or_else(|| observed.alone_secs.get(device).copied()).unwrap_or(1.0).max(LEAST_SECS)
    }

    /// T: the time that a cohort should not exceed.
    fn preferred_secs(&self, observed: &Observed<'_>) -> f64 {
        if self.percentile >= 100.0 {
            return f64::INFINITY;
        }
        let mut secs: Vec<f64> = (0..self.seen.len()).map(|device| self.secs(device, observed)).collect();
        secs.sort_by(f64::total_cmp);
        secs[quantile(secs.len(), self.percentile / 100.0)]
    }

    /// The utility of every device that has reported, in ascending order of devices.
    fn utilities(&self, round: u64, observed: &Observed<'_>) -> Vec<(usize, f64)> {
        let seen = || self.seen.iter().enumerate().filter_map(|(device, seen)| Some((device, (*seen)?)));
        let mut sorted: Vec<f64> = seen().map(|(_, seen)| seen.utility).collect();
        sorted.sort_by(f64::total_cmp);
        let (Some(least), Some(most)) = (sorted.first().map(|least| 0.999 * least), sorted.last()) else {
            return Vec::new();
        };
        let (range, clip) = ((most - least).max(LEAST_RANGE), sorted[quantile(sorted.len(), CLIPPED_AT)]);
        let preferred_secs = self.preferred_secs(observed);
        let score = |(device, seen): (usize, Seen)| {
            let uncertainty = (0.1 * (round as f64).ln() / seen.round as f64).sqrt();
            let utility = (seen.utility.min(clip) - least) / range + uncertainty;
            let secs = self.secs(device, observed);
            let slow = if secs > preferred_secs { (preferred_secs / secs).powi(PENALTY) } else { 1.0 };
            (device, utility * slow)
        };
        seen().map(score).collect()
    }

    /// The devices that are invited, in ascending order.
    fn invited(&self, round: u64, observed: &Observed<'_>, mut uniform: impl FnMut() -> f64) -> Vec<usize> {
        let places = ((INVITED * self.size as f64).ceil() as usize).min(self.seen.len());
        let mut utilities = self.utilities(round, observed);
        let unseen = self.seen.len() - utilities.len();
        let exploring = (exploring(round) * places as f64) as usize;
        // Where one of the groups has too few devices, the other fills the cohort.
        let by_utility = (places - exploring.min(unseen)).min(utilities.len());
        utilities.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let cut_off = CUT_OFF * by_utility.checked_sub(1).map_or(0.0, |last| utilities[last].1);
        let near_the_best = utilities.into_iter().filter(|(_, utility)| *utility >= cut_off);
        let mut invited = without_replacement(near_the_best, by_utility, &mut uniform);
        let never_seen = (0..self.seen.len()).filter(|&device| self.seen[device].is_none());
        let by_speed = never_seen.map(|device| (device, 1.0 / self.secs(device, observed)));
        invited.extend(without_replacement(by_speed, places - by_utility, uniform));
        invited.sort_unstable();
        invited
    }
}

/// The part of a cohort that explores.
fn exploring(round: u64) -> f64 {
    let [first, factor, least] = EXPLORING;
    // A thousand rounds are enough to reach the least.
    (first * factor.powi(round.saturating_sub(1).min(1000) as i32)).max(least)
}

/// The place of a quantile in a sorted list, which is not empty.
fn quantile(len: usize, part: f64) -> usize {
    ((len as f64 * part) as usize).min(len.saturating_sub(1))
}

impl Sampler for ByUtility<'_> {
    fn draw(&mut self, round: u64, seed: u64, observed: &Observed<'_>, draws: &mut Vec<Draw>) {
        let mut stream = StreamKey { seed, purpose: Purpose::Cohort, round }.shared();
        let weight = 1.0 / self.size as f64;
        draws.clear();
        let invited = self.invited(round, observed, || stream.random());
        draws.extend(invited.into_iter().map(|device| Draw { device, weight }));
    }

    fn counted(&self) -> usize {
        self.size
    }

    fn observes(&self) -> bool {
        true
    }

    fn observe(&mut self, round: u64, reports: &[Report]) {
        let mut brought = 0.0;
        for &Report { device, train_loss, alone_secs } in reports {
            // Records may name a device that the fleet does not have.
            let Some(seen) = self.seen.get_mut(device) else { continue };
            let utility = self.fleet.samples()[device] * train_loss;
            brought += utility;
            *seen = Some(Seen { utility, round: round.max(1), alone_secs });
        }
        self.collected.push(brought);
        let rounds = self.collected.len();
        if rounds >= 2 * WINDOW && rounds.is_multiple_of(WINDOW) {
            let sum = |from: usize| self.collected[from..from + WINDOW].iter().sum::<f64>();
            if sum(rounds - 2 * WINDOW) > sum(rounds - WINDOW) {
                self.percentile = (self.percentile + PERCENTILES[1]).min(100.0);
            }
        }
    }

    fn is_unbiased(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
