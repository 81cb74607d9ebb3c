//! The first convolution of a network, 3×3 over few channels: patches copied out, then a matrix product.
//!
//! The patches of a few samples at a time, so that the product has rows enough to be fast and its input
//! is still in the cache.

use crate::layer::{Backward, Forward, Init, Layer, ParamSpec, Sizes};
use crate::matmul::{Into, RowProducts};
use crate::real::Real;

/// Rows of patches that go into one product: 27 numbers each for a colour image, 220 kB in f32, which the
/// second cache holds.
const ROWS: usize = 2048;

/// Takes [height, width, inputs] and gives [height, width, outputs] per sample; stride 1, padding 1, no
/// bias. `weight` is [outputs, inputs, 3, 3], as in PyTorch.
#[derive(Clone, Debug)]
pub struct Stem {
    name: String,
    height: usize,
    width: usize,
    inputs: usize,
    outputs: usize,
}

impl Stem {
    /// From `inputs` channels to `outputs`.
    pub fn new(name: &str, [height, width]: [usize; 2], inputs: usize, outputs: usize) -> Self {
        Self { name: name.to_owned(), height, width, inputs, outputs }
    }

    fn pixels(&self) -> usize {
        self.height * self.width
    }

    /// Numbers in a patch: three rows of three pixels of all input channels.
    fn patch(&self) -> usize {
        9 * self.inputs
    }

    /// The number of samples in one matrix product.
    fn together(&self) -> usize {
        (ROWS / self.pixels().max(1)).max(1)
    }

    /// Of the patches of `numbers` inputs.
    fn products(&self, numbers: usize) -> RowProducts {
        RowProducts { rows: numbers / self.inputs, inputs: self.patch(), outputs: self.outputs }
    }

    fn weights_len(&self) -> usize {
        self.outputs * self.patch()
    }

    /// Calls `f(place in PyTorch's order, place in the order of a patch)` for each weight.
    fn each_weight(&self, mut f: impl FnMut(usize, usize)) {
        for output in 0..self.outputs {
            for input in 0..self.inputs {
                for tap in 0..9 {
                    let row = output * self.patch();
                    f(row + input * 9 + tap, row + tap * self.inputs + input);
                }
            }
        }
    }

    /// Calls `f(start in the sample, start in the patches, length)` for each run of numbers that the
    /// sample and its patches share: within a row of a patch, neighbouring pixels are neighbours.
    fn each_run(&self, mut f: impl FnMut(usize, usize, usize)) {
        for y in 0..self.height {
            for x in 0..self.width {
                let patch = (y * self.width + x) * self.patch();
                let (first, last) = (x.max(1) - 1, (x + 1).min(self.width - 1));
                for ky in 0..3 {
                    let Some(from_y) = (y + ky).checked_sub(1).filter(|&y| y < self.height) else { continue };
                    let start = (from_y * self.width + first) * self.inputs;
                    let skipped = first + 1 - x;
                    f(start, patch + (ky * 3 + skipped) * self.inputs, (last + 1 - first) * self.inputs);
                }
            }
        }
    }

    /// Copies the patches of some samples; what lies beyond the edge stays as it is, 0.
    fn copy_patches<T: Real>(&self, samples: &[T], patches: &mut [T]) {
        let sample_patches = patches.chunks_exact_mut(self.pixels() * self.patch());
        for (sample, patches) in samples.chunks_exact(self.pixels() * self.inputs).zip(sample_patches) {
            // Most runs are three pixels of three colours: a length that the compiler knows makes a copy
            // of a few instructions out of a call.
            self.each_run(|from, to, len| match len {
                9 => patches[to..to + 9].copy_from_slice(&sample[from..from + 9]),
                _ => patches[to..to + len].copy_from_slice(&sample[from..from + len]),
            });
        }
    }
}

impl<T: Real> Layer<T> for Stem {
    fn name(&self) -> &str {
        &self.name
    }

