//! Metrics of the whole fleet, estimated from the sums of some devices.
//!
//! Every device reports with the same probability p, so Σ s_n/p over those who report estimates the fleet's sums without
//! bias. A metric is a function of the estimated sums: a mean is a ratio of two of them. By the delta method its variance
//! is Σ (1 − p) z_n² over those who report, where z_n is the derivative of the metric in the direction of s_n/p.

use fedflip_fleet::{Direction, Display, Metrics};
use fedflip_learn::metrics::COUNT;
use fedflip_learn::{LearnError, Metric, Sums, metrics};
use fedflip_record::{Estimated, Target, TargetMode};

/// The step of numerical derivatives, as a part of a device's sums.
const STEP: f64 = 1e-3;
/// Fewer reports have no confidence limit, unless they are those of the whole fleet: so few devices hardly tell how much
/// devices differ.
const REPORTS_MIN: usize = 5;

/// The quantiles 0.95 of Student's distribution for 1 to 30 degrees of freedom …
const STUDENT: [f64; 30] = [
    6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812, 1.796, 1.782, 1.771, 1.761, 1.753,
    1.746, 1.740, 1.734, 1.729, 1.725, 1.721, 1.717, 1.714, 1.711, 1.708, 1.706, 1.703, 1.701, 1.699, 1.697,
];
/// … and from each of these numbers on.
const STUDENT_FROM: [(usize, f64); 3] = [(120, 1.658), (60, 1.671), (40, 1.684)];

/// The number of standard errors from an estimate to its one-sided limit with a confidence of 95 %. Between the numbers of
/// the tables the larger value holds.
fn errors_to_limit(reports: usize) -> f64 {
    let freedom = reports.saturating_sub(1).clamp(1, usize::MAX);
    let of_many = STUDENT_FROM.iter().find(|(from, _)| freedom >= *from).map(|(_, quantile)| *quantile);
    of_many.unwrap_or_else(|| STUDENT[freedom.min(STUDENT.len()) - 1])
}

