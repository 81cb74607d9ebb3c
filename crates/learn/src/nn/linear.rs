//! Fully connected: y = x Wᵀ + b, and max(0, ·) of it if asked.

use crate::layer::{Backward, Forward, Init, Layer, ParamSpec, Sizes};
use crate::matmul::{Into, RowProducts};
use crate::real::Real;

/// Takes and gives one sample after the other. `weight` is [outputs, inputs], as in PyTorch.
#[derive(Clone, Debug)]
pub struct Linear {
    name: String,
    inputs: usize,
    outputs: usize,
    relu: bool,
}

impl Linear {
    /// y = x Wᵀ + b.
    pub fn new(name: &str, inputs: usize, outputs: usize) -> Self {
        Self { name: name.to_owned(), inputs, outputs, relu: false }
    }

    /// y = max(0, x Wᵀ + b).
    pub fn relu(name: &str, inputs: usize, outputs: usize) -> Self {
        Self { relu: true, ..Self::new(name, inputs, outputs) }
    }

    fn products(&self, rows: usize) -> RowProducts {
        RowProducts { rows, inputs: self.inputs, outputs: self.outputs }
    }
}

impl<T: Real> Layer<T> for Linear {
    fn name(&self) -> &str {
        &self.name
    }

    fn params(&self) -> Vec<ParamSpec> {
        let init = Init::fan_in(self.inputs);
        let weight = ParamSpec::trained("weight", &[self.outputs, self.inputs], init);
        vec![weight, ParamSpec::trained("bias", &[self.outputs], init)]
    }

    fn sizes(&self) -> Sizes {
        Sizes { input: self.inputs, output: self.outputs, multiply_adds: self.inputs * self.outputs }
    }

    fn forward(&self, pass: Forward<'_, T>) {
        let (weight, bias) = pass.params.split_at(self.inputs * self.outputs);
        for row in pass.output.chunks_exact_mut(self.outputs) {
            row.copy_from_slice(bias);
        }
        self.products(pass.batch).output(Into::Add, weight, pass.input, pass.output);
        if self.relu {
            pass.output.iter_mut().for_each(|y| *y = y.max(T::ZERO));
        }
    }

    fn backward(&self, pass: Backward<'_, T>) {
        if self.relu {
            mask(pass.output_grad, pass.output);
        }
        let (weight_grad, bias_grad) = pass.params_grad.split_at_mut(self.inputs * self.outputs);
        let products = self.products(pass.batch);
        products.weight_grad(Into::Replace, pass.input, pass.output_grad, weight_grad);
        bias_grad.fill(T::ZERO);
        for row in pass.output_grad.chunks_exact(self.outputs) {
            bias_grad.iter_mut().zip(row).for_each(|(sum, &grad)| *sum += grad);
        }
        products.input_grad(pass.params, pass.output_grad, pass.input_grad);
    }
}

/// Where a rectified output is 0, no gradient passes.
pub(crate) fn mask<T: Real>(grad: &mut [T], output: &[T]) {
    grad.iter_mut().zip(output).for_each(|(grad, &output)| {
        if output <= T::ZERO {
            *grad = T::ZERO;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::gradient_check::assert_gradients;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
        #[test]
        fn gradients(inputs in 1_usize..9, outputs in 1_usize..9, batch in 1_usize..5, seed in any::<u64>()) {
            assert_gradients(&Linear::new("fc", inputs, outputs), batch, seed);
            assert_gradients(&Linear::relu("fc", inputs, outputs), batch, seed);
        }
    }
}
