//! Depthwise convolution, 3×3: every channel by itself.

use crate::layer::{Backward, Forward, Init, Layer, ParamSpec, Sizes};
use crate::nn::depthwise_kernels::{Shape, TAPS, add_input_grad, add_weights_grad, convolve};
use crate::nn::groups::{LANES, run_with};
use crate::real::Real;

/// Takes and gives [height, width, channels] per sample; stride 1 or 2, padding 1, no bias. `weight` is
/// [channels, 1, 3, 3], as in PyTorch.
#[derive(Clone, Debug)]
pub struct Depthwise {
    name: String,
    height: usize,
    width: usize,
    channels: usize,
    stride: usize,
}

impl Depthwise {
    /// # Panics
    ///
    /// If the stride is neither 1 nor 2, or a side is 0.
    pub fn new(name: &str, [height, width]: [usize; 2], channels: usize, stride: usize) -> Self {
        assert!(stride == 1 || stride == 2, "{name}: a stride of {stride}");
        assert!(height > 0 && width > 0 && channels > 0, "{name}: {height}×{width}×{channels}");
        Self { name: name.to_owned(), height, width, channels, stride }
    }

    /// Height and width of what comes out.
    pub fn output_sides(&self) -> [usize; 2] {
        [(self.height - 1) / self.stride + 1, (self.width - 1) / self.stride + 1]
    }

    fn shape(&self) -> Shape {
        let Self { height, width, channels, stride, .. } = *self;
        let [_, output_width] = self.output_sides();
        Shape { height, width, channels, stride, output_width }
    }
}

/// Runs a kernel with groups that fill a register where the channels allow it, and with single channels otherwise.
macro_rules! in_groups {
    ($shape:expr, |$n:ident| $kernel:expr) => {
        run_with!($shape.channels.is_multiple_of(LANES), [false, true], |WHOLE: bool| {
            const $n: usize = if WHOLE { LANES } else { 1 };
            $kernel
        })
    };
}

impl<T: Real> Layer<T> for Depthwise {
    fn name(&self) -> &str {
        &self.name
    }

    fn params(&self) -> Vec<ParamSpec> {
        vec![ParamSpec::trained("weight", &[self.channels, 1, 3, 3], Init::fan_in(TAPS))]
    }

    fn sizes(&self) -> Sizes {
        let [height, width] = self.output_sides();
        Sizes {
            input: self.height * self.width * self.channels,
            output: self.output_sides().iter().product::<usize>() * self.channels,
            multiply_adds: height * width * 9 * self.channels,
        }
    }

    /// Weights by tap, a row of zeros, gradients by tap: of a sample and of the batch.
    fn scratch_len(&self, _batch: usize) -> usize {
        (3 * TAPS + self.width) * self.channels
    }

    fn forward(&self, pass: Forward<'_, T>) {
        let (weights, rest) = pass.scratch.split_at_mut(TAPS * self.channels);
        let zeros = &mut rest[..self.width * self.channels];
        zeros.fill(T::ZERO);
        for (channel, own) in pass.params.chunks_exact(TAPS).enumerate() {
            for (tap, &weight) in own.iter().enumerate() {
                weights[tap * self.channels + channel] = weight;
            }
        }
        let (shape, weights, zeros) = (self.shape(), &*weights, &*zeros);
        let inputs = pass.input.chunks_exact(Layer::<T>::input_len(self));
        let outputs = pass.output.chunks_exact_mut(Layer::<T>::output_len(self));
        for (input, output) in inputs.zip(outputs) {
            in_groups!(shape, |N| convolve::<T, N>(shape, (weights, false), zeros, input, output));
        }
    }

    fn backward(&self, pass: Backward<'_, T>) {
        let (weights, rest) = pass.scratch.split_at_mut(TAPS * self.channels);
        let (zeros, rest) = rest.split_at_mut(self.width * self.channels);
        let (weights_grad, sample_grad) = rest.split_at_mut(TAPS * self.channels);
        let (weights, zeros) = (&*weights, &*zeros);
        let (input_len, output_len) = (Layer::<T>::input_len(self), Layer::<T>::output_len(self));
        let shape = self.shape();
        weights_grad.fill(T::ZERO);
        for sample in 0..pass.batch {
            let input = &pass.input[sample * input_len..][..input_len];
            let output_grad = &pass.output_grad[sample * output_len..][..output_len];
            // Sample by sample, because a single sum of tens of thousands of terms would lose digits.
            sample_grad.fill(T::ZERO);
            let sums = &mut *sample_grad;
            in_groups!(shape, |N| add_weights_grad::<T, N>(shape, zeros, input, output_grad, sums));
            weights_grad.iter_mut().zip(&*sample_grad).for_each(|(sum, &grad)| *sum += grad);
            if pass.input_grad.is_empty() {
                continue;
            }
            let input_grad = &mut pass.input_grad[sample * input_len..][..input_len];
            if self.stride == 1 {
                in_groups!(shape, |N| convolve::<T, N>(
                    shape,
                    (weights, true),
                    zeros,
                    output_grad,
                    input_grad
                ));
            } else {
                input_grad.fill(T::ZERO);
                in_groups!(shape, |N| add_input_grad::<T, N>(shape, weights, output_grad, input_grad));
            }
        }
        for (channel, own) in pass.params_grad.chunks_exact_mut(TAPS).enumerate() {
            for (tap, grad) in own.iter_mut().enumerate() {
                *grad = weights_grad[tap * self.channels + channel];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::gradient_check::assert_gradients;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
        #[test]
        fn gradients(
            sides in [1_usize..7, 1_usize..7],
            channels in prop_oneof![1_usize..20, Just(8), Just(16), Just(24)],
            stride in 1_usize..3,
            batch in 1_usize..3,
            seed in any::<u64>(),
        ) {
            assert_gradients(&Depthwise::new("depthwise", sides, channels, stride), batch, seed);
        }
    }
}
