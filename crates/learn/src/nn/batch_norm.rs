//! Batch normalisation: each channel to mean 0 and variance 1 over the batch.
//!
//! Evaluation uses running statistics, which are parameters that no gradient moves. In federated training
//! they travel in the update like all the others: a device starts from the server's, moves them a tenth of
//! the way to each batch's own, and the server averages the differences with the weights of its
//! aggregation. So after a round they are the weighted mean of the devices' running means and of their
//! running variances. The latter leaves out how far the devices' means lie apart: with few labels per
//! device the variance comes out too small, which is one reason for group normalisation as the default.
//! PyTorch's counter `num_batches_tracked` is left out; it plays no part with a fixed momentum.

use crate::layer::{Backward, Forward, Init, Layer, ParamSpec, Sizes, cut};
use crate::nn::channels::{Affine, add_sums};
use crate::nn::group_norm::EPSILON;
use crate::real::Real;

/// How far running statistics move towards those of a batch, as in PyTorch.
const MOMENTUM: f64 = 0.1;

/// Arrays of channels in scratch.
const ARRAYS: usize = 10;

/// Takes and gives [pixels, channels] per sample: y = (x − mean)/√(variance + 1e-5)·weight + bias, with
/// mean and (biased) variance over the batch, or in evaluation the running ones, and max(0, ·) of it if
/// asked.
#[derive(Clone, Debug)]
pub struct BatchNorm {
    name: String,
    pixels: usize,
    channels: usize,
    relu: bool,
}

impl BatchNorm {
    /// For `channels` at each of `pixels` places.
    pub fn new(name: &str, pixels: usize, channels: usize) -> Self {
        Self { name: name.to_owned(), pixels, channels, relu: false }
    }

    /// A batch normalisation followed by a rectifier.
    pub fn relu(name: &str, pixels: usize, channels: usize) -> Self {
        Self { relu: true, ..Self::new(name, pixels, channels) }
    }
}

impl<T: Real> Layer<T> for BatchNorm {
    fn name(&self) -> &str {
        &self.name
    }

    fn params(&self) -> Vec<ParamSpec> {
        let param = |name, start| ParamSpec::trained(name, &[self.channels], Init::Constant(start));
        let running = |name, start| ParamSpec { trained: false, ..param(name, start) };
        vec![
            param("weight", 1.0),
            param("bias", 0.0),
            running("running_mean", 0.0),
            running("running_var", 1.0),
        ]
    }

    fn sizes(&self) -> Sizes {
        Sizes { input: self.pixels * self.channels, output: self.pixels * self.channels, multiply_adds: 0 }
    }

    fn scratch_len(&self, _batch: usize) -> usize {
        ARRAYS * self.channels
    }

    fn forward(&self, pass: Forward<'_, T>) {
        let [sum, squares, own, own_squares, scale, shift, mean, inverse, ..] =
            cut(pass.scratch, [self.channels; ARRAYS]);
        let [weight, bias, running_mean, running_var] = read(pass.params, self.channels);
        if pass.training {
            sum.fill(T::ZERO);
            squares.fill(T::ZERO);
            // Sample by sample, because a single sum of tens of thousands of terms would lose digits.
            for sample in pass.input.chunks_exact(self.pixels * self.channels) {
                own.fill(T::ZERO);
                own_squares.fill(T::ZERO);
                add_sums(sample, own, own_squares);
                add_to(sum, own);
                add_to(squares, own_squares);
            }
        }
        let count = (pass.batch * self.pixels) as f64;
        for channel in 0..self.channels {
            let (center, variance) = if pass.training {
                let center = sum[channel].to_f64() / count;
                (center, (squares[channel].to_f64() / count - center * center).max(0.0))
            } else {
                (running_mean[channel].to_f64(), running_var[channel].to_f64())
            };
            mean[channel] = T::from_f64(center);
            inverse[channel] = T::from_f64(1.0 / (variance + EPSILON).sqrt());
            scale[channel] = weight[channel] * inverse[channel];
            shift[channel] = bias[channel] - mean[channel] * scale[channel];
            // For the backward pass, which moves the running variance: PyTorch takes the unbiased one.
            squares[channel] = T::from_f64(variance * count / (count - 1.0).max(1.0));
        }
        Affine { scale, shift, relu: self.relu }.apply(pass.input, pass.output);
    }