/// The reports on one model.
#[derive(Debug, Default)]
pub(super) struct Reports {
    /// The sums of each device that evaluated the model; none are empty, and all have the same names in the same order.
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
        let (total, share, reported) = (self.total(), self.share(), self.sums.len());
        let found = metrics::evaluated(of, &total)?;
        let mut estimated =
            Estimated { devices: reported, share, se: Metrics::default(), limit: Metrics::default() };
        for metric in of {
            let name = metric.info.name.clone();
            let (Some(value), Some(se)) = (found.get(&name), self.standard_error(metric, &total)) else {
                continue;
            };
            let grows = match target.filter(|target| target.metric == name) {
                Some(target) => target.mode == TargetMode::Max,
                None => metric.info.better == Direction::Larger,
            };
            if share >= 1.0 || reported >= REPORTS_MIN {
                let margin = errors_to_limit(reported) * se;
                estimated.limit.set(name.clone(), if grows { value - margin } else { value + margin });
            }
            estimated.se.set(name, se);
        }
        Ok(Some((found, estimated)))
    }

    /// The fleet's sums, estimated without bias.
    fn total(&self) -> Sums {
        let mut total = Sums::default();
        self.sums.iter().for_each(|sums| add(&mut total, sums, 1.0 / self.probability));
        total
    }

    /// The chance of a device to be among those who reported; 1 if all devices are, whatever their coins.
    fn share(&self) -> f64 {
        match self.sums.len() >= self.devices {
            true => 1.0,
            false => self.probability * (self.heard as f64 / self.devices.max(self.heard) as f64),
        }
    }

    /// None if a single device has reported for others: nothing is known of how much devices differ.
    fn standard_error(&self, metric: &Metric, total: &Sums) -> Option<f64> {
        let (share, reported) = (self.share(), self.sums.len() as f64);
        if share >= 1.0 {
            return Some(0.0);
        }
        if reported < 2.0 {
            return None;
        }
        // One set of names for all devices: with many classes, copies would take most of the time.
        let mut moved = total.clone();
        let mut value_at = |sums: &Sums, step: f64| {
            moved.reset();
            add(&mut moved, total, 1.0);
            add(&mut moved, sums, step / self.probability);
            metric.value(&moved)
        };
        let mut squares = 0.0;
        for sums in &self.sums {
            let slope = (value_at(sums, STEP) - value_at(sums, -STEP)) / (2.0 * STEP);
            squares += slope * slope;
        }
        let variance = squares * reported / (reported - 1.0);
        let se = ((1.0 - share) * variance.max(self.variance_min(metric, total))).sqrt();
        Some(se).filter(|se| se.is_finite())
    }

    /// Devices that agree by chance do not make a share sure: its variance is at least that of as many independent samples as
    /// were reported, by the estimate of Agresti and Coull, which is above 0 also for shares of 0 and 1.
    fn variance_min(&self, metric: &Metric, total: &Sums) -> f64 {
        if metric.info.display != Display::Share {
            return 0.0;
        }
        let samples: f64 = self.sums.iter().map(|sums| sums.get(COUNT)).sum();
        let share = (metric.value(total).clamp(0.0, 1.0) * samples + 2.0) / (samples + 4.0);
        share * (1.0 - share) / (samples + 4.0)
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
            let total = reports.total();
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
        let slots = [0, 1, 3, 4, 6];
        let reports = reports(slots.into_iter(), 0.5);
        let (found, estimated) = reports.estimate(&[of("accuracy"), of("loss")], None).unwrap().unwrap();
        let (count, accuracy) = (107.0, 57.0 / 107.0);
        assert!((found.get("accuracy").unwrap() - accuracy).abs() < 1e-12);
        let squares: f64 =
            slots.iter().map(|&slot| (FLEET[slot][1] - accuracy * FLEET[slot][0]).powi(2)).sum();
        let se = (0.5 * 1.25 * squares).sqrt() / count;
        assert!((estimated.se.get("accuracy").unwrap() - se).abs() < 1e-6);
        assert!((estimated.limit.get("accuracy").unwrap() - (accuracy - 2.132 * se)).abs() < 1e-6);
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

    #[test]
    fn few_reports_and_reports_that_agree_by_chance_are_not_relied_on() {
        let accuracy = [of("accuracy")];
        let limit = |reports: &Reports| {
            let (_, estimated) = reports.estimate(&accuracy, None).unwrap().unwrap();
            (estimated.se.get("accuracy"), estimated.limit.get("accuracy"))
        };
        let (se, none) = limit(&reports(0..4, 0.5));
        assert!(se > Some(0.0) && none.is_none(), "four of eight devices");
        assert!(limit(&reports(0..5, 0.5)).1.is_some());
        assert_eq!(limit(&reports(0..8, 0.5)).0, Some(0.0), "the whole fleet reported, whatever its coins");
        let sums = |correct: f64| (0..5).map(|_| sums([10.0, correct, 1.0])).collect();
        let alike = |correct| Reports { sums: sums(correct), probability: 0.5, heard: 8, devices: 8 };
        for (correct, below) in [(10.0, 0.99), (5.0, 0.45)] {
            let (se, limit) = limit(&alike(correct));
            assert!(se > Some(0.0) && limit < Some(below), "{se:?} {limit:?}");
        }
    }

    #[test]
    fn limits_are_further_away_the_fewer_devices_report() {
        let quantiles: Vec<f64> = (2..300).map(errors_to_limit).collect();
        assert!(quantiles.windows(2).all(|pair| pair[0] >= pair[1]) && quantiles[0] == 6.314);
        assert_eq!((errors_to_limit(5), errors_to_limit(35), errors_to_limit(10_000)), (2.132, 1.697, 1.658));
    }
}
