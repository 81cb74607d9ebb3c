//! Metrics of the whole fleet, estimated from the sums of some devices.
//!
//! Every device reports with the same probability p, so Σ s_n/p over those who report estimates the fleet's sums without
//! bias. A metric is a function of the estimated sums: a mean is a ratio of two of them. By the delta method its variance
//! is Σ (1 − p) z_n² over those who report, where z_n is the derivative of the metric in the direction of s_n/p.

use fedflip_fleet::{Direction, Metrics};
use fedflip_learn::{LearnError, Metric, Sums, metrics};
use fedflip_record::{Estimated, Target, TargetMode};

/// The step of numerical derivatives, as a part of a device's sums.
const STEP: f64 = 1e-3;

/// The reports on one model.
#[derive(Debug, Default)]
pub(super) struct Reports {
    /// The sums of each device that evaluated the model; none are empty.
    pub sums: Vec<Sums>,
    /// The probability of the evaluation coin.
    pub probability: f64,
    /// The number of devices that said what came of their coins.
    pub heard: usize,
    /// The number of devices of the fleet.
    pub devices: usize,
}

impl Reports {
    /// The metrics, and how sure they are; none if nobody has reported. A device that was not heard counts as a coin that
    /// said no, so that errors become larger.
    pub(super) fn estimate(
        &self,
        of: &[Metric],
        target: Option<&Target>,
    ) -> Result<Option<(Metrics, Estimated)>, LearnError> {
        if self.sums.is_empty() {
            return Ok(None);
        }
        let share = self.probability * (self.heard as f64 / self.devices.max(self.heard) as f64);
        let scale = 1.0 / self.probability;
        let mut total = Sums::default();
        self.sums.iter().for_each(|sums| add(&mut total, sums, scale));
        let found = metrics::evaluated(of, &total)?;
        let mut estimated =
            Estimated { devices: self.sums.len(), share, se: Metrics::default(), limit: Metrics::default() };
        for metric in of {
            let name = metric.info.name.clone();
            let (Some(value), Some(se)) = (found.get(&name), self.standard_error(metric, &total, share))
            else {
                continue;
            };
            let grows = match target.filter(|target| target.metric == name) {
                Some(target) => target.mode == TargetMode::Max,
                None => metric.info.better == Direction::Larger,
            };
            let margin = Estimated::ERRORS_TO_LIMIT * se;
            estimated.limit.set(name.clone(), if grows { value - margin } else { value + margin });
            estimated.se.set(name, se);
        }
        Ok(Some((found, estimated)))
    }

    /// None if a single device has reported for others: nothing is known of how much devices differ.
    fn standard_error(&self, metric: &Metric, total: &Sums, share: f64) -> Option<f64> {
        if share >= 1.0 {
            return Some(0.0);
        }
        let reported = self.sums.len() as f64;
        if reported < 2.0 {
            return None;
        }
        let slope = |sums: &Sums| {
            let [ahead, behind] = [STEP, -STEP].map(|step| {
                let mut moved = total.clone();
                add(&mut moved, sums, step / self.probability);
                metric.value(&moved)
            });
            (ahead - behind) / (2.0 * STEP)
        };
        let squares: f64 = self.sums.iter().map(|sums| slope(sums).powi(2)).sum();
        Some(((1.0 - share) * squares * reported / (reported - 1.0)).sqrt()).filter(|se| se.is_finite())
    }
}

