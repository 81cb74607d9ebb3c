//! The weight of a convolution to Winograd's frequencies, and its gradient back.

use crate::nn::groups::{LANES, add_product, each_group, load, run, store};
use crate::nn::winograd_maps::{KERNEL, P, P2, POINTS, Q, Q2};
use crate::real::Real;

/// The entries of a kernel.
const AREA: usize = KERNEL * KERNEL;

/// From [outputs, inputs, 5, 5] to `[frequency][output][input]`.
pub(crate) fn weight_to_frequencies<T: Real>(weight: &[T], frequencies: &mut [T]) {
    let (pairs, factors) = (weight.len() / AREA, weight_factors::<T>());
    run(
        #[inline(always)]
        move || {
            each_group!(pairs, |pair, N| pairs_to_frequencies::<T, N>(pair, &factors, weight, frequencies));
        },
    );
}

#[inline(always)]
fn pairs_to_frequencies<T: Real, const N: usize>(
    pair: usize,
    factors: &[[T; KERNEL]; POINTS],
    weight: &[T],
    frequencies: &mut [T],
) {
    let pairs = weight.len() / AREA;
    let weight = weight[pair * AREA..][..N * AREA].as_chunks::<AREA>().0;
    columns_and_rows(
        factors,
        #[inline(always)]
        |y, x| std::array::from_fn::<T, N, _>(|n| weight[n][y * KERNEL + x]),
        #[inline(always)]
        |i, j, sum| store(frequencies, (i * POINTS + j) * pairs + pair, sum),
    );
}

/// The transpose of [`weight_to_frequencies`]: from the gradient of the frequencies to the gradient of the weight.
pub(crate) fn weight_from_frequencies<T: Real>(frequencies: &[T], weight: &mut [T]) {
    let (pairs, factors) = (weight.len() / AREA, weight_factors::<T>());
    let factors = std::array::from_fn(|k| std::array::from_fn(|i| factors[i][k]));
    run(
        #[inline(always)]
        move || {
            each_group!(pairs, |pair, N| pairs_from_frequencies::<T, N>(pair, &factors, frequencies, weight));
        },
    );
}

#[inline(always)]
fn pairs_from_frequencies<T: Real, const N: usize>(
    pair: usize,
    factors: &[[T; POINTS]; KERNEL],
    frequencies: &[T],
    weight: &mut [T],
) {
    let pairs = weight.len() / AREA;
    let weight = weight[pair * AREA..][..N * AREA].as_chunks_mut::<AREA>().0;
    // Rows first and columns then: the squares are read and written with their axes exchanged.
    columns_and_rows(
        factors,
        #[inline(always)]
        |j, i| load::<T, N>(frequencies, (i * POINTS + j) * pairs + pair),
        #[inline(always)]
        |x, y, sum| {
            for n in 0..N {
                weight[n][y * KERNEL + x] = sum[n];
            }
        },
    );
}

/// Multiplies the columns and then the rows of a square by a matrix, `N` squares at a time.
#[inline(always)]
fn columns_and_rows<T: Real, const I: usize, const O: usize, const N: usize>(
    factors: &[[T; I]; O],
    read: impl Fn(usize, usize) -> [T; N],
    mut write: impl FnMut(usize, usize, [T; N]),
) {
    let mut half = [[[T::ZERO; N]; I]; O];
    for (half, factors) in half.iter_mut().zip(factors) {
        for (column, half) in half.iter_mut().enumerate() {
            for (row, &factor) in factors.iter().enumerate() {
                add_product(half, read(row, column), [factor; N]);
            }
        }
    }
    for (i, half) in half.iter().enumerate() {
        for (j, factors) in factors.iter().enumerate() {
            let mut sum = [T::ZERO; N];
            for (&entries, &factor) in half.iter().zip(factors) {
                add_product(&mut sum, entries, [factor; N]);
            }
            write(i, j, sum);
        }
    }
}

/// The weight's factors: row `i` evaluates a polynomial with five coefficients at point `i`, divided by the
/// products of its differences to the other points.
fn weight_factors<T: Real>() -> [[T; KERNEL]; POINTS] {
    let (at_p, at_q) = (2.0 * P2 * (P2 - Q2), 2.0 * Q2 * (Q2 - P2));
    let row = |point: f64, scale: f64| {
        std::array::from_fn(|power| T::from_f64(f64::powi(point, power as i32) / scale))
    };
    let infinity = std::array::from_fn(|power| if power + 1 == KERNEL { T::ONE } else { T::ZERO });
    [row(0.0, P2 * Q2), row(P, at_p), row(-P, at_p), row(Q, at_q), row(-Q, at_q), infinity]
}
