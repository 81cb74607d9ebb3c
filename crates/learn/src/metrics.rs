//! Metrics: named functions of sums over the test samples.
//!
//! An evaluation adds up sums that do not depend on how the test samples were divided among workers. A metric is a
//! function of these sums. The table [`METRICS`] is the only place that knows the built-in metrics; a learner may declare
//! metrics of its own beside them.

use std::borrow::Cow;
use std::collections::BTreeMap;

pub use fedflip_fleet::{Direction, Display};
use fedflip_fleet::{MetricInfo, Metrics};

use crate::error::LearnError;

/// The sum that counts test samples; means are divided by it.
pub const COUNT: &str = "count";
/// The sum of losses. If it is NaN or infinite, the model has diverged.
pub const LOSS: &str = "loss";
/// The sum that counts correctly classified samples.
pub const CORRECT: &str = "correct";
/// The sum that counts samples whose class is among the [`BEST`] largest scores. It is added up where a metric is its mean.
pub const CORRECT_AMONG_BEST: &str = "correct-5";
/// How many classes count as the best.
pub const BEST: usize = 5;
/// The prefix of sums that count the samples of a class which are classified correctly: `true-positive/3`.
pub const TRUE_POSITIVE: &str = "true-positive/";
/// The prefix of sums that count the samples which are classified as a class.
pub const PREDICTED: &str = "predicted/";
/// The prefix of sums that count the samples of a class.
pub const ACTUAL: &str = "actual/";
/// The sum of squared errors of a regression.
pub const SQUARED_ERROR: &str = "squared-error";

/// Additive sums by name, in the order in which the names came.
///
/// Sums that are [reset](Sums::reset) keep their names, so an evaluation that uses them again does not allocate.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    named: Vec<(Cow<'static, str>, f64)>,
    /// The place behind the last addition: names usually come in the same order again.
    next: usize,
}

impl Sums {
    /// Adds a value to the sum of this name. A new name begins at 0.
    pub fn add(&mut self, name: &str, value: f64) {
        let is_next = self.named.get(self.next).is_some_and(|(known, _)| known == name);
        let known = if is_next { Some(self.next) } else { self.position(name) };
        let at = known.unwrap_or_else(|| {
            self.named.push((Cow::Owned(name.to_owned()), 0.0));
            self.named.len() - 1
        });
        self.named[at].1 += value;
        self.next = at + 1;
    }

    /// The sum of this name; 0 if nothing was added to it.
    pub fn get(&self, name: &str) -> f64 {
        self.position(name).map_or(0.0, |at| self.named[at].1)
    }

    /// All sums with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.named.iter().map(|(name, sum)| (&**name, *sum))
    }

    /// Adds the sums of another part of the test samples.
    pub fn merge(&mut self, other: &Self) {
        other.iter().for_each(|(name, sum)| self.add(name, sum));
    }

    /// Sets all sums to 0.
    pub fn reset(&mut self) {
        self.named.iter_mut().for_each(|(_, sum)| *sum = 0.0);
        self.next = 0;
    }

    /// A sum divided by the number of samples.
    pub fn mean(&self, name: &str) -> f64 {
        self.get(name) / self.get(COUNT).max(1.0)
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.named.iter().position(|(known, _)| known == name)
    }
}

/// How a metric follows from sums.
#[derive(Clone, Debug)]
pub enum Formula {
    /// The mean over the samples of the sum of this name.
    Mean(Cow<'static, str>),
    /// One sum divided by another, each of this name: the weighted mean of a program's own metric.
    Ratio(Cow<'static, str>, Cow<'static, str>),
    /// Any other function, of the sums of these names; a name that ends in a slash is the prefix of one sum per class.
    Of(fn(&Sums) -> f64, &'static [&'static str]),
}

/// A named function of sums.
#[derive(Clone, Debug)]
pub struct Metric {
    /// Its name, and how its values are compared and shown.
    pub info: MetricInfo,
    /// A sentence that says what the metric is.
    pub doc: Cow<'static, str>,
    /// How the value follows from the sums.
    pub formula: Formula,
}

