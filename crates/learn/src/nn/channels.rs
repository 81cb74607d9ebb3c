//! Passes over rows of channels, which both normalisations are made of.
//!
//! One pass computes sums per channel, another an affine map per channel; two more do the same backwards. The
//! rectified variants do not read the output of the forward pass. They repeat x·scale + shift, which is
//! cheaper than reading another array, and the same operations give the same bits.

use crate::nn::groups::{LANES, add, add_product, each_group, load, run, run_with, store};
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
    run(
        #[inline(always)]
        move || {
            for rows in x.chunks(ROWS * sum.len()) {
                each_group!(sum.len(), |at, N| add_sums_of::<T, N>(rows, at, sum, squares));
            }
        },
    );
}

#[inline(always)]
fn add_sums_of<T: Real, const N: usize>(rows: &[T], at: usize, sum: &mut [T], squares: &mut [T]) {
    let (mut own_sum, mut own_squares): ([T; N], [T; N]) = (load(sum, at), load(squares, at));
    for row in rows.chunks_exact(sum.len()) {
        let x = load(row, at);
        add(&mut own_sum, x);
        add_product(&mut own_squares, x, x);
    }
    store(sum, at, own_sum);
    store(squares, at, own_squares);
}

impl<T: Real> Affine<'_, T> {
    /// Writes the affine map of `x` to `y`.
    pub(crate) fn apply(self, x: &[T], y: &mut [T]) {
        let channels = self.scale.len();
        run_with!(self.relu, [false, true], |RELU: bool| {
            for (x, y) in x.chunks_exact(channels).zip(y.chunks_exact_mut(channels)) {
                each_group!(channels, |at, N| self.apply_to::<N, RELU>(x, at, y));
            }
        });
    }

    #[inline(always)]
    fn apply_to<const N: usize, const RELU: bool>(self, x: &[T], at: usize, y: &mut [T]) {
        let mut out: [T; N] = load(self.shift, at);
        add_product(&mut out, load(x, at), load(self.scale, at));
        if RELU {
            for lane in &mut out {
                *lane = lane.max(T::ZERO);
            }
        }
        store(y, at, out);
    }

    /// The rows' channel sums of g and of g·x: added to `sum` and `product`. g is ∂loss/∂y where the affine
    /// map's output is not cut off, and 0 elsewhere.
    pub(crate) fn add_grad_sums(self, x: &[T], grad: &[T], sum: &mut [T], product: &mut [T]) {
        let len = ROWS * sum.len();
        run_with!(self.relu, [false, true], |RELU: bool| {
            for (x, grad) in x.chunks(len).zip(grad.chunks(len)) {
                each_group!(sum.len(), |at, N| self.add_grad_sums_of::<N, RELU>(x, grad, at, sum, product));
            }
        });
    }

    #[inline(always)]
    fn add_grad_sums_of<const N: usize, const RELU: bool>(
        self,
        x: &[T],
        grad: &[T],
        at: usize,
        sum: &mut [T],
        product: &mut [T],
    ) {
        let (scale, shift): ([T; N], [T; N]) = (load(self.scale, at), load(self.shift, at));
        let (mut own_sum, mut own_product): ([T; N], [T; N]) = (load(sum, at), load(product, at));
        for (row, grad) in x.chunks_exact(sum.len()).zip(grad.chunks_exact(sum.len())) {
            let x = load(row, at);
            let grad = cut::<T, N, RELU>(load(grad, at), x, scale, shift);
            add(&mut own_sum, grad);
            add_product(&mut own_product, grad, x);
        }
        store(sum, at, own_sum);
        store(product, at, own_product);
    }

    /// Writes g·scale + x·slope + offset to `x_grad`, with g as in [`Affine::add_grad_sums`].
    pub(crate) fn apply_grad(self, x: &[T], grad: &[T], line: (&[T], &[T]), x_grad: &mut [T]) {
        let channels = self.scale.len();
        run_with!(self.relu, [false, true], |RELU: bool| {
            let rows = x.chunks_exact(channels).zip(grad.chunks_exact(channels));
            for ((x, grad), x_grad) in rows.zip(x_grad.chunks_exact_mut(channels)) {
                each_group!(channels, |at, N| self.apply_grad_to::<N, RELU>(x, grad, line, at, x_grad));
            }
        });
    }

    #[inline(always)]
    fn apply_grad_to<const N: usize, const RELU: bool>(
        self,
        x: &[T],
        grad: &[T],
        (slope, offset): (&[T], &[T]),
        at: usize,
        x_grad: &mut [T],
    ) {
        let (x, scale): ([T; N], [T; N]) = (load(x, at), load(self.scale, at));
        let grad = cut::<T, N, RELU>(load(grad, at), x, scale, load(self.shift, at));
        let mut out = load(offset, at);
        add_product(&mut out, x, load(slope, at));
        add_product(&mut out, grad, scale);
        store(x_grad, at, out);
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
