//! Depthwise convolution, 3×3: every channel by itself.
//!
//! Direct kernels, channels innermost: a group of channels walks along a row of pixels with its nine weights
//! (or, for their gradient, nine sums) in registers. Rows beyond the edge are a row of zeros, pixels
//! beyond the edge are left out.

use pulp::NullaryFnOnce;

use crate::layer::{Backward, Forward, Init, Layer, ParamSpec};
use crate::nn::lanes::{LANES, add, add_product, run};
use crate::real::Real;

/// Weights per channel.
const TAPS: usize = 9;

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
        let [output_height, output_width] = self.output_sides();
        Shape { height, width, channels, stride, output_height, output_width }
    }
}

#[derive(Clone, Copy)]
struct Shape {
    height: usize,
    width: usize,
    channels: usize,
    stride: usize,
    output_height: usize,
    output_width: usize,
}

impl Shape {
    /// The three rows of a sample that row `y` of the output is made of.
    #[inline(always)]
    fn rows<'a, G>(&self, sample: &'a [G], zeros: &'a [G], y: usize) -> [&'a [G]; 3] {
        let len = zeros.len();
        let mut rows = [zeros; 3];
        for (tap, row) in rows.iter_mut().enumerate() {
            let place = (y * self.stride + tap).wrapping_sub(1);
            if place < self.height {
                *row = &sample[place * len..(place + 1) * len];
            }
        }
        rows
    }
}

/// One sample: what comes out.
struct Convolve<'a, T> {
    shape: Shape,
    /// Per tap, the weights of all channels.
    weights: &'a [T],
    /// Whether each tap takes the weight of the one opposite: with stride 1, that makes the gradient of
    /// the input out of the gradient of the output.
    flipped: bool,
    /// A row of pixels.
    zeros: &'a [T],
    input: &'a [T],
    output: &'a mut [T],
}

/// The weighted sum of a pixel's surroundings; `at` is its place in the middle row.
#[inline(always)]
fn around<T: Real, const N: usize>(
    weights: &[[T; N]; TAPS],
    rows: [&[[T; N]]; 3],
    (at, step): (usize, usize),
    (left, right): (bool, bool),
) -> [T; N] {
    let mut sum = [T::ZERO; N];
    for (row, weights) in rows.iter().zip(weights.as_chunks::<3>().0) {
        if left {
            add_product(&mut sum, row[at - step], weights[0]);
        }
        add_product(&mut sum, row[at], weights[1]);
        if right {
            add_product(&mut sum, row[at + step], weights[2]);
        }
    }
    sum
}

impl<T: Real> Convolve<'_, T> {
    #[inline(always)]
    fn groups_of<const N: usize>(self) {
        let Self { shape, weights, flipped, zeros, input, output } = self;
        let groups = shape.channels / N;
        let (weights, zeros) = (weights.as_chunks::<N>().0, zeros.as_chunks::<N>().0);
        let (input, output) = (input.as_chunks::<N>().0, output.as_chunks_mut::<N>().0);
        let output_rows = output.chunks_exact_mut(shape.output_width * groups);
        for (y, output) in output_rows.enumerate() {
            let rows = shape.rows(input, zeros, y);
            for group in 0..groups {
                let mut own = [[T::ZERO; N]; TAPS];
                for (tap, own) in own.iter_mut().enumerate() {
                    *own = weights[if flipped { TAPS - 1 - tap } else { tap } * groups + group];
                }
                for x in 0..shape.output_width {
                    let middle = x * shape.stride;
                    let sides = (middle > 0, middle + 1 < shape.width);
                    let at = (middle * groups + group, groups);
                    // The constants make a version without questions for all pixels but two.
                    output[x * groups + group] = match sides {
                        (true, true) => around(&own, rows, at, (true, true)),
                        sides => around(&own, rows, at, sides),
                    };
                }
            }
        }
    }
}

impl<T: Real> NullaryFnOnce for Convolve<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        if self.shape.channels.is_multiple_of(LANES) {
            self.groups_of::<LANES>();
        } else {
            self.groups_of::<1>();
        }
    }
}

/// One sample: adds ∂loss/∂weights, in the order of [`Convolve::weights`].
struct WeightGrad<'a, T> {
    shape: Shape,
    zeros: &'a [T],
    input: &'a [T],
    output_grad: &'a [T],
    weights_grad: &'a mut [T],
}

/// Adds what one pixel's gradient means for the weights.
#[inline(always)]
fn add_around<T: Real, const N: usize>(
    sums: &mut [[T; N]; TAPS],
    grad: [T; N],
    rows: [&[[T; N]]; 3],
    (at, step): (usize, usize),
    (left, right): (bool, bool),
) {
    for (row, sums) in rows.iter().zip(sums.as_chunks_mut::<3>().0) {
        if left {
            add_product(&mut sums[0], row[at - step], grad);
        }
        add_product(&mut sums[1], row[at], grad);
        if right {
            add_product(&mut sums[2], row[at + step], grad);
        }
    }
}

