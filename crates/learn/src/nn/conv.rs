//! Convolution with stride 1: patches laid out as columns, then one matrix product.
//!
//! Takes and gives `[channel][sample][row][column]`. With the positions of several samples side by side, the
//! product is [outputs, inputs·k·k] × [inputs·k·k, positions]: its long side is contiguous, and the weight
//! is used as PyTorch stores it. Patches are made for as many samples at a time as fit the second-level
//! cache, and made again in the backward pass: writing them out once and reading them back from memory
//! costs more.

use std::ops::Range;

use crate::layer::{Backward, Forward, Init, Layer, ParamSpec};
use crate::matmul::{Into, View, matmul};
use crate::real::{Real, sum};

/// Numbers of patches in flight: 64 Ki of f32 are half of a usual second-level cache.
const PATCH_NUMBERS: usize = 1 << 16;

/// Picks the version of a function for a line length.
macro_rules! by_line_length {
    ($out:expr, $function:ident::<T>($($argument:expr),*)) => {
        match $out {
            8 => $function::<T, 8>($($argument),*),
            14 => $function::<T, 14>($($argument),*),
            24 => $function::<T, 24>($($argument),*),
            28 => $function::<T, 28>($($argument),*),
            _ => $function::<T, 0>($($argument),*),
        }
    };
}

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

    /// The side of an image with its padding.
    fn padded_side(&self) -> usize {
        self.side + 2 * self.padding
    }

    /// For each entry of a patch, in the order of the weight: channel, row and column.
    fn taps(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let kernel = self.kernel;
        (0..self.inputs)
            .flat_map(move |c| (0..kernel).flat_map(move |ky| (0..kernel).map(move |kx| (c, ky, kx))))
    }

    /// Copies the images of `samples` into a frame of zeros, so that every tap reads whole lines.
    fn pad<T: Real>(&self, input: &[T], batch: usize, samples: Range<usize>, padded: &mut [T]) {
        padded.fill(T::ZERO);
        for (inside, outside) in self.lines(batch, samples) {
            padded[outside..][..self.side].copy_from_slice(&input[inside..][..self.side]);
        }
    }

    /// Copies the gradient of framed images back, without the frame.
    fn crop<T: Real>(&self, padded: &[T], batch: usize, samples: Range<usize>, input_grad: &mut [T]) {
        for (inside, outside) in self.lines(batch, samples) {
            input_grad[inside..][..self.side].copy_from_slice(&padded[outside..][..self.side]);
        }
    }

    /// Where each line of the images starts: in the batch, and framed.
    fn lines(&self, batch: usize, samples: Range<usize>) -> impl Iterator<Item = (usize, usize)> {
        let (side, padding, framed, count) = (self.side, self.padding, self.padded_side(), samples.len());
        (0..self.inputs).flat_map(move |c| {
            samples.clone().enumerate().flat_map(move |(place, sample)| {
                (0..side).map(move |y| {
                    let inside = ((c * batch + sample) * side + y) * side;
                    let outside = ((c * count + place) * framed + y + padding) * framed + padding;
                    (inside, outside)
                })
            })
        })
    }
}

impl Conv {
    /// The patches of `samples` as columns; `framed` is where images get their padding.
    fn columns<T: Real>(
        &self,
        input: &[T],
        batch: usize,
        samples: Range<usize>,
        framed: &mut [T],
        columns: &mut [T],
    ) {
        let count = samples.len();
        let (images, source) = if self.padding == 0 {
            (Images { batch, first: samples.start, count }, input)
        } else {
            let framed = &mut framed[..count * self.inputs * self.padded_side().pow(2)];
            self.pad(input, batch, samples, framed);
            (Images { batch: count, first: 0, count }, &*framed)
        };
        by_line_length!(self.output_side(), patches::<T>(self, images, source, columns));
    }

    /// The other way round: columns of gradients are added up where their patches came from.
    fn add_columns<T: Real>(
        &self,
        columns: &[T],
        batch: usize,
        samples: Range<usize>,
        framed: &mut [T],
        input_grad: &mut [T],
    ) {
        let count = samples.len();
        if self.padding == 0 {
            let images = Images { batch, first: samples.start, count };
            by_line_length!(self.output_side(), add_patches::<T>(self, images, columns, input_grad));
        } else {
            let framed = &mut framed[..count * self.inputs * self.padded_side().pow(2)];
            framed.fill(T::ZERO);
            let images = Images { batch: count, first: 0, count };
            by_line_length!(self.output_side(), add_patches::<T>(self, images, columns, framed));
            self.crop(framed, batch, samples, input_grad);
        }
    }
}

/// Framed images, `[channel][sample][row][column]`, of which some samples are looked at.
#[derive(Clone, Copy)]
struct Images {
    /// Samples a channel holds.
    batch: usize,
    /// The first one that is looked at, and how many.
    first: usize,
    count: usize,
}

