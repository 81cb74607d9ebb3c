//! Layers in a row, with every buffer planned once.

use crate::error::LearnError;
use crate::layer::{Backward, Forward, Layer, ParamSpec};
use crate::loss::{Guess, Loss, Score};
use crate::real::Real;

/// Layers one after the other; the last one's output is a score per class, or the value of a regression.
pub struct Network<T: Real> {
    layers: Vec<Box<dyn Layer<T>>>,
    /// Where each layer's parameters start, and where the last one's end.
    offsets: Vec<usize>,
    loss: Loss,
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

impl<T: Real> Network<T> {
    /// With the cross-entropy as its loss.
    ///
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
        Self { layers, offsets, loss: Loss::CrossEntropy }
    }

    /// The same network with another loss. One that does not classify wants one output.
    pub fn with_loss(self, loss: Loss) -> Result<Self, LearnError> {
        if !loss.row().classifies && self.classes() != 1 {
            let wanted = "1 for a regression: the network predicts one value";
            return Err(LearnError::BadSetting { name: "outputs", value: self.classes() as f64, wanted });
        }
        Ok(Self { loss, ..self })
    }

    /// What training makes small.
    pub fn loss(&self) -> Loss {
        self.loss
    }

    /// Numbers per sample that go in.
    pub fn input_len(&self) -> usize {
        self.layers.first().map_or(0, |layer| layer.input_len())
    }

    /// Numbers per sample that come out: a score per class, or the one value of a regression.
    pub fn classes(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.output_len())
    }

    /// The number of parameters of all layers.
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

    /// Scores `labels.len()` samples, which the caller has put into [`Buffers::input`], and hands what a
    /// classifier makes of each sample to `each`.
    pub fn evaluate(
        &self,
        params: &[T],
        buffers: &mut Buffers<T>,
        labels: &[f32],
        each: impl FnMut(Guess<'_, T>),
    ) -> Score {
        self.forward(params, buffers, labels.len(), false);
        self.loss.of_batch((&buffers.activations[self.layers.len()], self.classes()), labels, None, each)
    }

    /// The same, and the gradient of the mean loss in `buffers.params_grad`.
    pub fn gradient(&self, params: &[T], buffers: &mut Buffers<T>, labels: &[f32]) -> Score {
        let batch = labels.len();
        self.forward(params, buffers, batch, true);
        let Buffers { activations, scratch, grads, params_grad, .. } = buffers;
        let classes = self.classes();
        let [mut output_grad, mut input_grad] = grads.each_mut();
        let outputs = (&*activations[self.layers.len()], classes);
        let score = self.loss.of_batch(outputs, labels, Some(&mut output_grad[..batch * classes]), |_| {});
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
