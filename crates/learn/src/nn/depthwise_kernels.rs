//! The loops of a depthwise convolution.
//!
//! Direct kernels, channels innermost: a group of channels walks along a row of pixels with its nine weights
//! (or, for their gradient, nine sums) in registers. Rows beyond the edge are a row of zeros, and pixels
//! beyond the edge are left out. Channels that do not divide into whole groups are computed one by one, which is
//! slower.

use crate::nn::groups::{add, add_product};
use crate::real::Real;

/// The number of weights per channel: a kernel of 3 × 3.
pub(crate) const TAPS: usize = 9;

/// The sides of input and output.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) channels: usize,
    pub(crate) stride: usize,
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

    /// The place of a group in the middle one of the pixels around pixel `x` of the output, and the distance to the
    /// next pixel; then whether there is a pixel on the left and on the right.
    #[inline(always)]
    fn middle(&self, x: usize, groups: usize, group: usize) -> ((usize, usize), (bool, bool)) {
        let middle = x * self.stride;
        ((middle * groups + group, groups), (middle > 0, middle + 1 < self.width))
    }
}

/// Convolves one sample. `weights` are those of all channels, tap by tap; with `flipped`, each tap takes the weight of
/// the opposite one. With stride 1, this turns the gradient of the output into the gradient of the input. `zeros` is a
/// row of pixels.
#[inline(always)]
pub(crate) fn convolve<T: Real, const N: usize>(
    shape: Shape,
    (weights, flipped): (&[T], bool),
    zeros: &[T],
    input: &[T],
    output: &mut [T],
) {
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
                let (at, sides) = shape.middle(x, groups, group);
                // The constants make a version without questions for all pixels but two.
                output[x * groups + group] = match sides {
                    (true, true) => around(&own, rows, at, (true, true)),
                    sides => around(&own, rows, at, sides),
                };
            }
        }
    }
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

/// Adds ∂loss/∂weights of one sample, in the order of the weights of [`convolve`].
#[inline(always)]
pub(crate) fn add_weights_grad<T: Real, const N: usize>(
    shape: Shape,
    zeros: &[T],
    input: &[T],
    output_grad: &[T],
    weights_grad: &mut [T],
) {
    let groups = shape.channels / N;
    let (zeros, input) = (zeros.as_chunks::<N>().0, input.as_chunks::<N>().0);
    let (grad, weights_grad) = (output_grad.as_chunks::<N>().0, weights_grad.as_chunks_mut::<N>().0);
    for (y, grad) in grad.chunks_exact(shape.output_width * groups).enumerate() {
        let rows = shape.rows(input, zeros, y);
        for group in 0..groups {
            let mut own = [[T::ZERO; N]; TAPS];
            for x in 0..shape.output_width {
                let (at, sides) = shape.middle(x, groups, group);
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

/// Adds ∂loss/∂input of one sample, pixel by pixel of the output, for any stride.
#[inline(always)]
pub(crate) fn add_input_grad<T: Real, const N: usize>(
    shape: Shape,
    weights: &[T],
    output_grad: &[T],
    input_grad: &mut [T],
) {
    let groups = shape.channels / N;
    let (weights, grads) = (weights.as_chunks::<N>().0, output_grad.as_chunks::<N>().0);
    let input_grad = input_grad.as_chunks_mut::<N>().0;
    for (pixel, grads) in grads.chunks_exact(groups).enumerate() {
        let (y, x) = (pixel / shape.output_width, pixel % shape.output_width);
        for tap in 0..TAPS {
            let to_y = (y * shape.stride + tap / 3).wrapping_sub(1);
            let to_x = (x * shape.stride + tap % 3).wrapping_sub(1);
            if to_y < shape.height && to_x < shape.width {
                let pixel = &mut input_grad[(to_y * shape.width + to_x) * groups..][..groups];
                let weights = &weights[tap * groups..][..groups];
                for ((sum, &grad), &weight) in pixel.iter_mut().zip(grads).zip(weights) {
                    add_product(sum, grad, weight);
                }
            }
        }
    }
}
