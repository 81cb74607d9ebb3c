//! Convolution with stride 1: patches laid out as columns, then one matrix product.
//!
//! Takes and gives [channel][sample][row][column]. With the positions of several samples side by side, the
//! product is [outputs, inputs·k·k] × [inputs·k·k, positions]: its long side is contiguous, and the weight
//! is used as PyTorch stores it. Patches are made for as many samples at a time as fit the second-level
//! cache, and made again in the backward pass: writing them out once and reading them back from memory
//! costs more.

use crate::layer::{Backward, Forward, Init, Layer, ParamSpec};
use crate::matmul::{Into, View, matmul};
use crate::real::Real;

/// Numbers of patches in flight: 64 Ki of f32 are half of a usual second-level cache.
const PATCH_NUMBERS: usize = 1 << 16;

/// Square images, square kernels. `weight` is [outputs, inputs, k, k], as in PyTorch.
#[derive(Clone, Debug)]
pub struct Conv {
    name: String,
    inputs: usize,
    outputs: usize,
    kernel: usize,
    padding: usize,
    side: usize,
}

impl Conv {
    /// From images of `side`·`side` with `inputs` channels to `outputs` channels.
    ///
    /// # Panics
    ///
    /// If the kernel does not fit into the padded image.
    pub fn new(name: &str, channels: (usize, usize), side: usize, kernel: usize, padding: usize) -> Self {
        assert!(
            kernel >= 1 && kernel <= side + 2 * padding,
            "{name}: a kernel of {kernel} in {side} + 2·{padding}"
        );
        Self { name: name.to_owned(), inputs: channels.0, outputs: channels.1, kernel, padding, side }
    }

    /// The side of the images that come out.
    pub fn output_side(&self) -> usize {
        self.side + 2 * self.padding + 1 - self.kernel
    }

    /// inputs·k·k.
    fn patch_len(&self) -> usize {
        self.inputs * self.kernel * self.kernel
    }

    /// Positions of one sample.
    fn positions(&self) -> usize {
        self.output_side() * self.output_side()
    }

    /// How many samples' patches are made at a time.
    fn samples_at_a_time(&self, batch: usize) -> usize {
        (PATCH_NUMBERS / (self.patch_len() * self.positions())).clamp(1, batch.max(1))
    }

    /// For each entry of a patch: where its row of the column matrix comes from.
    fn taps(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let kernel = self.kernel;
        (0..self.inputs)
            .flat_map(move |c| (0..kernel).flat_map(move |ky| (0..kernel).map(move |kx| (c, ky, kx))))
    }

    /// The columns of an output row that a tap reads from inside the image, and the first of them there.
    fn inside(&self, k: usize) -> (std::ops::Range<usize>, usize) {
        let from = self.padding.saturating_sub(k).min(self.output_side());
        let to = (self.side + self.padding).saturating_sub(k).min(self.output_side()).max(from);
        (from..to, (from + k).saturating_sub(self.padding))
    }

    /// Lays the patches of `samples` out as columns: row = tap, column = position.
    fn patches<T: Real>(
        &self,
        input: &[T],
        batch: usize,
        samples: std::ops::Range<usize>,
        columns: &mut [T],
    ) {
        let (side, out) = (self.side, self.output_side());
        let row_len = samples.len() * self.positions();
        for ((c, ky, kx), row) in self.taps().zip(columns.chunks_exact_mut(row_len)) {
            let (xs, x0) = self.inside(kx);
            for (sample, plane) in samples.clone().zip(row.chunks_exact_mut(out * out)) {
                let image = &input[(c * batch + sample) * side * side..][..side * side];
                for (oy, line) in plane.chunks_exact_mut(out).enumerate() {
                    let y = (oy + ky).wrapping_sub(self.padding);
                    if y >= side {
                        line.fill(T::ZERO);
                        continue;
                    }
                    line[..xs.start].fill(T::ZERO);
                    line[xs.end..].fill(T::ZERO);
                    line[xs.clone()].copy_from_slice(&image[y * side + x0..][..xs.len()]);
                }
            }
        }
    }

    /// Adds columns back to where their patches came from.
    fn add_patches<T: Real>(
        &self,
        columns: &[T],
        batch: usize,
        samples: std::ops::Range<usize>,
        input_grad: &mut [T],
    ) {
        let (side, out) = (self.side, self.output_side());
        let row_len = samples.len() * self.positions();
        for ((c, ky, kx), row) in self.taps().zip(columns.chunks_exact(row_len)) {
            let (xs, x0) = self.inside(kx);
            for (sample, plane) in samples.clone().zip(row.chunks_exact(out * out)) {
                let image = &mut input_grad[(c * batch + sample) * side * side..][..side * side];
                for (oy, line) in plane.chunks_exact(out).enumerate() {
                    let y = (oy + ky).wrapping_sub(self.padding);
                    if y < side {
                        let target = &mut image[y * side + x0..][..xs.len()];
                        target.iter_mut().zip(&line[xs.clone()]).for_each(|(sum, &grad)| *sum += grad);
                    }
                }
            }
        }
    }
}

impl<T: Real> Layer<T> for Conv {
    fn name(&self) -> &str {
        &self.name
    }

