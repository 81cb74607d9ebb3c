//! Layers in a row, with every buffer planned once.

use crate::layer::{Backward, Forward, Layer, ParamSpec};
use crate::real::Real;

/// Layers one after the other; the last one's output is a score per class.
pub struct Network<T: Real> {
    layers: Vec<Box<dyn Layer<T>>>,
    /// Where each layer's parameters start, and where the last one's end.
    offsets: Vec<usize>,
}

/// What a pass over a batch needs: activations, gradients, scratch. One per worker, made once.
pub struct Buffers<T> {
    batch_max: usize,
    /// The input of layer i, and at the end the scores.
    activations: Vec<Vec<T>>,
    scratch: Vec<Vec<T>>,
    /// ∂loss/∂activation on its way back: two buffers that take turns.
    grads: [Vec<T>; 2],
    /// ∂loss/∂parameters of the last backward pass.
    pub params_grad: Vec<T>,
}

/// The loss and the correct predictions of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// Sum of the cross-entropy losses over the batch.
    pub loss_sum: f64,
    /// The number of samples that were classified correctly.
    pub correct: usize,
}

impl<T: Real> Network<T> {
    /// # Panics
    ///
    /// If neighbours do not fit: a mistake in a model, not in its input.
    pub fn new(layers: Vec<Box<dyn Layer<T>>>) -> Self {
        for pair in layers.windows(2) {
            assert_eq!(
                pair[0].output_len(),
                pair[1].input_len(),
                "{} does not fit {}",
                pair[0].name(),
                pair[1].name()
            );
        }
        let mut offsets = vec![0];
        let mut total = 0;
        for layer in &layers {
            total += layer.params().iter().map(ParamSpec::len).sum::<usize>();
            offsets.push(total);
        }
        Self { layers, offsets }
    }

    /// Numbers per sample that go in.
    pub fn input_len(&self) -> usize {
        self.layers.first().map_or(0, |layer| layer.input_len())
    }

