//! The sums of a device's evaluation, as messages.

use std::collections::{BTreeMap, BTreeSet};

use fedflip_learn::metrics::{
    self, ACTUAL, CORRECT, CORRECT_AMONG_BEST, COUNT, LOSS, PREDICTED, SQUARED_ERROR, TRUE_POSITIVE,
};
use fedflip_learn::{Metric, Sums};

use super::limits::{SUMS_MAX, TRAIN_LOSS_MAX};
use super::task::OfferedTask;
use super::v1::evaluated::Sum;
use crate::reason::Reason;

/// The names of the sums that the metrics of a task need: a report has all of them, and no others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeclaredSums {
    /// In ascending order, which is the order in all reports: sums of many devices are added quickly then.
    names: Vec<String>,
}

impl DeclaredSums {
    /// The sums of a task; none of a task that only programs on devices know.
    pub fn of_task(offered: &OfferedTask) -> Self {
        let OfferedTask::BuiltIn(settings) = offered else { return Self::default() };
        let network = settings.task.network().ok().filter(|network| network.loss().row().classifies);
        let classes = network.map_or(0, |network| network.classes());
        let metrics: Vec<&Metric> =
            settings.task.metrics().iter().filter_map(|name| metrics::metric(name)).collect();
        Self::of(&metrics, classes)
    }

    fn of(metrics: &[&Metric], classes: usize) -> Self {
        // A loss that is not finite tells that the model has diverged, whatever the metrics.
        let mut names: BTreeSet<String> = [COUNT, LOSS].map(str::to_owned).into();
        for name in metrics.iter().flat_map(|metric| metric.sums()) {
            match name.ends_with('/') {
                true => names.extend((0..classes).map(|class| format!("{name}{class}"))),
                false => drop(names.insert(name.to_owned())),
            }
        }
        Self { names: names.into_iter().collect() }
    }

    /// Whether one report can hold the sums of all metrics.
    pub fn fit_a_message(&self) -> bool {
        self.names.len() <= SUMS_MAX
    }

    /// The message of sums, without those that nobody needs; none if a server would refuse it, as it does if the model has
    /// diverged.
    pub fn message(&self, sums: &Sums) -> Option<Vec<Sum>> {
        let known: BTreeMap<&str, f64> = sums.iter().collect();
        let sum =
            |name: &String| Sum { name: name.clone(), value: known.get(&name[..]).copied().unwrap_or(0.0) };
        let message: Vec<Sum> = match known.is_empty() {
            true => Vec::new(),
            false => self.names.iter().map(sum).collect(),
        };
        self.checked(&message, f64::INFINITY).is_ok().then_some(message)
    }

    /// The sums of a message, if they can be those of a device with this many samples. No message stands for no samples.
    pub fn checked(&self, message: &[Sum], samples: f64) -> Result<Sums, Reason> {
        let mut sums = Sums::default();
        if message.is_empty() {
            return Ok(sums);
        }
        if message.len() != self.names.len() || !self.fit_a_message() {
            return Err(Reason::BadMessage);
        }
        let mut sorted: Vec<&Sum> = message.iter().collect();
        sorted.sort_by(|one, other| one.name.cmp(&other.name));
        for (Sum { name, value }, declared) in sorted.into_iter().zip(&self.names) {
            if name != declared || !value.is_finite() {
                return Err(Reason::BadMessage);
            }
            sums.add(name, *value);
        }
        let count = sums.get(COUNT);
        let is_possible = |(name, value): (&str, f64)| match name {
            _ if counts_samples(name) => (0.0..=count).contains(&value) && value.fract() == 0.0,
            SQUARED_ERROR => (0.0..=count * TRAIN_LOSS_MAX).contains(&value),
            _ => value.abs() <= count * TRAIN_LOSS_MAX,
        };
        let is_sensible =
            (1.0..=samples).contains(&count) && sums.iter().all(is_possible) && self.classes_agree(&sums);
        if is_sensible { Ok(sums) } else { Err(Reason::BadMessage) }
    }

    /// Whether every sample is of one class and classified as one, as far as the sums say.
    fn classes_agree(&self, sums: &Sums) -> bool {
        // The names are sorted, so the classes of all prefixes come in the same order.
        let of_classes = |prefix: &str| -> Vec<f64> {
            sums.iter().filter(|(name, _)| name.starts_with(prefix)).map(|(_, value)| value).collect()
        };
        let [true_positive, predicted, actual] = [TRUE_POSITIVE, PREDICTED, ACTUAL].map(of_classes);
        let total = |counts: &[f64]| counts.iter().sum::<f64>();
        let declares = |name: &str| self.names.binary_search_by(|known| known.as_str().cmp(name)).is_ok();
        let pairs = || true_positive.iter().zip(predicted.iter().zip(&actual));
        let count = sums.get(COUNT);
        let is_below = |name: &str, other: &str| {
            !declares(name) || !declares(other) || sums.get(name) <= sums.get(other)
        };
        let are_classes_whole = actual.is_empty()
            || (total(&actual) == count
                && total(&predicted) == count
                && (!declares(CORRECT) || total(&true_positive) == sums.get(CORRECT)));
        are_classes_whole
            && pairs().all(|(right, (predicted, actual))| right <= predicted && right <= actual)
            && is_below(CORRECT, CORRECT_AMONG_BEST)
    }
}