fn add(total: &mut Sums, sums: &Sums, factor: f64) {
    sums.iter().for_each(|(name, value)| total.add(name, factor * value));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Count, correct and loss of each device.
    const FLEET: [[f64; 3]; 8] = [
        [10.0, 4.0, 15.0],
        [20.0, 15.0, 11.0],
        [5.0, 5.0, 1.0],
        [40.0, 22.0, 33.0],
        [12.0, 6.0, 14.0],
        [30.0, 20.0, 21.0],
        [25.0, 10.0, 30.0],
        [18.0, 12.0, 10.0],
    ];

    fn sums([count, correct, loss]: [f64; 3]) -> Sums {
        let mut sums = Sums::default();
        for (name, value) in [("count", count), ("correct", correct), ("loss", loss)] {
            sums.add(name, value);
        }
        sums
    }

    fn reports(slots: impl Iterator<Item = usize>, probability: f64) -> Reports {
        let sums = slots.map(|slot| sums(FLEET[slot])).collect();
        Reports { sums, probability, heard: FLEET.len(), devices: FLEET.len() }
    }

    fn of(name: &str) -> Metric {
        metrics::metric(name).unwrap().clone()
    }

    /// Over all 2^8 outcomes of the coins: the estimated sums are right on average, and the estimated variance of a mean is
    /// nearly that of its estimates.
    #[test]
    fn sums_are_estimated_without_bias() {
        let (p, names) = (0.6_f64, ["count", "correct", "loss"]);
        let (mut sums_on_average, mut weights, mut mean, mut square, mut variance) =
            ([0.0; 3], 0.0, 0.0, 0.0, 0.0);
        for outcome in 0..1_u32 << FLEET.len() {
            let chance = p.powi(outcome.count_ones() as i32)
                * (1.0 - p).powi((FLEET.len() as u32 - outcome.count_ones()) as i32);
            let reports = reports((0..FLEET.len()).filter(|slot| outcome >> slot & 1 == 1), p);
            let mut total = Sums::default();
            reports.sums.iter().for_each(|sums| add(&mut total, sums, 1.0 / p));
            for (sum, name) in sums_on_average.iter_mut().zip(names) {
                *sum += chance * total.get(name);
            }
            let Some((found, estimated)) = reports.estimate(&[of("accuracy")], None).unwrap() else {
                continue;
            };
            let Some(se) = estimated.se.get("accuracy") else { continue };
            let accuracy = found.get("accuracy").unwrap();
            weights += chance;
            mean += chance * accuracy;
            square += chance * accuracy * accuracy;
            variance += chance * se * se;
        }
        for (at, found) in sums_on_average.into_iter().enumerate() {
            let truth: f64 = FLEET.iter().map(|device| device[at]).sum();
            assert!((found - truth).abs() < 1e-9, "{found} instead of {truth}");
        }
        let (mean, square, variance) = (mean / weights, square / weights, variance / weights);
        let truth = FLEET.iter().map(|device| device[1]).sum::<f64>() / 160.0;
        assert!((mean - truth).abs() < 0.01, "a ratio is biased a little: {mean} and {truth}");
        let ratio = variance / (square - mean * mean);
        assert!((0.7..1.4).contains(&ratio), "{ratio}");
    }

    #[test]
    fn a_mean_has_the_error_of_the_textbook() {
        let reports = reports([0, 1, 3].into_iter(), 0.5);
        let (found, estimated) = reports.estimate(&[of("accuracy"), of("loss")], None).unwrap().unwrap();
        let (count, accuracy) = (70.0, 41.0 / 70.0);
        assert!((found.get("accuracy").unwrap() - accuracy).abs() < 1e-12);
        let squares: f64 =
            [0, 1, 3].iter().map(|&slot| (FLEET[slot][1] - accuracy * FLEET[slot][0]).powi(2)).sum();
        let se = (0.5 * 1.5 * squares).sqrt() / count;
        assert!((estimated.se.get("accuracy").unwrap() - se).abs() < 1e-6);
        assert!((estimated.limit.get("accuracy").unwrap() - (accuracy - 1.645 * se)).abs() < 1e-6);
        assert!(estimated.limit.get("loss") > found.get("loss"), "the safe side of a loss is above");
        let upwards = Target { metric: "loss".to_owned(), at: 1.0, mode: TargetMode::Max };
        let (found, estimated) = reports.estimate(&[of("loss")], Some(&upwards)).unwrap().unwrap();
        assert!(estimated.limit.get("loss") < found.get("loss"), "unless the target is to be exceeded");
    }

    #[test]
    fn devices_that_are_not_heard_make_an_estimate_less_sure() {
        let all = reports(0..8, 1.0);
        let accuracy = [of("accuracy")];
        let (found, estimated) = all.estimate(&accuracy, None).unwrap().unwrap();
        assert_eq!((estimated.se.get("accuracy"), &estimated.limit), (Some(0.0), &found));
        let some = Reports { heard: 6, ..reports(0..6, 1.0) };
        let (_, estimated) = some.estimate(&accuracy, None).unwrap().unwrap();
        assert!(estimated.share == 0.75 && estimated.se.get("accuracy") > Some(0.0));
        let one = Reports { heard: 1, ..reports(0..1, 1.0) };
        let (found, estimated) = one.estimate(&accuracy, None).unwrap().unwrap();
        assert!(found.get("accuracy").is_some() && estimated.limit.is_empty(), "nothing to rely on");
        assert!(reports(0..0, 1.0).estimate(&accuracy, None).unwrap().is_none());
    }
}