/// Goes through taps, samples and lines: for each line of `out` numbers of the columns, where it is there
/// and where its patch entries are in the images.
#[inline(always)]
fn each_line(conv: &Conv, images: Images, mut line: impl FnMut(usize, usize)) {
    let (side, out) = (conv.padded_side(), conv.output_side());
    let mut column = 0;
    for (c, ky, kx) in conv.taps() {
        for sample in images.first..images.first + images.count {
            let corner = ((c * images.batch + sample) * side + ky) * side + kx;
            for oy in 0..out {
                line(column, corner + oy * side);
                column += out;
            }
        }
    }
}

/// Lays patches out as columns: row = tap, column = position. `N` is the length of a line, or 0 for any:
/// with a known length a line is a few vector moves instead of a call.
fn patches<T: Real, const N: usize>(conv: &Conv, images: Images, input: &[T], columns: &mut [T]) {
    let out = conv.output_side();
    each_line(conv, images, |column, pixel| {
        match (columns[column..].first_chunk_mut::<N>(), input[pixel..].first_chunk::<N>()) {
            (Some(to), Some(from)) if N > 0 => *to = *from,
            _ => columns[column..][..out].copy_from_slice(&input[pixel..][..out]),
        }
    });
}

/// Adds columns back to where their patches came from.
fn add_patches<T: Real, const N: usize>(conv: &Conv, images: Images, columns: &[T], input_grad: &mut [T]) {
    let out = conv.output_side();
    each_line(conv, images, |column, pixel| {
        match (input_grad[pixel..].first_chunk_mut::<N>(), columns[column..].first_chunk::<N>()) {
            (Some(to), Some(from)) if N > 0 => to.iter_mut().zip(from).for_each(|(sum, &grad)| *sum += grad),
            _ => {
                let line = &columns[column..][..out];
                input_grad[pixel..][..out].iter_mut().zip(line).for_each(|(sum, &grad)| *sum += grad);
            }
        }
    });
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

    fn multiply_adds(&self) -> u64 {
        (self.outputs * self.positions() * self.patch_len()) as u64
    }

    /// Columns and their gradient, framed images and theirs.
    fn scratch_len(&self, batch: usize) -> usize {
        let samples = self.samples_at_a_time(batch);
        let framed = if self.padding > 0 { self.inputs * self.padded_side().pow(2) } else { 0 };
        2 * samples * (self.positions() * self.patch_len() + framed)
    }

    fn forward(&self, pass: Forward<'_, T>) {
        let Forward { batch, params, input, output, scratch, .. } = pass;
        let (weight, bias) = params.split_at(self.outputs * self.patch_len());
        let plane = batch * self.positions();
        for (channel, &bias) in output.chunks_exact_mut(plane).zip(bias) {
            channel.fill(bias);
        }
        let at_a_time = self.samples_at_a_time(batch);
        let (columns, framed) = scratch.split_at_mut(2 * at_a_time * self.positions() * self.patch_len());
        for first in (0..batch).step_by(at_a_time) {
            let samples = first..(first + at_a_time).min(batch);
            let positions = samples.len() * self.positions();
            let columns = &mut columns[..positions * self.patch_len()];
            self.columns(input, batch, samples, framed, columns);
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
            *bias_grad = sum(channel);
        }
        weight_grad.fill(T::ZERO);
        input_grad.fill(T::ZERO);
        let at_a_time = self.samples_at_a_time(batch);
        let columns_len = at_a_time * self.positions() * self.patch_len();
        let (columns, rest) = scratch.split_at_mut(columns_len);
        let (columns_grad, framed) = rest.split_at_mut(columns_len);
        let weight_view = View::row_major(self.outputs, self.patch_len());
        for first in (0..batch).step_by(at_a_time) {
            let samples = first..(first + at_a_time).min(batch);
            let positions = samples.len() * self.positions();
            let columns_view = View::row_major(self.patch_len(), positions);
            let columns = &mut columns[..positions * self.patch_len()];
            self.columns(input, batch, samples.clone(), framed, columns);
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
                self.add_columns(columns_grad, batch, samples, framed, input_grad);
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

    /// Lines of 8, 14, 24 and 28 have versions of their own.
    #[test]
    fn gradients_with_the_line_lengths_of_the_models() {
        for (side, kernel, padding) in [(10, 3, 0), (12, 5, 0), (14, 3, 1), (26, 3, 0), (28, 5, 2)] {
            assert_gradients(&Conv::new("conv", (1, 1), side, kernel, padding), 1, 4);
        }
        assert_gradients(&Conv::new("conv", (2, 3), 8, 5, 2), 3, 4);
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
