//! Pointwise convolution, 1×1: the same linear map at every pixel, which is one matrix product.

use crate::layer::{Backward, Forward, Init, Layer, ParamSpec};
use crate::matmul::{Into, View, matmul};
use crate::real::Real;

/// Takes [pixels, inputs] and gives [pixels, outputs] per sample; no bias. `weight` is
/// [outputs, inputs, 1, 1], as in PyTorch.
#[derive(Clone, Debug)]
pub struct Pointwise {
    name: String,
    pixels: usize,
    inputs: usize,
    outputs: usize,
}

impl Pointwise {
    /// From `inputs` channels to `outputs` at each of `pixels` places.
    pub fn new(name: &str, pixels: usize, inputs: usize, outputs: usize) -> Self {
        Self { name: name.to_owned(), pixels, inputs, outputs }
    }

    fn weight_view(&self) -> View {
        View::row_major(self.outputs, self.inputs)
    }
}

impl<T: Real> Layer<T> for Pointwise {
    fn name(&self) -> &str {
        &self.name
    }

    fn params(&self) -> Vec<ParamSpec> {
        let init = Init::Uniform(1.0 / (self.inputs as f64).sqrt());
        vec![ParamSpec { name: "weight", shape: vec![self.outputs, self.inputs, 1, 1], init, trained: true }]
    }

    fn input_len(&self) -> usize {
        self.pixels * self.inputs
    }

    fn output_len(&self) -> usize {
        self.pixels * self.outputs
    }

    fn multiply_adds(&self) -> u64 {
        (self.pixels * self.inputs * self.outputs) as u64
    }

    fn scratch_len(&self, _batch: usize) -> usize {
        0
    }

    fn forward(&self, pass: Forward<'_, T>) {
        let rows = pass.batch * self.pixels;
        matmul(
            Into::Replace,
            (pass.output, View::row_major(rows, self.outputs)),
            (pass.input, View::row_major(rows, self.inputs)),
            (pass.params, self.weight_view().transposed()),
        );
    }

    fn backward(&self, pass: Backward<'_, T>) {
        let rows = pass.batch * self.pixels;
        let grad_view = View::row_major(rows, self.outputs);
        matmul(
            Into::Replace,
            (pass.params_grad, self.weight_view()),
            (pass.output_grad, grad_view.transposed()),
            (pass.input, View::row_major(rows, self.inputs)),
        );
        if !pass.input_grad.is_empty() {
            matmul(
                Into::Replace,
                (pass.input_grad, View::row_major(rows, self.inputs)),
                (pass.output_grad, grad_view),
                (pass.params, self.weight_view()),
            );
        }
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
            pixels in 1_usize..10,
            inputs in 1_usize..9,
            outputs in 1_usize..9,
            batch in 1_usize..4,
            seed in any::<u64>(),
        ) {
            assert_gradients(&Pointwise::new("pointwise", pixels, inputs, outputs), batch, seed);
        }
    }
}
