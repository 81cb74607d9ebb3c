//! Global average pooling: the mean of each channel over all pixels.

use crate::layer::{Backward, Forward, Layer, Sizes};
use crate::real::Real;

/// Takes `[pixels, channels]` and gives `[channels]` per sample.
#[derive(Clone, Debug)]
pub struct GlobalPool {
    pixels: usize,
    channels: usize,
}

impl GlobalPool {
    /// The mean over `pixels` places.
    pub fn new(pixels: usize, channels: usize) -> Self {
        Self { pixels, channels }
    }

    fn share<T: Real>(&self) -> T {
        T::from_f64(1.0 / self.pixels as f64)
    }
}

impl<T: Real> Layer<T> for GlobalPool {
    fn name(&self) -> &str {
        "global_pool"
    }

    fn sizes(&self) -> Sizes {
        Sizes { input: self.pixels * self.channels, output: self.channels, multiply_adds: 0 }
    }

    fn forward(&self, pass: Forward<'_, T>) {
        let samples = pass.input.chunks_exact(self.pixels * self.channels);
        for (sample, means) in samples.zip(pass.output.chunks_exact_mut(self.channels)) {
            means.fill(T::ZERO);
            for pixel in sample.chunks_exact(self.channels) {
                means.iter_mut().zip(pixel).for_each(|(sum, &x)| *sum += x);
            }
            means.iter_mut().for_each(|sum| *sum *= self.share());
        }
    }

    fn backward(&self, pass: Backward<'_, T>) {
        let samples = pass.input_grad.chunks_exact_mut(self.pixels * self.channels);
        for (sample, grads) in samples.zip(pass.output_grad.chunks_exact(self.channels)) {
            for pixel in sample.chunks_exact_mut(self.channels) {
                pixel.iter_mut().zip(grads).for_each(|(x_grad, &grad)| *x_grad = grad * self.share());
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
        #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
        #[test]
        fn gradients(
            pixels in 1_usize..10, channels in 1_usize..10, batch in 1_usize..4, seed in any::<u64>(),
        ) {
            assert_gradients(&GlobalPool::new(pixels, channels), batch, seed);
        }
    }
}