impl Metric {
    /// The value that follows from the sums of all test samples.
    pub fn value(&self, sums: &Sums) -> f64 {
        match &self.formula {
            Formula::Mean(of) => sums.mean(of),
            Formula::Ratio(sum, weight) => sums.get(sum) / sums.get(weight),
            Formula::Of(function, _) => function(sums),
        }
    }

    /// The names of the sums that the value follows from, beside the number of samples; see [`Formula::Of`].
    pub fn sums(&self) -> Vec<&str> {
        match &self.formula {
            Formula::Mean(of) => vec![of],
            Formula::Ratio(sum, weight) => vec![sum, weight],
            Formula::Of(_, sums) => sums.to_vec(),
        }
    }

    /// Whether the metric is the mean of this sum.
    pub fn is_mean_of(&self, sum: &str) -> bool {
        matches!(&self.formula, Formula::Mean(of) if of == sum)
    }
}

/// The table of all built-in metrics.
pub static METRICS: [Metric; 6] = [
    Metric {
        info: MetricInfo::new("accuracy", Direction::Larger, Display::Share),
        doc: Cow::Borrowed("The share of test samples that the model classifies correctly."),
        formula: Formula::Mean(Cow::Borrowed(CORRECT)),
    },
    Metric {
        info: MetricInfo::new("loss", Direction::Smaller, Display::Number),
        doc: Cow::Borrowed(
            "The mean loss over the test samples: the cross-entropy of a classifier, the squared error of a regression.",
        ),
        formula: Formula::Mean(Cow::Borrowed(LOSS)),
    },
    Metric {
        info: MetricInfo::new("f1", Direction::Larger, Display::Share),
        doc: Cow::Borrowed("The macro F1 score: the mean over classes of 2·TP / (predicted + actual)."),
        formula: Formula::Of(macro_f1, &[TRUE_POSITIVE, PREDICTED, ACTUAL]),
    },
    Metric {
        info: MetricInfo::new("top-5", Direction::Larger, Display::Share),
        doc: Cow::Borrowed("The share of test samples whose class is among the five largest scores."),
        formula: Formula::Mean(Cow::Borrowed(CORRECT_AMONG_BEST)),
    },
    Metric {
        info: MetricInfo::new("rmse", Direction::Smaller, Display::Number),
        doc: Cow::Borrowed("The root of the mean squared error over the test samples."),
        formula: Formula::Of(|sums| sums.mean(SQUARED_ERROR).sqrt(), &[SQUARED_ERROR]),
    },
    Metric {
        info: MetricInfo::new("perplexity", Direction::Smaller, Display::Number),
        doc: Cow::Borrowed("The exponential of the mean loss, for models that predict the next token."),
        formula: Formula::Of(|sums| sums.mean(LOSS).exp(), &[LOSS]),
    },
];

/// The metrics of a classifier whose task declares no others: accuracy, loss and macro F1.
pub fn of_classifier() -> Vec<Metric> {
    METRICS[..3].to_vec()
}

/// The metrics of a regression whose task declares no others: root mean squared error and loss.
pub fn of_regression() -> Vec<Metric> {
    ["rmse", "loss"].into_iter().filter_map(metric).cloned().collect()
}

/// The built-in metric of this name.
pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.info.name == name)
}

/// The values that follow from the sums of all test samples. A loss that is NaN or infinite is an error: the model has
/// diverged.
pub fn evaluated(metrics: &[Metric], sums: &Sums) -> Result<Metrics, LearnError> {
    let loss = sums.mean(LOSS);
    if !loss.is_finite() {
        return Err(LearnError::NotFinite { what: "model's loss".into(), value: loss });
    }
    Ok(metrics.iter().map(|metric| (metric.info.name.clone(), metric.value(sums))).collect())
}