/// Whether a sum counts some of the samples.
fn counts_samples(name: &str) -> bool {
    [COUNT, CORRECT, CORRECT_AMONG_BEST].contains(&name)
        || [TRUE_POSITIVE, PREDICTED, ACTUAL].iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(names: &[&str]) -> DeclaredSums {
        let metrics: Vec<&Metric> = names.iter().filter_map(|name| metrics::metric(name)).collect();
        DeclaredSums::of(&metrics, 2)
    }

    fn check(of: &[&str], sums: &[(&str, f64)]) -> Result<Sums, Reason> {
        let sums: Vec<Sum> = sums.iter().map(|&(name, value)| Sum { name: name.to_owned(), value }).collect();
        declared(of).checked(&sums, 10.0)
    }

    #[test]
    fn sums_that_no_device_can_have_are_refused() {
        let accuracy = ["accuracy"];
        let taken = check(&accuracy, &[("loss", -3.5), ("count", 10.0), ("correct", 4.0)]);
        assert_eq!(taken.unwrap().mean("loss"), -0.35);
        assert!(check(&accuracy, &[]).is_ok());
        for bad in [
            &[("count", f64::NAN), ("loss", 0.0), ("correct", 0.0)][..],
            &[("count", 1.0), ("loss", f64::INFINITY), ("correct", 0.0)],
            &[("count", 1.0), ("loss", 1e10), ("correct", 0.0)],
            &[("count", -1.0), ("loss", 0.0), ("correct", 0.0)],
            &[("count", 0.0), ("loss", 0.0), ("correct", 0.0)],
            &[("count", 11.0), ("loss", 0.0), ("correct", 0.0)],
            &[("count", 1.5), ("loss", 0.0), ("correct", 0.0)],
            &[("count", 2.0), ("loss", 0.0), ("correct", 3.0)],
            &[("count", 2.0), ("loss", 0.0), ("correct", 0.5)],
            &[("count", 2.0), ("loss", 0.0)],
            &[("count", 2.0), ("loss", 0.0), ("correct", 1.0), ("actual/0", 2.0)],
            &[("count", 1.0), ("loss", 0.0), ("loss", 0.0)],
            &[("count", 1.0), ("loss", 0.0), ("other", 0.0)],
        ] {
            assert_eq!(check(&accuracy, bad).unwrap_err(), Reason::BadMessage, "{bad:?}");
        }
        assert!(check(&["rmse"], &[("count", 1.0), ("loss", 1.0), ("squared-error", -1.0)]).is_err());
    }

    #[test]
    fn counts_of_classes_must_add_up() {
        let classes = |[right, predicted, actual]: [[f64; 2]; 3]| {
            let named =
                ["true-positive/", "predicted/", "actual/"].into_iter().zip([right, predicted, actual]);
            let of_prefix = |(prefix, counts): (&str, [f64; 2])| {
                [0, 1].map(|class| Sum { name: format!("{prefix}{class}"), value: counts[class] })
            };
            let mut sums: Vec<Sum> = named.flat_map(of_prefix).collect();
            sums.extend(
                [("count", 5.0), ("loss", 1.0), ("correct", 3.0)]
                    .map(|(name, value)| Sum { name: name.to_owned(), value }),
            );
            declared(&["accuracy", "f1"]).checked(&sums, 10.0).is_ok()
        };
        assert!(classes([[2.0, 1.0], [3.0, 2.0], [3.0, 2.0]]));
        for bad in [
            // A class that occurs more often than there are samples, one that is predicted too seldom, more hits than samples
            // of the class or predictions of it, and hits that are not the correct ones.
            [[2.0, 1.0], [3.0, 2.0], [3.0, 3.0]],
            [[2.0, 1.0], [2.0, 2.0], [3.0, 2.0]],
            [[3.0, 0.0], [4.0, 1.0], [2.0, 3.0]],
            [[3.0, 0.0], [2.0, 3.0], [4.0, 1.0]],
            [[2.0, 2.0], [3.0, 2.0], [3.0, 2.0]],
        ] {
            assert!(!classes(bad), "{bad:?}");
        }
    }

    #[test]
    fn only_sums_that_metrics_need_are_sent() {
        let mut sums = Sums::default();
        for (name, value) in
            [("count", 4.0), ("loss", 2.0), ("correct", 3.0), ("actual/0", 4.0), ("more", 1.0)]
        {
            sums.add(name, value);
        }
        let names = |of: &[&str]| -> Vec<String> {
            declared(of).message(&sums).unwrap().into_iter().map(|sum| sum.name).collect()
        };
        assert_eq!(names(&["loss"]), ["count", "loss"]);
        assert_eq!(names(&["accuracy"]), ["correct", "count", "loss"]);
        assert_eq!(declared(&["f1"]).names.len(), 8);
        assert_eq!(declared(&["f1"]).message(&Sums::default()), Some(Vec::new()), "nothing was evaluated");
    }

    #[test]
    fn a_message_has_room_for_a_thousand_classes() {
        let f1 = [metrics::metric("f1").unwrap()];
        assert!(DeclaredSums::of(&f1, 1000).fit_a_message() && !DeclaredSums::of(&f1, 1100).fit_a_message());
    }
}