impl<T: Real> WeightGrad<'_, T> {
    #[inline(always)]
    fn groups_of<const N: usize>(self) {
        let Self { shape, zeros, input, output_grad, weights_grad } = self;
        let groups = shape.channels / N;
        let (zeros, input) = (zeros.as_chunks::<N>().0, input.as_chunks::<N>().0);
        let (grad, weights_grad) = (output_grad.as_chunks::<N>().0, weights_grad.as_chunks_mut::<N>().0);
        for (y, grad) in grad.chunks_exact(shape.output_width * groups).enumerate() {
            let rows = shape.rows(input, zeros, y);
            for group in 0..groups {
                let mut own = [[T::ZERO; N]; TAPS];
                for x in 0..shape.output_width {
                    let middle = x * shape.stride;
                    let sides = (middle > 0, middle + 1 < shape.width);
                    let at = (middle * groups + group, groups);
                    let grad = grad[x * groups + group];
                    match sides {
                        (true, true) => add_around(&mut own, grad, rows, at, (true, true)),
                        sides => add_around(&mut own, grad, rows, at, sides),
                    }
                }
                for (tap, own) in own.into_iter().enumerate() {
                    add(&mut weights_grad[tap * groups + group], own);
                }
            }
        }
    }
}

impl<T: Real> NullaryFnOnce for WeightGrad<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        if self.shape.channels.is_multiple_of(LANES) {
            self.groups_of::<LANES>();
        } else {
            self.groups_of::<1>();
        }
    }
}

/// One sample, stride 2: adds ∂loss/∂input, pixel by pixel of the output.
struct Scatter<'a, T> {
    shape: Shape,
    weights: &'a [T],
    output_grad: &'a [T],
    input_grad: &'a mut [T],
}

impl<T: Real> Scatter<'_, T> {
    #[inline(always)]
    fn groups_of<const N: usize>(self) {
        let Self { shape, weights, output_grad, input_grad } = self;
        let groups = shape.channels / N;
        let (weights, grads) = (weights.as_chunks::<N>().0, output_grad.as_chunks::<N>().0);
        let input_grad = input_grad.as_chunks_mut::<N>().0;
        for y in 0..shape.output_height {
            for x in 0..shape.output_width {
                let grads = &grads[(y * shape.output_width + x) * groups..][..groups];
                for tap in 0..TAPS {
                    let to_y = (y * shape.stride + tap / 3).wrapping_sub(1);
                    let to_x = (x * shape.stride + tap % 3).wrapping_sub(1);
                    if to_y >= shape.height || to_x >= shape.width {
                        continue;
                    }
                    let pixel = &mut input_grad[(to_y * shape.width + to_x) * groups..][..groups];
                    let weights = &weights[tap * groups..][..groups];
                    for ((sum, &grad), &weight) in pixel.iter_mut().zip(grads).zip(weights) {
                        add_product(sum, grad, weight);
                    }
                }
            }
        }
    }
}

impl<T: Real> NullaryFnOnce for Scatter<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        if self.shape.channels.is_multiple_of(LANES) {
            self.groups_of::<LANES>();
        } else {
            self.groups_of::<1>();
        }
    }
}

impl<T: Real> Layer<T> for Depthwise {
    fn name(&self) -> &str {
        &self.name
    }

    fn params(&self) -> Vec<ParamSpec> {
        // PyTorch's default, ±1/√fan_in, where the fan-in of a channel is its nine weights.
        let (shape, init) = (vec![self.channels, 1, 3, 3], Init::Uniform(1.0 / 3.0));
        vec![ParamSpec { name: "weight", shape, init, trained: true }]
    }

    fn input_len(&self) -> usize {
        self.height * self.width * self.channels
    }

    fn output_len(&self) -> usize {
        self.output_sides().iter().product::<usize>() * self.channels
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
        let (shape, flipped) = (self.shape(), false);
        let inputs = pass.input.chunks_exact(Layer::<T>::input_len(self));
        let outputs = pass.output.chunks_exact_mut(Layer::<T>::output_len(self));
        for (input, output) in inputs.zip(outputs) {
            run(Convolve { shape, weights, flipped, zeros, input, output });
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
            run(WeightGrad { shape, zeros, input, output_grad, weights_grad: sample_grad });
            weights_grad.iter_mut().zip(&*sample_grad).for_each(|(sum, &grad)| *sum += grad);
            if pass.input_grad.is_empty() {
                continue;
            }
            let input_grad = &mut pass.input_grad[sample * input_len..][..input_len];
            if self.stride == 1 {
                let (input, output) = (output_grad, input_grad);
                run(Convolve { shape, weights, flipped: true, zeros, input, output });
            } else {
                input_grad.fill(T::ZERO);
                run(Scatter { shape, weights, output_grad, input_grad });
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
