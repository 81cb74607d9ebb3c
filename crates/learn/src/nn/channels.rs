//! Passes over rows of channels, which both normalisations are made of.
//!
//! One pass computes sums per channel, another an affine map per channel; two more do the same backwards. The
//! rectified variants do not read the output of the forward pass. They repeat x·scale + shift, which is
//! cheaper than reading another array, and the same operations give the same bits.

use crate::nn::groups::{LANES, add, add_product, constant, each_group, load, run, store};
use crate::real::Real;

/// Rows that are summed in registers before the sums go back to memory. They are few enough that the rows of the
/// widest layer stay in the first cache while the kernel walks through its channels.
const ROWS: usize = 8;

/// y = x·scale + shift for each channel, and max(0, ·) of it if asked.
#[derive(Clone, Copy)]
pub(crate) struct Affine<'a, T> {
    pub(crate) scale: &'a [T],
    pub(crate) shift: &'a [T],
    pub(crate) relu: bool,
}

/// The rows' channel sums of x and of x²: added to `sum` and `squares`.
pub(crate) fn add_sums<T: Real>(x: &[T], sum: &mut [T], squares: &mut [T]) {
    let channels = sum.len();
    run(
        #[inline(always)]
        || {
            for rows in x.chunks(ROWS * channels) {
                each_group!(channels, |at, N| {
                    let mut own_sum: [T; N] = load(sum, at);
                    let mut own_squares: [T; N] = load(squares, at);
                    for row in rows.chunks_exact(channels) {
                        let x = load(row, at);
                        add(&mut own_sum, x);
                        add_product(&mut own_squares, x, x);
                    }
                    store(sum, at, own_sum);
                    store(squares, at, own_squares);
                });
            }
        },
    );
}

/// Writes the affine map of `x` to `y`.
pub(crate) fn apply<T: Real>(x: &[T], affine: Affine<'_, T>, y: &mut [T]) {
    let Affine { scale, shift, relu } = affine;
    let rows = x.chunks_exact(scale.len()).zip(y.chunks_exact_mut(scale.len()));
    constant!(relu, [false, true], |RELU: bool| run(
        #[inline(always)]
        || {
            for (x, y) in rows {
                each_group!(scale.len(), |at, N| {
                    let mut out: [T; N] = load(shift, at);
                    add_product(&mut out, load(x, at), load(scale, at));
                    if RELU {
                        out.iter_mut().for_each(|lane| *lane = lane.max(T::ZERO));
                    }
                    store(y, at, out);
                });
            }
        },
    ));
}

/// The rows' channel sums of g and of g·x: added to `sum` and `product`. g is ∂loss/∂y where the affine
/// map's output is not cut off, and 0 elsewhere.
pub(crate) fn add_grad_sums<T: Real>(
    x: &[T],
    grad: &[T],
    affine: Affine<'_, T>,
    sum: &mut [T],
    product: &mut [T],
) {
    let Affine { scale, shift, relu } = affine;
    let channels = scale.len();
    constant!(relu, [false, true], |RELU: bool| run(
        #[inline(always)]
        || {
            for (rows, grads) in x.chunks(ROWS * channels).zip(grad.chunks(ROWS * channels)) {
                each_group!(channels, |at, N| {
                    let (scale, shift): ([T; N], [T; N]) = (load(scale, at), load(shift, at));
                    let mut own_sum: [T; N] = load(sum, at);
                    let mut own_product: [T; N] = load(product, at);
                    for (row, grad) in rows.chunks_exact(channels).zip(grads.chunks_exact(channels)) {
                        let x = load(row, at);
                        let grad = cut::<T, N, RELU>(load(grad, at), x, scale, shift);
                        add(&mut own_sum, grad);
                        add_product(&mut own_product, grad, x);
                    }
                    store(sum, at, own_sum);
                    store(product, at, own_product);
                });
            }
        },
    ));
}

/// Writes g·scale + x·slope + offset to `x_grad`, with g as in [`add_grad_sums`].
pub(crate) fn apply_grad<T: Real>(
    x: &[T],
    grad: &[T],
    affine: Affine<'_, T>,
    (slope, offset): (&[T], &[T]),
    x_grad: &mut [T],
) {
    let Affine { scale, shift, relu } = affine;
    constant!(relu, [false, true], |RELU: bool| run(
        #[inline(always)]
        || {
            for row in (0..x.len()).step_by(scale.len()) {
                each_group!(scale.len(), |at, N| {
                    let x: [T; N] = load(x, row + at);
                    let scale = load(scale, at);
                    let grad = cut::<T, N, RELU>(load(grad, row + at), x, scale, load(shift, at));
                    let mut out = load(offset, at);
                    add_product(&mut out, x, load(slope, at));
                    add_product(&mut out, grad, scale);
                    store(x_grad, row + at, out);
                });
            }
        },
    ));
}

/// Where an affine map with `scale` and `shift` is cut off, no gradient passes.
#[inline(always)]
fn cut<T: Real, const N: usize, const RELU: bool>(
    grad: [T; N],
    x: [T; N],
    scale: [T; N],
    shift: [T; N],
) -> [T; N] {
    let mut passed = grad;
    if RELU {
        // A choice between constants, and a product: the compiler turns a choice of whether to take the
        // gradient into a jump for each number, which costs several times as much.
        for lane in 0..N {
            let y = x[lane] * scale[lane] + shift[lane];
            let share = if y > T::ZERO { T::ONE } else { T::ZERO };
            passed[lane] *= share;
        }
    }
    passed
}
