//! One layer of long short-term memory over a whole sequence.
//!
//! Of the products, only h·W_hhᵀ has to wait for the step before: it is done step by step against a matrix
//! packed once ([`crate::nn::packed`]). The input's projection, and backwards the gradients of both
//! matrices and of the input, are one product each over all steps.

use crate::layer::{Backward, Forward, Init, Layer, ParamSpec, Sizes, cut};
use crate::matmul::{Into, RowProducts};
use crate::nn::gates::{StepBackward, StepForward};
use crate::nn::packed::Shape;
use crate::nn::vectors::Lanes;

/// Parameters are named as in `torch.nn.LSTM(num_layers=2)`, which numbers them by level.
const NAMES: [[&str; 4]; 2] = [
    ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"],
    ["weight_ih_l1", "weight_hh_l1", "bias_ih_l1", "bias_hh_l1"],
];

/// Takes `[steps][batch][inputs]` and gives `[steps][batch][hidden]`: time first, so that what belongs to one
/// step lies together. Starts from zeros. Gates in PyTorch's order: input, forget, cell, output.
#[derive(Clone, Debug)]
pub struct Lstm {
    name: String,
    names: [&'static str; 4],
    steps: usize,
    inputs: usize,
    hidden: usize,
}

/// The scratch, cut up.
struct Parts<'a, T> {
    /// `[steps][batch][4·hidden]`: products, then gates, then their gradients.
    gates: &'a mut [T],
    /// States of the cells, as `[steps][batch][hidden]`.
    cells: &'a mut [T],
    /// Hyperbolic tangents of the cells, as `[steps][batch][hidden]`.
    cells_tanh: &'a mut [T],
    /// Gradients of the cells, as `[batch][hidden]`.
    cells_grad: &'a mut [T],
    /// Sum of the two biases.
    bias: &'a mut [T],
    /// The recurrent matrix as the pass wants it.
    packed: &'a mut [T],
}

impl Lstm {
    /// `level` counts stacked layers from 0; it tells apart the parameters of layers that share a name.
    ///
    /// # Panics
    ///
    /// If there are no steps or units, or at a level past 1: a mistake in a model, not in its input.
    pub fn new(name: &str, level: usize, steps: usize, inputs: usize, hidden: usize) -> Self {
        assert!(steps > 0 && inputs > 0 && hidden > 0 && level < NAMES.len());
        Self { name: name.to_owned(), names: NAMES[level], steps, inputs, hidden }
    }

    /// The shape of the recurrent product h·W_hhᵀ.
    fn recurrent(&self) -> Shape {
        Shape { depth: self.hidden, columns: 4 * self.hidden, depth_stride: 1, column_stride: self.hidden }
    }

    /// Its transpose, for gradients: d ↦ d·W_hh.
    fn recurrent_back(&self) -> Shape {
        Shape { depth: 4 * self.hidden, columns: self.hidden, depth_stride: self.hidden, column_stride: 1 }
    }

    /// W_ih, W_hh and both biases.
    fn lens(&self) -> [usize; 4] {
        let gates = 4 * self.hidden;
        [gates * self.inputs, gates * self.hidden, gates, gates]
    }

    fn part_lens(&self, batch: usize) -> [usize; 6] {
        let (step, packed) = (batch * self.hidden, [self.recurrent(), self.recurrent_back()]);
        let [forward, backward] = packed.map(|shape| shape.packed_len());
        [
            4 * self.steps * step,
            self.steps * step,
            self.steps * step,
            step,
            4 * self.hidden,
            forward.max(backward),
        ]
    }

