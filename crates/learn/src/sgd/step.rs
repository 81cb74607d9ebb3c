//! One step of local SGD, in the order of PyTorch's: weight decay, then momentum, then the rate. FedProx's term belongs to
//! the gradient of the loss and comes first.

use super::settings::{LocalOptions, SgdSettings};

/// Moves parameters, and keeps what a device's training remembers between two steps.
pub(super) struct Stepper {
    /// Where SGD moves parameters, and where running statistics are replaced: (start, end, trained).
    ranges: Vec<(usize, usize, bool)>,
}

/// What the steps of a round share.
#[derive(Clone, Copy)]
pub(super) struct LocalRound<'a> {
    pub settings: SgdSettings,
    /// The factor of the learning rate.
    pub rate_factor: f32,
    /// x: the model at the beginning of the round.
    pub model: &'a [f32],
}

impl Stepper {
    /// For arrays of parameters in their order: the length of each, and whether it is trained.
    pub(super) fn new(arrays: impl Iterator<Item = (usize, bool)>) -> Self {
        let mut ranges: Vec<(usize, usize, bool)> = Vec::new();
        let mut at = 0;
        for (len, trained) in arrays {
            match ranges.last_mut() {
                Some(range) if range.2 == trained => range.1 += len,
                _ => ranges.push((at, at + len, trained)),
            }
            at += len;
        }
        Self { ranges }
    }

    /// A step along `grad`. `velocity` is empty where no momentum is used.
    pub(super) fn step(&self, round: LocalRound<'_>, params: &mut [f32], velocity: &mut [f32], grad: &[f32]) {
        let LocalRound { settings, rate_factor, model } = round;
        for &(start, end, trained) in &self.ranges {
            let rate = if trained { rate_factor * settings.learning_rate } else { 1.0 };
            let (params, grad) = (&mut params[start..end], &grad[start..end]);
            if !trained || settings.options.is_plain() {
                params.iter_mut().zip(grad).for_each(|(w, grad)| *w -= rate * grad);
            } else if velocity.is_empty() {
                let along = params.iter_mut().zip(grad).zip(&model[start..end]);
                along.for_each(|((w, &grad), &x)| *w -= rate * pulled(settings.options, grad, *w, x));
            } else {
                let along = params.iter_mut().zip(grad).zip(&model[start..end]);
                for (((w, &grad), &x), v) in along.zip(&mut velocity[start..end]) {
                    *v = settings.options.momentum * *v + pulled(settings.options, grad, *w, x);
                    *w -= rate * *v;
                }
            }
        }
    }
}

/// The gradient with FedProx's term and the weight decay.
fn pulled(options: LocalOptions, grad: f32, w: f32, x: f32) -> f32 {
    grad + options.proximal * (w - x) + options.weight_decay * w
}