    /// Classes.
    pub fn classes(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.output_len())
    }

    /// Parameters in all.
    pub fn params_len(&self) -> usize {
        self.offsets.last().copied().unwrap_or(0)
    }

    /// Floating-point operations of a training step: forward, and backward to parameters and inputs, of which
    /// the first layer has none to hand on.
    pub fn step_flop(&self, batch: usize) -> f64 {
        let products = self.layers.iter().map(|layer| layer.sizes().multiply_adds as f64);
        let passes = std::iter::once(2.0).chain(std::iter::repeat(3.0));
        2.0 * batch as f64 * products.zip(passes).map(|(products, passes)| products * passes).sum::<f64>()
    }

    /// All parameters by their full names (`conv1.weight`), in the order of the flat vector.
    pub fn params(&self) -> Vec<(String, ParamSpec)> {
        let named = |layer: &dyn Layer<T>| {
            let name = layer.name().to_owned();
            layer.params().into_iter().map(move |spec| (format!("{name}.{}", spec.name), spec))
        };
        self.layers.iter().flat_map(|layer| named(layer.as_ref())).collect()
    }

    /// Numbers per sample in the input of each layer, and in the scores.
    fn activation_lens(&self) -> impl Iterator<Item = usize> {
        self.layers.iter().map(|layer| layer.input_len()).chain([self.classes()])
    }

    /// Bytes that [`Network::buffers`] takes.
    pub fn buffer_bytes(&self, batch_max: usize) -> u64 {
        let lens = || self.activation_lens().map(|len| len as u64);
        let activations = (lens().sum::<u64>() + 2 * lens().max().unwrap_or(0)) * batch_max as u64;
        let scratch: u64 = self.layers.iter().map(|layer| layer.scratch_len(batch_max) as u64).sum();
        (activations + scratch + self.params_len() as u64) * size_of::<T>() as u64
    }

    /// Buffers for batches of up to `batch_max` samples.
    pub fn buffers(&self, batch_max: usize) -> Buffers<T> {
        let widest = self.activation_lens().max().unwrap_or(0);
        let zeros = |len: usize| vec![T::ZERO; len];
        Buffers {
            batch_max,
            activations: self.activation_lens().map(|len| zeros(len * batch_max)).collect(),
            scratch: self.layers.iter().map(|layer| zeros(layer.scratch_len(batch_max))).collect(),
            grads: [zeros(widest * batch_max), zeros(widest * batch_max)],
            params_grad: zeros(self.params_len()),
        }
    }

    /// Scores `labels.len()` samples, which the caller has put into [`Buffers::input`], and hands the predicted and the
    /// actual class of each sample to `each`.
    pub fn evaluate(
        &self,
        params: &[T],
        buffers: &mut Buffers<T>,
        labels: &[f32],
        each: impl FnMut(usize, usize),
    ) -> Score {
        self.forward(params, buffers, labels.len(), false);
        cross_entropy(&mut buffers.activations[self.layers.len()], labels, self.classes(), None, each)
    }

    /// The same, and the gradient of the mean loss in `buffers.params_grad`.
    pub fn gradient(&self, params: &[T], buffers: &mut Buffers<T>, labels: &[f32]) -> Score {
        let batch = labels.len();
        self.forward(params, buffers, batch, true);
        let Buffers { activations, scratch, grads, params_grad, .. } = buffers;
        let classes = self.classes();
        let [mut output_grad, mut input_grad] = grads.each_mut();
        let score = cross_entropy(
            &mut activations[self.layers.len()],
            labels,
            classes,
            Some(&mut output_grad[..batch * classes]),
            |_, _| {},
        );
        for (i, layer) in self.layers.iter().enumerate().rev() {
            let params_range = self.offsets[i]..self.offsets[i + 1];
            // Nobody asks for the gradient of the data.
            let input_len = if i == 0 { 0 } else { batch * layer.input_len() };
            layer.backward(Backward {
                batch,
                params: &params[params_range.clone()],
                input: &activations[i][..batch * layer.input_len()],
                output: &activations[i + 1][..batch * layer.output_len()],
                output_grad: &mut output_grad[..batch * layer.output_len()],
                input_grad: &mut input_grad[..input_len],
                params_grad: &mut params_grad[params_range],
                scratch: &mut scratch[i],
            });
            std::mem::swap(&mut output_grad, &mut input_grad);
        }
        score
    }

    fn forward(&self, params: &[T], buffers: &mut Buffers<T>, batch: usize, training: bool) {
        assert!(batch <= buffers.batch_max, "a batch of {batch} in buffers for {}", buffers.batch_max);
        for (i, layer) in self.layers.iter().enumerate() {
            let (before, after) = buffers.activations.split_at_mut(i + 1);
            layer.forward(Forward {
                batch,
                params: &params[self.offsets[i]..self.offsets[i + 1]],
                input: &before[i][..batch * layer.input_len()],
                output: &mut after[0][..batch * layer.output_len()],
                scratch: &mut buffers.scratch[i],
                training,
            });
        }
    }
}

impl<T: Real> Buffers<T> {
    /// Where the caller puts the samples.
    pub fn input(&mut self) -> &mut [T] {
        &mut self.activations[0]
    }
}

/// Softmax and cross-entropy over rows of scores; with `grad`, the gradient of the mean loss. The predicted and the actual
/// class of each row go to `each`.
///
/// A label outside the classes counts as an infinite loss: it is noticed where losses are checked.
fn cross_entropy<T: Real>(
    scores: &mut [T],
    labels: &[f32],
    classes: usize,
    mut grad: Option<&mut [T]>,
    mut each: impl FnMut(usize, usize),
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
        each(best, label);
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

/// The class that a label names; the largest number, which no class has, if it names none.
fn class_of(label: f32) -> usize {
    if label >= 0.0 && label.fract() == 0.0 { label as usize } else { usize::MAX }
}