    fn params(&self) -> Vec<ParamSpec> {
        let shape = [self.outputs, self.inputs, 3, 3];
        vec![ParamSpec::trained("weight", &shape, Init::fan_in(self.patch()))]
    }

    fn sizes(&self) -> Sizes {
        Sizes {
            input: self.pixels() * self.inputs,
            output: self.pixels() * self.outputs,
            multiply_adds: self.height * self.width * 9 * self.inputs * self.outputs,
        }
    }

    /// Weights and their gradients in the order of a patch, then patches.
    fn scratch_len(&self, batch: usize) -> usize {
        2 * self.weights_len() + self.together().min(batch) * self.pixels() * self.patch()
    }

    fn forward(&self, pass: Forward<'_, T>) {
        let (weights, rest) = pass.scratch.split_at_mut(self.weights_len());
        let patches = &mut rest[self.weights_len()..];
        self.each_weight(|torch, own| weights[own] = pass.params[torch]);
        patches.fill(T::ZERO);
        let together = self.together();
        let inputs = pass.input.chunks(together * Layer::<T>::input_len(self));
        let outputs = pass.output.chunks_mut(together * Layer::<T>::output_len(self));
        for (input, output) in inputs.zip(outputs) {
            self.copy_patches(input, patches);
            self.products(input.len()).output(Into::Replace, weights, patches, output);
        }
    }

    fn backward(&self, pass: Backward<'_, T>) {
        let (weights, rest) = pass.scratch.split_at_mut(self.weights_len());
        let (weights_grad, patches) = rest.split_at_mut(self.weights_len());
        weights_grad.fill(T::ZERO);
        let together = self.together();
        let input_len = Layer::<T>::input_len(self);
        let output_len = Layer::<T>::output_len(self);
        let inputs = pass.input.chunks(together * input_len);
        for (input, grad) in inputs.zip(pass.output_grad.chunks(together * output_len)) {
            self.copy_patches(input, patches);
            self.products(input.len()).weight_grad(Into::Add, patches, grad, weights_grad);
        }
        // Up to here, what the forward pass left beyond the edges was still 0.
        self.each_weight(|torch, own| pass.params_grad[torch] = weights_grad[own]);
        if pass.input_grad.is_empty() {
            return;
        }
        pass.input_grad.fill(T::ZERO);
        let grads = pass.output_grad.chunks(output_len);
        for (grad, input_grad) in grads.zip(pass.input_grad.chunks_mut(input_len)) {
            let patches = &mut patches[..self.pixels() * self.patch()];
            self.products(input_len).input_grad(weights, grad, patches);
            self.each_run(|to, from, len| {
                let sums = input_grad[to..to + len].iter_mut();
                sums.zip(&patches[from..from + len]).for_each(|(sum, &grad)| *sum += grad);
            });
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
            sides in [1_usize..6, 1_usize..6],
            inputs in 1_usize..4,
            outputs in 1_usize..6,
            batch in 1_usize..4,
            seed in any::<u64>(),
        ) {
            assert_gradients(&Stem::new("stem", sides, inputs, outputs), batch, seed);
        }
    }

    #[test]
    fn more_samples_than_one_product_takes() {
        let stem = Stem::new("stem", [32, 32], 1, 1);
        let input: Vec<f64> = (0..5 * 1024).map(|i| f64::from(i % 97)).collect();
        let params = [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
        let mut output = vec![f64::NAN; input.len()];
        let mut scratch = vec![f64::NAN; Layer::<f64>::scratch_len(&stem, 5)];
        stem.forward(Forward {
            batch: 5,
            params: &params,
            input: &input,
            output: &mut output,
            scratch: &mut scratch,
            training: false,
        });
        // The one weight looks one pixel to the right.
        for (row, shifted) in input.chunks(32).zip(output.chunks(32)) {
            assert_eq!(row[1..], shifted[..31]);
            assert_eq!(shifted[31], 0.0);
        }
    }
}