    fn parts<'a, T>(&self, batch: usize, scratch: &'a mut [T]) -> Parts<'a, T> {
        let [gates, cells, cells_tanh, cells_grad, bias, packed] = cut(scratch, self.part_lens(batch));
        Parts { gates, cells, cells_tanh, cells_grad, bias, packed }
    }

    fn weights<'a, T>(&self, params: &'a [T]) -> [&'a [T]; 4] {
        let mut rest = params;
        self.lens().map(|len| rest.split_off(..len).unwrap_or_default())
    }

    /// The products of the input with W_ih, over all steps.
    fn input_products(&self, batch: usize) -> RowProducts {
        RowProducts { rows: self.steps * batch, inputs: self.inputs, outputs: 4 * self.hidden }
    }

    /// ∂loss/∂W_hh. The gates of each step met the output of the step before; those of the first step met zeros.
    fn recurrent_grad<T: Lanes>(&self, batch: usize, output: &[T], gates_grad: &[T], grad: &mut [T]) {
        let rows = (self.steps - 1) * batch;
        if rows == 0 {
            grad.fill(T::ZERO);
        } else {
            let products = RowProducts { rows, inputs: self.hidden, outputs: 4 * self.hidden };
            products.weight_grad(Into::Replace, output, &gates_grad[4 * batch * self.hidden..], grad);
        }
    }
}

impl<T: Lanes> Layer<T> for Lstm {
    fn name(&self) -> &str {
        &self.name
    }

    fn params(&self) -> Vec<ParamSpec> {
        let gates = 4 * self.hidden;
        let init = Init::fan_in(self.hidden);
        let shapes: [&[usize]; 4] = [&[gates, self.inputs], &[gates, self.hidden], &[gates], &[gates]];
        self.names
            .into_iter()
            .zip(shapes)
            .map(|(name, shape)| ParamSpec::trained(name, shape, init))
            .collect()
    }

    fn sizes(&self) -> Sizes {
        Sizes {
            input: self.steps * self.inputs,
            output: self.steps * self.hidden,
            multiply_adds: self.steps * 4 * self.hidden * (self.inputs + self.hidden),
        }
    }

    fn scratch_len(&self, batch: usize) -> usize {
        self.part_lens(batch).iter().sum()
    }

    fn forward(&self, pass: Forward<'_, T>) {
        let [weight_ih, weight_hh, bias_ih, bias_hh] = self.weights(pass.params);
        let Parts { gates, cells, cells_tanh, bias, packed, .. } = self.parts(pass.batch, pass.scratch);
        self.input_products(pass.batch).output(Into::Replace, weight_ih, pass.input, gates);
        for (sum, (&ih, &hh)) in bias.iter_mut().zip(bias_ih.iter().zip(bias_hh)) {
            *sum = ih + hh;
        }
        self.recurrent().pack(weight_hh, packed);

        let step = pass.batch * self.hidden;
        for (t, gates) in gates.chunks_exact_mut(4 * step).enumerate() {
            let (cells_before, cells) = cells.split_at_mut(t * step);
            let (output_before, output) = pass.output.split_at_mut(t * step);
            let before = t.saturating_sub(1) * step..t * step;
            // The first step's product would be with zeros.
            if t > 0 {
                self.recurrent().add_product(packed, &output_before[before.clone()], gates);
            }
            StepForward {
                hidden: self.hidden,
                gates,
                bias,
                cells_before: &cells_before[before],
                cells: &mut cells[..step],
                cells_tanh: &mut cells_tanh[t * step..(t + 1) * step],
                output: &mut output[..step],
            }
            .run();
        }
    }

    fn backward(&self, pass: Backward<'_, T>) {
        let [weight_ih, weight_hh, ..] = self.weights(pass.params);
        let Parts { gates, cells, cells_tanh, cells_grad, packed, .. } = self.parts(pass.batch, pass.scratch);
        let [weight_ih_grad, weight_hh_grad, bias_ih_grad, bias_hh_grad] = cut(pass.params_grad, self.lens());
        bias_ih_grad.fill(T::ZERO);
        cells_grad.fill(T::ZERO);
        self.recurrent_back().pack(weight_hh, packed);

        let step = pass.batch * self.hidden;
        for (t, gates) in gates.chunks_exact_mut(4 * step).enumerate().rev() {
            let before = t.saturating_sub(1) * step..t * step;
            let (output_grad_before, output_grad) = pass.output_grad.split_at_mut(t * step);
            StepBackward {
                hidden: self.hidden,
                gates,
                cells_before: &cells[before.clone()],
                cells_tanh: &cells_tanh[t * step..(t + 1) * step],
                output_grad: &output_grad[..step],
                cells_grad,
                bias_grad: bias_ih_grad,
            }
            .run();
            // On top of what came from the layer above for that step.
            if t > 0 {
                self.recurrent_back().add_product(packed, gates, &mut output_grad_before[before]);
            }
        }

        bias_hh_grad.copy_from_slice(bias_ih_grad);
        let products = self.input_products(pass.batch);
        products.weight_grad(Into::Replace, pass.input, gates, weight_ih_grad);
        self.recurrent_grad(pass.batch, pass.output, gates, weight_hh_grad);
        products.input_grad(weight_ih, gates, pass.input_grad);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::gradient_check::assert_gradients;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
        #[test]
        fn gradients(
            steps in 1_usize..6, batch in 1_usize..6, inputs in 1_usize..8, hidden in 1_usize..14,
            seed in any::<u64>(),
        ) {
            assert_gradients(&Lstm::new("lstm", 0, steps, inputs, hidden), batch, seed);
        }
    }

