//! Losses: what a network's outputs cost against the labels, and the gradient of it.
//!
//! The table [`LOSSES`] and `Loss::of_batch` below it are the only places that tell the losses apart.

use crate::metrics::{self, Metric};
use crate::real::Real;

/// What training makes small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loss {
    /// −ln of the label's share in the softmax of the outputs, which are a score per class.
    #[default]
    CrossEntropy,
    /// (ŷ − y)² of the one output, as PyTorch's `MSELoss`.
    SquaredError,
}

/// All that is known about a loss.
#[derive(Debug)]
pub struct LossRow {
    /// Which one it is.
    pub loss: Loss,
    /// The name in scenarios.
    pub name: &'static str,
    /// Whether labels are classes, and outputs a score for each; otherwise both are one value.
    pub classifies: bool,
    /// The metrics of a learner that declares no others.
    pub metrics: fn() -> Vec<Metric>,
}

/// The table of all losses.
pub static LOSSES: [LossRow; 2] = [
    LossRow {
        loss: Loss::CrossEntropy,
        name: "cross-entropy",
        classifies: true,
        metrics: metrics::of_classifier,
    },
    LossRow {
        loss: Loss::SquaredError,
        name: "squared-error",
        classifies: false,
        metrics: metrics::of_regression,
    },
];

/// The loss and the correct predictions of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// Sum of the losses over the batch.
    pub loss_sum: f64,
    /// The number of samples that were classified correctly; 0 for a regression.
    pub correct: usize,
}

/// How a classifier judges one sample.
#[derive(Clone, Copy, Debug)]
pub struct Guess<'a, T> {
    /// A score per class.
    pub scores: &'a [T],
    /// The class with the largest score, the first one of several.
    pub predicted: usize,
    /// The class of the label; no class has this number if the label names none.
    pub actual: usize,
}

impl<T: Real> Guess<'_, T> {
    /// Whether the actual class is among the `count` best scores. Of equal scores the first ones count as better, as
    /// they do for the prediction.
    pub fn is_among_best(&self, count: usize) -> bool {
        self.scores.get(self.actual).is_some_and(|&own| {
            let (before, after) = self.scores.split_at(self.actual);
            let earlier = before.iter().filter(|&&score| score >= own).count();
            earlier + after.iter().filter(|&&score| score > own).count() < count
        })
    }
}

impl Loss {
    /// Its row in the table.
    pub fn row(self) -> &'static LossRow {
        match self {
            Self::CrossEntropy => &LOSSES[0],
            Self::SquaredError => &LOSSES[1],
        }
    }

    /// The loss of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        LOSSES.iter().find(|row| row.name == name).map(|row| row.loss)
    }

    /// The losses of rows of `width` outputs; with `grad`, the gradient of their mean. What a classifier makes of each row
    /// goes to `each`.
    pub(crate) fn of_batch<T: Real>(
        self,
        (outputs, width): (&[T], usize),
        labels: &[f32],
        grad: Option<&mut [T]>,
        each: impl FnMut(Guess<'_, T>),
    ) -> Score {
        match self {
            Self::CrossEntropy => cross_entropy(outputs, labels, width, grad, each),
            Self::SquaredError => squared_error(outputs, labels, width, grad),
        }
    }
}