    fn params(&self) -> Vec<ParamSpec> {
        let init = Init::Uniform(1.0 / (self.patch_len() as f64).sqrt());
        let shape = vec![self.outputs, self.inputs, self.kernel, self.kernel];
        vec![
            ParamSpec { name: "weight", shape, init, trained: true },
            ParamSpec { name: "bias", shape: vec![self.outputs], init, trained: true },
        ]
    }

    fn input_len(&self) -> usize {
        self.inputs * self.side * self.side
    }

    fn output_len(&self) -> usize {
        self.outputs * self.positions()
    }

    fn scratch_len(&self, batch: usize) -> usize {
        2 * self.samples_at_a_time(batch) * self.positions() * self.patch_len()
    }

    fn forward(&self, pass: Forward<'_, T>) {
        let Forward { batch, params, input, output, scratch, .. } = pass;
        let (weight, bias) = params.split_at(self.outputs * self.patch_len());
        let plane = batch * self.positions();
        for (channel, &bias) in output.chunks_exact_mut(plane).zip(bias) {
            channel.fill(bias);
        }
        let at_a_time = self.samples_at_a_time(batch);
        for first in (0..batch).step_by(at_a_time) {
            let samples = first..(first + at_a_time).min(batch);
            let positions = samples.len() * self.positions();
            let columns = &mut scratch[..positions * self.patch_len()];
            self.patches(input, batch, samples, columns);
            let out_view = View { row_stride: plane, ..View::row_major(self.outputs, positions) };
            matmul(
                Into::Add,
                (&mut output[first * self.positions()..], out_view),
                (weight, View::row_major(self.outputs, self.patch_len())),
                (columns, View::row_major(self.patch_len(), positions)),
            );
        }
    }

    fn backward(&self, pass: Backward<'_, T>) {
        let Backward { batch, params, input, output_grad, input_grad, params_grad, scratch, .. } = pass;
        let weight = &params[..self.outputs * self.patch_len()];
        let (weight_grad, bias_grad) = params_grad.split_at_mut(weight.len());
        let plane = batch * self.positions();
        for (channel, bias_grad) in output_grad.chunks_exact(plane).zip(bias_grad) {
            *bias_grad = channel.iter().copied().sum();
        }
        weight_grad.fill(T::ZERO);
        input_grad.fill(T::ZERO);
        let at_a_time = self.samples_at_a_time(batch);
        let half = scratch.len() / 2;
        let (columns, columns_grad) = scratch.split_at_mut(half);
        let weight_view = View::row_major(self.outputs, self.patch_len());
        for first in (0..batch).step_by(at_a_time) {
            let samples = first..(first + at_a_time).min(batch);
            let positions = samples.len() * self.positions();
            let columns_view = View::row_major(self.patch_len(), positions);
            let columns = &mut columns[..positions * self.patch_len()];
            self.patches(input, batch, samples.clone(), columns);
            let grad = &output_grad[first * self.positions()..];
            let grad_view = View { row_stride: plane, ..View::row_major(self.outputs, positions) };
            matmul(
                Into::Add,
                (weight_grad, weight_view),
                (grad, grad_view),
                (columns, columns_view.transposed()),
            );
            if !input_grad.is_empty() {
                let columns_grad = &mut columns_grad[..positions * self.patch_len()];
                matmul(
                    Into::Replace,
                    (columns_grad, columns_view),
                    (weight, weight_view.transposed()),
                    (grad, grad_view),
                );
                self.add_patches(columns_grad, batch, samples, input_grad);
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
        #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
        #[test]
        fn gradients(
            channels in (1_usize..4, 1_usize..4), side in 1_usize..7, kernel in 1_usize..6, padding in 0_usize..4,
            batch in 1_usize..4, seed in any::<u64>(),
        ) {
            prop_assume!(kernel <= side + 2 * padding);
            assert_gradients(&Conv::new("conv", channels, side, kernel, padding), batch, seed);
        }
    }

    /// By the definition, one output at a time.
    #[test]
    fn forward_is_the_definition() {
        let (side, batch) = (4_usize, 2_usize);
        let conv = Conv::new("conv", (2, 1), side, 3, 1);
        let params: Vec<f64> = (0..19).map(|n| f64::from(n) - 9.0).collect();
        let input: Vec<f64> = (0..2 * batch * side * side).map(|n| (n * 7 % 11) as f64).collect();
        let mut output = vec![0.0; batch * side * side];
        let mut scratch = vec![0.0; Layer::<f64>::scratch_len(&conv, batch)];
        let pass = Forward {
            batch,
            params: &params,
            input: &input,
            output: &mut output,
            scratch: &mut scratch,
            training: false,
        };
        conv.forward(pass);
        for (b, y, x) in
            (0..batch).flat_map(|b| (0..side).flat_map(move |y| (0..side).map(move |x| (b, y, x))))
        {
            let mut expected = params[18];
            for (c, ky, kx) in conv.taps() {
                let (iy, ix) = ((y + ky).wrapping_sub(1), (x + kx).wrapping_sub(1));
                if iy < side && ix < side {
                    expected +=
                        params[c * 9 + ky * 3 + kx] * input[((c * batch + b) * side + iy) * side + ix];
                }
            }
            assert_eq!(output[(b * side + y) * side + x], expected, "{b} {y} {x}");
        }
    }
}