    fn backward(&self, pass: Backward<'_, T>) {
        let [sum, squares, own, own_product, scale, shift, mean, inverse, slope, offset] =
            cut(pass.scratch, [self.channels; ARRAYS]);
        let [weight, _, running_mean, running_var] = read(pass.params, self.channels);
        let [weight_grad, bias_grad, mean_change, var_change] = cut(pass.params_grad, [self.channels; 4]);
        let momentum = T::from_f64(MOMENTUM);
        for channel in 0..self.channels {
            mean_change[channel] = momentum * (running_mean[channel] - mean[channel]);
            var_change[channel] = momentum * (running_var[channel] - squares[channel]);
        }

        let affine = Affine { scale, shift, relu: self.relu };
        let product = squares;
        sum.fill(T::ZERO);
        product.fill(T::ZERO);
        let len = self.pixels * self.channels;
        for (x, grad) in pass.input.chunks_exact(len).zip(pass.output_grad.chunks_exact(len)) {
            own.fill(T::ZERO);
            own_product.fill(T::ZERO);
            affine.add_grad_sums(x, grad, own, own_product);
            add_to(sum, own);
            add_to(product, own_product);
        }
        let count = T::from_f64((pass.batch * self.pixels) as f64);
        for channel in 0..self.channels {
            let (mean, inverse) = (mean[channel], inverse[channel]);
            // Σ g·x̂ with x̂ = (x − mean)·inverse.
            let normal = (product[channel] - mean * sum[channel]) * inverse;
            weight_grad[channel] = normal;
            bias_grad[channel] = sum[channel];
            // ∂/∂x = scale·(g − (Σ g + x̂·Σ g·x̂)/count), as g·scale + x·slope + offset.
            let scale = weight[channel] * inverse / count;
            slope[channel] = -(scale * inverse * normal);
            offset[channel] = -(scale * sum[channel]) - mean * slope[channel];
        }
        if !pass.input_grad.is_empty() {
            affine.apply_grad(pass.input, pass.output_grad, (slope, offset), pass.input_grad);
        }
    }
}

fn add_to<T: Real>(sums: &mut [T], terms: &[T]) {
    sums.iter_mut().zip(terms).for_each(|(sum, &term)| *sum += term);
}

fn read<T>(params: &[T], channels: usize) -> [&[T]; 4] {
    std::array::from_fn(|array| &params[array * channels..(array + 1) * channels])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{gradient_check::assert_gradients, rectified::assert_rectified};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
        #[test]
        fn gradients(
            pixels in 5_usize..9, channels in 1_usize..20, batch in 2_usize..4, seed in any::<u64>(),
        ) {
            let plain = BatchNorm::new("norm", pixels, channels);
            assert_gradients(&plain, batch, seed);
            assert_rectified(&BatchNorm::relu("norm", pixels, channels), &plain, batch, seed);
        }
    }

    #[test]
    fn running_statistics_move_and_serve_evaluation() {
        let norm = BatchNorm::new("norm", 2, 1);
        // Mean 4, unbiased variance (9 + 1 + 1 + 9)/3.
        let input = [1.0, 3.0, 5.0, 7.0];
        let params = [2.0, 1.0, 10.0, 1.0];
        let mut output = [f64::NAN; 4];
        let mut scratch = vec![f64::NAN; Layer::<f64>::scratch_len(&norm, 2)];
        let mut forward = |training, scratch: &mut [f64]| {
            let (input, output) = (&input, &mut output);
            norm.forward(Forward { batch: 2, params: &params, input, output, scratch, training });
            *output
        };
        let output = forward(true, &mut scratch);
        let mut params_grad = [f64::NAN; 4];
        norm.backward(Backward {
            batch: 2,
            params: &params,
            input: &input,
            output: &output,
            output_grad: &mut [0.0; 4],
            input_grad: &mut [],
            params_grad: &mut params_grad,
            scratch: &mut scratch,
        });
        assert!((params[2] - params_grad[2] - 9.4).abs() < 1e-12);
        assert!((params[3] - params_grad[3] - (0.9 + 0.1 * 20.0 / 3.0)).abs() < 1e-12);
        // (1 − 10)/1·2 + 1, but for the 1e-5 in the root.
        assert!((forward(false, &mut scratch)[0] + 17.0).abs() < 1e-3);
    }
}