/// Classes that neither occur nor are predicted do not count.
fn macro_f1(sums: &Sums) -> f64 {
    // Sums may be of thousands of classes: they are not searched class by class.
    let of_classes = |prefix: &str| -> BTreeMap<&str, f64> {
        sums.iter().filter_map(|(name, sum)| Some((name.strip_prefix(prefix)?, sum))).collect()
    };
    let (true_positive, predicted) = (of_classes(TRUE_POSITIVE), of_classes(PREDICTED));
    let of_class = |sums: &BTreeMap<&str, f64>, class: &str| sums.get(class).copied().unwrap_or(0.0);
    let (mut total, mut classes) = (0.0, 0.0);
    for (name, actual) in sums.iter() {
        let Some(class) = name.strip_prefix(ACTUAL) else { continue };
        let occurs = of_class(&predicted, class) + actual;
        if occurs > 0.0 {
            total += 2.0 * of_class(&true_positive, class) / occurs;
            classes += 1.0;
        }
    }
    total / f64::max(classes, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(named: &[(&str, f64)]) -> Sums {
        let mut sums = Sums::default();
        named.iter().for_each(|(name, value)| sums.add(name, *value));
        sums
    }

    fn value(name: &str, sums: &Sums) -> f64 {
        metric(name).unwrap().value(sums)
    }

    #[test]
    fn sums_of_parts_are_the_sums_of_the_whole() {
        let mut total = sums(&[("count", 2.0), ("loss", 0.5)]);
        let part = sums(&[("loss", 0.25), ("correct", 1.0), ("count", 1.0)]);
        total.merge(&part);
        total.merge(&part);
        let named: Vec<_> = total.iter().collect();
        assert_eq!(named, [("count", 4.0), ("loss", 1.0), ("correct", 2.0)]);
        assert_eq!((value("accuracy", &total), value("loss", &total)), (0.5, 0.25));
        total.reset();
        assert!(total.iter().all(|(_, sum)| sum == 0.0) && total.iter().count() == 3);
    }

    /// Against the value of scikit-learn's `f1_score(..., average="macro")` for actual 0,0,1,1,2 and predicted
    /// 0,1,1,1,0.
    #[test]
    fn macro_f1_is_the_mean_over_classes_that_occur() {
        let classes =
            [("0", [1.0, 2.0, 2.0]), ("1", [2.0, 3.0, 2.0]), ("2", [0.0, 0.0, 1.0]), ("3", [0.0; 3])];
        let mut sums = sums(&[("count", 5.0)]);
        for (class, [true_positive, predicted, actual]) in classes {
            sums.add(&format!("{TRUE_POSITIVE}{class}"), true_positive);
            sums.add(&format!("{PREDICTED}{class}"), predicted);
            sums.add(&format!("{ACTUAL}{class}"), actual);
        }
        assert!((value("f1", &sums) - (0.5 + 0.8) / 3.0).abs() < 1e-12);
    }

    #[test]
    fn rmse_and_perplexity_are_functions_of_their_means() {
        let sums = sums(&[("count", 4.0), ("squared-error", 36.0), ("loss", 4.0 * 2_f64.ln())]);
        assert_eq!(value("rmse", &sums), 3.0);
        assert!((value("perplexity", &sums) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn a_loss_that_is_not_finite_means_diverged_and_other_values_are_left_out() {
        let diverged = evaluated(&METRICS, &sums(&[("count", 1.0), ("loss", f64::INFINITY)]));
        assert!(matches!(diverged, Err(LearnError::NotFinite { .. })), "{diverged:?}");
        let large = evaluated(&METRICS, &sums(&[("count", 1.0), ("loss", 1000.0)])).unwrap();
        assert_eq!((large.get("loss"), large.get("perplexity")), (Some(1000.0), None));
    }

    #[test]
    fn a_learner_may_declare_a_metric_of_its_own() {
        let own = Metric {
            info: MetricInfo::new("top-3", Direction::Larger, Display::Share),
            doc: Cow::Borrowed("The share of samples whose class is among the three likeliest."),
            formula: Formula::Mean(Cow::Borrowed("correct-3")),
        };
        let found = evaluated(&[own], &sums(&[("count", 8.0), ("correct-3", 6.0)])).unwrap();
        assert_eq!(found.get("top-3"), Some(0.75));
    }
}
