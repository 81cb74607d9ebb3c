//! Passes over rows of channels, which both normalisations are made of.
//!
//! Sums per channel in one pass, an affine map per channel in another; and the same backwards. The
//! rectified variants do not look at the output of the forward pass: they repeat x·scale + shift, which is
//! cheaper than reading another array, and the same operations give the same bits.

use pulp::NullaryFnOnce;

use crate::nn::groups::{LANES, add, add_product, each_group, load, run, store};
use crate::real::Real;

/// Rows that are summed in registers before the sums go back to memory; few enough that the rows of the
/// widest layer stay in the first cache while its channels are walked through.
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
    run(Sums { x, sum, squares });
}

/// Writes the affine map of `x` to `y`.
pub(crate) fn apply<T: Real>(x: &[T], affine: Affine<'_, T>, y: &mut [T]) {
    if affine.relu {
        run(Apply::<'_, T, true> { x, affine, y });
    } else {
        run(Apply::<'_, T, false> { x, affine, y });
    }
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
    if affine.relu {
        run(GradSums::<'_, T, true> { x, grad, affine, sum, product });
    } else {
        run(GradSums::<'_, T, false> { x, grad, affine, sum, product });
    }
}

/// Writes g·scale + x·slope + offset to `x_grad`, with g as in [`add_grad_sums`].
pub(crate) fn apply_grad<T: Real>(
    x: &[T],
    grad: &[T],
    affine: Affine<'_, T>,
    (slope, offset): (&[T], &[T]),
    x_grad: &mut [T],
) {
    if affine.relu {
        run(ApplyGrad::<'_, T, true> { x, grad, affine, slope, offset, x_grad });
    } else {
        run(ApplyGrad::<'_, T, false> { x, grad, affine, slope, offset, x_grad });
    }
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

struct Sums<'a, T> {
    x: &'a [T],
    sum: &'a mut [T],
    squares: &'a mut [T],
}

impl<T: Real> Sums<'_, T> {
    #[inline(always)]
    fn group<const N: usize>(&mut self, rows: &[T], at: usize) {
        let mut sum: [T; N] = load(self.sum, at);
        let mut squares: [T; N] = load(self.squares, at);
        for row in rows.chunks_exact(self.sum.len()) {
            let x = load(row, at);
            add(&mut sum, x);
            add_product(&mut squares, x, x);
        }
        store(self.sum, at, sum);
        store(self.squares, at, squares);
    }
}

impl<T: Real> NullaryFnOnce for Sums<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        let channels = self.sum.len();
        for rows in self.x.chunks(ROWS * channels) {
            each_group!(channels, |at, N| self.group::<N>(rows, at));
        }
    }
}

struct Apply<'a, T, const RELU: bool> {
    x: &'a [T],
    affine: Affine<'a, T>,
    y: &'a mut [T],
}

impl<T: Real, const RELU: bool> Apply<'_, T, RELU> {
    #[inline(always)]
    fn group<const N: usize>(affine: Affine<'_, T>, x: &[T], y: &mut [T], at: usize) {
        let (x, scale, shift) = (load::<T, N>(x, at), load::<T, N>(affine.scale, at), load(affine.shift, at));
        let mut out: [T; N] = shift;
        add_product(&mut out, x, scale);
        if RELU {
            for lane in &mut out {
                *lane = lane.max(T::ZERO);
            }
        }
        store(y, at, out);
    }
}

impl<T: Real, const RELU: bool> NullaryFnOnce for Apply<'_, T, RELU> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let channels = self.affine.scale.len();
        for (x, y) in self.x.chunks_exact(channels).zip(self.y.chunks_exact_mut(channels)) {
            each_group!(channels, |at, N| Self::group::<N>(self.affine, x, y, at));
        }
    }
}

struct GradSums<'a, T, const RELU: bool> {
    x: &'a [T],
    grad: &'a [T],
    affine: Affine<'a, T>,
    sum: &'a mut [T],
    product: &'a mut [T],
}

impl<T: Real, const RELU: bool> GradSums<'_, T, RELU> {
    #[inline(always)]
    fn group<const N: usize>(&mut self, rows: &[T], grads: &[T], at: usize) {
        let channels = self.sum.len();
        let (scale, shift) = (load::<T, N>(self.affine.scale, at), load::<T, N>(self.affine.shift, at));
        let mut sum: [T; N] = load(self.sum, at);
        let mut product: [T; N] = load(self.product, at);
        for (row, grad) in rows.chunks_exact(channels).zip(grads.chunks_exact(channels)) {
            let x = load(row, at);
            let grad = cut::<T, N, RELU>(load(grad, at), x, scale, shift);
            add(&mut sum, grad);
            add_product(&mut product, grad, x);
        }
        store(self.sum, at, sum);
        store(self.product, at, product);
    }
}

impl<T: Real, const RELU: bool> NullaryFnOnce for GradSums<'_, T, RELU> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        let channels = self.sum.len();
        for (rows, grads) in self.x.chunks(ROWS * channels).zip(self.grad.chunks(ROWS * channels)) {
            each_group!(channels, |at, N| self.group::<N>(rows, grads, at));
        }
    }
}

struct ApplyGrad<'a, T, const RELU: bool> {
    x: &'a [T],
    grad: &'a [T],
    affine: Affine<'a, T>,
    slope: &'a [T],
    offset: &'a [T],
    x_grad: &'a mut [T],
}

impl<T: Real, const RELU: bool> ApplyGrad<'_, T, RELU> {
    #[inline(always)]
    fn group<const N: usize>(&mut self, row: usize, at: usize) {
        let (scale, shift) = (load::<T, N>(self.affine.scale, at), load::<T, N>(self.affine.shift, at));
        let x = load(self.x, row + at);
        let grad = cut::<T, N, RELU>(load(self.grad, row + at), x, scale, shift);
        let mut out: [T; N] = load(self.offset, at);
        add_product(&mut out, x, load(self.slope, at));
        add_product(&mut out, grad, scale);
        store(self.x_grad, row + at, out);
    }
}

impl<T: Real, const RELU: bool> NullaryFnOnce for ApplyGrad<'_, T, RELU> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        let channels = self.affine.scale.len();
        for row in (0..self.x.len()).step_by(channels) {
            each_group!(channels, |at, N| self.group::<N>(row, at));
        }
    }
}