/// A label outside the classes counts as an infinite loss: it is noticed where losses are checked.
fn cross_entropy<T: Real>(
    scores: &[T],
    labels: &[f32],
    classes: usize,
    mut grad: Option<&mut [T]>,
    mut each: impl FnMut(Guess<'_, T>),
) -> Score {
    let mut score = Score::default();
    let scale = T::from_f64(1.0 / labels.len() as f64);
    for (n, (row, &label)) in scores.chunks_exact(classes).zip(labels).enumerate() {
        let label = class_of(label);
        let (best, max) = row.iter().enumerate().fold((0, T::LOWEST), |(best, max), (class, &score)| {
            if score > max { (class, score) } else { (best, max) }
        });
        let sum: T = row.iter().map(|&score| (score - max).exp()).sum();
        let log_sum = max + sum.ln();
        score.loss_sum += row.get(label).map_or(f64::INFINITY, |&own| (log_sum - own).to_f64());
        score.correct += usize::from(best == label);
        each(Guess { scores: row, predicted: best, actual: label });
        if let Some(grad) = grad.as_deref_mut() {
            let grad = &mut grad[n * classes..(n + 1) * classes];
            for (class, (grad, &score)) in grad.iter_mut().zip(row).enumerate() {
                let target = if class == label { T::ONE } else { T::ZERO };
                *grad = ((score - log_sum).exp() - target) * scale;
            }
        }
    }
    score
}

/// Of the first output of each row; a network with this loss has no others.
fn squared_error<T: Real>(values: &[T], labels: &[f32], width: usize, grad: Option<&mut [T]>) -> Score {
    let errors = || {
        let rows = values.chunks_exact(width).zip(labels);
        rows.map(|(row, &label)| row[0] - T::from_f64(f64::from(label)))
    };
    if let Some(grad) = grad {
        let scale = T::from_f64(2.0 / labels.len() as f64);
        grad.chunks_exact_mut(width).zip(errors()).for_each(|(grad, error)| grad[0] = error * scale);
    }
    Score { loss_sum: errors().map(|error| error.to_f64().powi(2)).sum(), correct: 0 }
}

/// The class that a label names; the largest number, which no class has, if it names none.
fn class_of(label: f32) -> usize {
    if label >= 0.0 && label.fract() == 0.0 { label as usize } else { usize::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loss_has_its_row() {
        for loss in [Loss::CrossEntropy, Loss::SquaredError] {
            assert_eq!(loss.row().loss, loss);
            assert_eq!(Loss::by_name(loss.row().name), Some(loss));
            assert!(!(loss.row().metrics)().is_empty());
        }
        assert_eq!(Loss::by_name("absolute"), None);
    }

    /// By hand: errors 1, −3 and 0.5 of three samples.
    #[test]
    fn squared_errors_and_their_gradient() {
        let (outputs, labels) = ([2.0, -1.0, 0.5], [1.0, 2.0, 0.0]);
        let mut grad = [f64::NAN; 3];
        let score = Loss::SquaredError.of_batch((&outputs, 1), &labels, Some(&mut grad), |_| {});
        assert_eq!(score, Score { loss_sum: 10.25, correct: 0 });
        for (grad, expected) in grad.iter().zip([2.0 / 3.0, -2.0, 1.0 / 3.0]) {
            assert!((grad - expected).abs() < 1e-15);
        }
        let score = Loss::SquaredError.of_batch((&[1.0_f32], 1), &[f32::NAN], None, |_| {});
        assert!(score.loss_sum.is_nan());
    }

    #[test]
    fn labels_that_name_no_class_cost_infinitely() {
        assert_eq!([0.0, 9.0, 300.0, 65_537.0].map(class_of), [0, 9, 300, 65_537]);
        for label in [-1.0, 0.5, 3.0, f32::NAN, f32::INFINITY] {
            let score = Loss::CrossEntropy.of_batch((&[0.0_f32, 1.0, 2.0], 3), &[label], None, |_| {});
            assert_eq!(score, Score { loss_sum: f64::INFINITY, correct: 0 }, "{label}");
        }
    }

    #[test]
    fn the_best_five_with_ties_and_with_fewer_classes() {
        let among = |scores: &[f32], count| -> Vec<bool> {
            let guess = |actual| Guess { scores, predicted: 0, actual }.is_among_best(count);
            (0..=scores.len()).map(guess).collect()
        };
        let yes_but = |no: &[usize], len| (0..len).map(|class| !no.contains(&class)).collect::<Vec<bool>>();
        // The last entry is a label outside the classes.
        assert_eq!(among(&[6.0, 1.0, 5.0, 2.0, 4.0, 3.0, 0.0], 5), yes_but(&[1, 6, 7], 8));
        // Six are equal: the first five of them count, as the first is the prediction.
        assert_eq!(among(&[1.0; 6], 5), yes_but(&[5, 6], 7));
        assert_eq!(among(&[1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0], 5), yes_but(&[5, 6, 7], 8));
        assert_eq!(among(&[1.0, 1.0, 0.0], 1), yes_but(&[1, 2, 3], 4));
        assert_eq!(among(&[3.0, -1.0, f32::NEG_INFINITY], 5), yes_but(&[3], 4));
    }
}
