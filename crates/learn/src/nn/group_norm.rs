//! Group normalisation: each sample's channels, a group at a time, to mean 0 and variance 1.

use crate::layer::{Backward, Forward, Init, Layer, ParamSpec, Sizes, cut};
use crate::nn::channels::{Affine, add_sums};
use crate::real::Real;

/// Added to the variance, as in PyTorch.
pub(crate) const EPSILON: f64 = 1e-5;

/// Takes and gives [pixels, channels] per sample: y = (x − mean)/√(variance + 1e-5)·weight + bias, with
/// mean and (biased) variance over a group of neighbouring channels at all pixels, and max(0, ·) of it if
/// asked. Knows no running statistics: it is the same in training and evaluation.
#[derive(Clone, Debug)]
pub struct GroupNorm {
    name: String,
    pixels: usize,
    channels: usize,
    groups: usize,
    relu: bool,
}

impl GroupNorm {
    /// # Panics
    ///
    /// If the groups do not divide the channels.
    pub fn new(name: &str, pixels: usize, channels: usize, groups: usize) -> Self {
        assert!(
            groups > 0 && channels.is_multiple_of(groups),
            "{name}: {channels} channels in {groups} groups"
        );
        Self { name: name.to_owned(), pixels, channels, groups, relu: false }
    }

    /// A group normalisation followed by a rectifier.
    pub fn relu(name: &str, pixels: usize, channels: usize, groups: usize) -> Self {
        Self { relu: true, ..Self::new(name, pixels, channels, groups) }
    }

    /// The number of channels per group.
    fn size(&self) -> usize {
        self.channels / self.groups
    }

    /// Mean and 1/√(variance + ε) of each group, from sums per channel.
    fn statistics<T: Real>(&self, sum: &[T], squares: &[T], statistics: &mut [T]) {
        let count = (self.pixels * self.size()) as f64;
        let groups = sum.chunks_exact(self.size()).zip(squares.chunks_exact(self.size()));
        for ((sum, squares), out) in groups.zip(statistics.chunks_exact_mut(2)) {
            let total = |sums: &[T]| sums.iter().map(|sum| sum.to_f64()).sum::<f64>();
            let mean = total(sum) / count;
            let variance = (total(squares) / count - mean * mean).max(0.0);
            out[0] = T::from_f64(mean);
            out[1] = T::from_f64(1.0 / (variance + EPSILON).sqrt());
        }
    }

    /// Normalisation, weight and bias as one scale and shift per channel. Both passes call this, and so
    /// agree to the bit on what ReLU cuts off.
    fn affine<'a, T: Real>(
        &self,
        params: &[T],
        statistics: &[T],
        scale: &'a mut [T],
        shift: &'a mut [T],
    ) -> Affine<'a, T> {
        let (weight, bias) = params.split_at(self.channels);
        for (channel, (scale, shift)) in scale.iter_mut().zip(shift.iter_mut()).enumerate() {
            let group = 2 * (channel / self.size());
            *scale = weight[channel] * statistics[group + 1];
            *shift = bias[channel] - statistics[group] * *scale;
        }
        Affine { scale, shift, relu: self.relu }
    }
}

impl<T: Real> Layer<T> for GroupNorm {
    fn name(&self) -> &str {
        &self.name
    }

    fn params(&self) -> Vec<ParamSpec> {
        let param = |name, start| ParamSpec::trained(name, &[self.channels], Init::Constant(start));
        vec![param("weight", 1.0), param("bias", 0.0)]
    }

    fn sizes(&self) -> Sizes {
        Sizes { input: self.pixels * self.channels, output: self.pixels * self.channels, multiply_adds: 0 }
    }

    /// Six arrays of channels to work in; mean and 1/√(variance + ε) of every group of every sample.
    fn scratch_len(&self, batch: usize) -> usize {
        6 * self.channels + 2 * self.groups * batch
    }

    fn forward(&self, pass: Forward<'_, T>) {
        let (work, statistics) = pass.scratch.split_at_mut(6 * self.channels);
        let [sum, squares, scale, shift] = cut(work, [self.channels; 4]);
        let len = self.pixels * self.channels;
        let samples = pass.input.chunks_exact(len).zip(pass.output.chunks_exact_mut(len));
        for ((x, y), statistics) in samples.zip(statistics.chunks_exact_mut(2 * self.groups)) {
            sum.fill(T::ZERO);
            squares.fill(T::ZERO);
            add_sums(x, sum, squares);
            self.statistics(sum, squares, statistics);
            self.affine(pass.params, statistics, scale, shift).apply(x, y);
        }
    }

    fn backward(&self, pass: Backward<'_, T>) {
        let (work, statistics) = pass.scratch.split_at_mut(6 * self.channels);
        let [sum, product, scale, shift, slope, offset] = cut(work, [self.channels; 6]);
        let (weight_grad, bias_grad) = pass.params_grad.split_at_mut(self.channels);
        weight_grad.fill(T::ZERO);
        bias_grad.fill(T::ZERO);
        let len = self.pixels * self.channels;
        let count = T::from_f64((self.pixels * self.size()) as f64);
        for sample in 0..pass.batch {
            let x = &pass.input[sample * len..][..len];
            let grad = &pass.output_grad[sample * len..][..len];
            let statistics = &statistics[sample * 2 * self.groups..][..2 * self.groups];
            let affine = self.affine(pass.params, statistics, scale, shift);
            sum.fill(T::ZERO);
            product.fill(T::ZERO);
            affine.add_grad_sums(x, grad, sum, product);
            for (group, statistics) in statistics.chunks_exact(2).enumerate() {
                let (mean, inverse) = (statistics[0], statistics[1]);
                // Σ g·weight and Σ g·weight·x̂ over the group, x̂ = (x − mean)·inverse.
                let (mut plain, mut along) = (T::ZERO, T::ZERO);
                let own = group * self.size()..(group + 1) * self.size();
                for channel in own.clone() {
                    let normal = (product[channel] - mean * sum[channel]) * inverse;
                    weight_grad[channel] += normal;
                    bias_grad[channel] += sum[channel];
                    plain += pass.params[channel] * sum[channel];
                    along += pass.params[channel] * normal;
                }
                // ∂/∂x = inverse·(g·weight − (plain + x̂·along)/count), as g·scale + x·slope + offset.
                let group_slope = -(inverse * inverse * along / count);
                slope[own.clone()].fill(group_slope);
                offset[own].fill(-(inverse * plain / count) - mean * group_slope);
            }
            if !pass.input_grad.is_empty() {
                let x_grad = &mut pass.input_grad[sample * len..][..len];
                affine.apply_grad(x, grad, (slope, offset), x_grad);
            }
        }
    }
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
            // Enough numbers per group that the variance is not tiny by chance: differences would be off.
            pixels in 10_usize..16,
            groups in 1_usize..4,
            size in 1_usize..7,
            batch in 1_usize..4,
            seed in any::<u64>(),
        ) {
            let plain = GroupNorm::new("norm", pixels, groups * size, groups);
            assert_gradients(&plain, batch, seed);
            let rectified = GroupNorm::relu("norm", pixels, groups * size, groups);
            assert_rectified(&rectified, &plain, batch, seed);
        }
    }
}
