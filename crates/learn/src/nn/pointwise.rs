//! Pointwise convolution, 1×1: the same linear map at every pixel, which is one matrix product.

use crate::layer::{Backward, Forward, Init, Layer, ParamSpec, Sizes};
use crate::matmul::{Into, RowProducts};
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

    fn products(&self, batch: usize) -> RowProducts {
        RowProducts { rows: batch * self.pixels, inputs: self.inputs, outputs: self.outputs }
    }
}

impl<T: Real> Layer<T> for Pointwise {
    fn name(&self) -> &str {
        &self.name
    }

    fn params(&self) -> Vec<ParamSpec> {
        let shape = [self.outputs, self.inputs, 1, 1];
        vec![ParamSpec::trained("weight", &shape, Init::fan_in(self.inputs))]
    }

    fn sizes(&self) -> Sizes {
        Sizes {
            input: self.pixels * self.inputs,
            output: self.pixels * self.outputs,
            multiply_adds: self.pixels * self.inputs * self.outputs,
        }
    }

    fn forward(&self, pass: Forward<'_, T>) {
        self.products(pass.batch).output(Into::Replace, pass.params, pass.input, pass.output);
    }

    fn backward(&self, pass: Backward<'_, T>) {
        let products = self.products(pass.batch);
        products.weight_grad(Into::Replace, pass.input, pass.output_grad, pass.params_grad);
        products.input_grad(pass.params, pass.output_grad, pass.input_grad);
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
