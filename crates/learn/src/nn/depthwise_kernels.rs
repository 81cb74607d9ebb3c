//! The loops of a depthwise convolution.
//!
//! Direct kernels, channels innermost: a group of channels walks along a row of pixels with its nine weights
//! (or, for their gradient, nine sums) in registers. Rows beyond the edge are a row of zeros, pixels
//! beyond the edge are left out. Channels that do not come in whole groups go one by one: right, but slow.

use crate::nn::groups::{InGroups, add, add_product};
use crate::real::Real;

/// Weights per channel.
pub(crate) const TAPS: usize = 9;

/// Sides of what goes in and comes out.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) channels: usize,
    pub(crate) stride: usize,
    pub(crate) output_height: usize,
    pub(crate) output_width: usize,
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
pub(crate) struct Convolve<'a, T> {
    pub(crate) shape: Shape,
    /// Per tap, the weights of all channels.
    pub(crate) weights: &'a [T],
    /// Whether each tap takes the weight of the one opposite: with stride 1, that makes the gradient of
    /// the input out of the gradient of the output.
    pub(crate) flipped: bool,
    /// A row of pixels.
    pub(crate) zeros: &'a [T],
    pub(crate) input: &'a [T],
    pub(crate) output: &'a mut [T],
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

impl<T: Real> InGroups for Convolve<'_, T> {
    fn channels(&self) -> usize {
        self.shape.channels
    }

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

/// One sample: adds ∂loss/∂weights, in the order of [`Convolve::weights`].
pub(crate) struct WeightGrad<'a, T> {
    pub(crate) shape: Shape,
    pub(crate) zeros: &'a [T],
    pub(crate) input: &'a [T],
    pub(crate) output_grad: &'a [T],
    pub(crate) weights_grad: &'a mut [T],
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

impl<T: Real> InGroups for WeightGrad<'_, T> {
    fn channels(&self) -> usize {
        self.shape.channels
    }

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

/// One sample, stride 2: adds ∂loss/∂input, pixel by pixel of the output.
pub(crate) struct Scatter<'a, T> {
    pub(crate) shape: Shape,
    pub(crate) weights: &'a [T],
    pub(crate) output_grad: &'a [T],
    pub(crate) input_grad: &'a mut [T],
}

impl<T: Real> InGroups for Scatter<'_, T> {
    fn channels(&self) -> usize {
        self.shape.channels
    }

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