    /// One step of one unit, by hand.
    #[test]
    fn gates_in_the_order_of_pytorch() {
        let lstm = Lstm::new("lstm", 0, 1, 1, 1);
        // W_ih, W_hh and the biases of i, f, g, o.
        let params = [0.1, 0.2, 0.3, 0.4, 9.0, 9.0, 9.0, 9.0, 0.5, 0.6, 0.7, 0.8, 0.05, 0.06, 0.07, 0.08_f64];
        let mut output = [0.0];
        let mut scratch = vec![0.0; Layer::<f64>::scratch_len(&lstm, 1)];
        lstm.forward(Forward {
            batch: 1,
            params: &params,
            input: &[2.0],
            output: &mut output,
            scratch: &mut scratch,
            training: false,
        });
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let cell = sigmoid(0.1 * 2.0 + 0.55) * (0.3 * 2.0 + 0.77_f64).tanh();
        let expected = sigmoid(0.4 * 2.0 + 0.88) * cell.tanh();
        assert!((output[0] - expected).abs() < 1e-15, "{} for {expected}", output[0]);
    }

    /// The gradient of the parameters, for outputs that all count alike.
    fn params_grad(lstm: &Lstm, input: &[f32], input_grad: &mut [f32], scratch: &mut [f32]) -> Vec<f32> {
        let layer: &dyn Layer<f32> = lstm;
        let batch = input.len() / layer.input_len();
        let len = layer.params().iter().map(ParamSpec::len).sum();
        let params: Vec<f32> = (0_usize..len).map(|n| (n * 7 % 19) as f32 / 19.0 - 0.5).collect();
        let mut output = vec![0.0; batch * layer.output_len()];
        let mut grad = vec![f32::NAN; len];
        let (params, params_grad) = (&params, &mut grad);
        layer.forward(Forward { batch, params, input, output: &mut output, scratch, training: true });
        let (output_grad, output) = (&mut vec![1.0; output.len()], &output);
        layer.backward(Backward {
            batch,
            params,
            input,
            output,
            output_grad,
            input_grad,
            params_grad,
            scratch,
        });
        grad
    }

    #[test]
    fn neither_unasked_input_gradients_nor_larger_buffers_matter() {
        let lstm = Lstm::new("lstm", 0, 3, 2, 5);
        let input: Vec<f32> = (0..3 * 2 * 3).map(|n| n as f32 / 18.0).collect();
        let scratch = |batch| vec![f32::NAN; Layer::<f32>::scratch_len(&lstm, batch)];
        let expected = params_grad(&lstm, &input, &mut vec![0.0; input.len()], &mut scratch(3));
        assert!(expected.iter().all(|grad| grad.is_finite()));
        assert_eq!(params_grad(&lstm, &input, &mut [], &mut scratch(3)), expected);
        assert_eq!(params_grad(&lstm, &input, &mut [], &mut scratch(8)), expected);
    }

    #[test]
    fn nan_is_passed_on() {
        let lstm = Lstm::new("lstm", 0, 2, 1, 3);
        let mut scratch = vec![0.0; Layer::<f32>::scratch_len(&lstm, 1)];
        assert!(params_grad(&lstm, &[f32::NAN, 0.0], &mut [], &mut scratch).iter().all(|grad| grad.is_nan()));
    }
}
