//! Dot products of long runs of numbers, every one of some with every one of others: what the gradient of a
//! convolution's weight consists of.

use pulp::{Arch, Simd, WithSimd};

use crate::nn::groups::constant;
use crate::nn::runs::{Lines, Taps, parts};
use crate::nn::vectors::Lanes;

/// How many runs of either side are taken together: twelve sums and the vectors they need fill AVX2's sixteen
/// registers.
const LEFT_MAX: usize = 3;
const RIGHT_MAX: usize = 4;

/// `sums[i][j] += Σ left[i]·right[j]` over runs of `run` numbers, on several lines.
pub(crate) struct DotProducts<'a, T> {
    /// The runs of the first factors start `left_stride` apart.
    pub(crate) left: &'a [T],
    /// From one to the next.
    pub(crate) left_stride: usize,
    /// The number of rows on the left.
    pub(crate) left_count: usize,
    /// The second factors, and where their runs start.
    pub(crate) right: &'a [T],
    /// Where each starts on the first line.
    pub(crate) right_taps: Taps,
    /// The length of a run.
    pub(crate) run: usize,
    /// How often that happens, and by how much left and right move on each time; the sums stay.
    pub(crate) lines: Lines,
    /// One row per first factor.
    pub(crate) sums: &'a mut [T],
}

impl<T: Lanes> DotProducts<'_, T> {
    /// Adds the products to the results.
    pub(crate) fn add(self) {
        Arch::new().dispatch(self);
    }

    /// `L` by `R` of them.
    #[inline(always)]
    fn tile<S: Simd, const L: usize, const R: usize>(&mut self, simd: S, line: usize, i: usize, j: usize) {
        let run = self.run;
        let lefts: [&[T]; L] = std::array::from_fn(|l| {
            &self.left[line * self.lines.strides[0] + (i + l) * self.left_stride..][..run]
        });
        let rights: [&[T]; R] = std::array::from_fn(|r| {
            &self.right[line * self.lines.strides[1] + self.right_taps.offset(j + r)..][..run]
        });
        let vectors = run / T::lanes::<S>();
        let left_vectors: [&[T::Vector<S>]; L] = lefts.map(|run| &T::vectors::<S>(run).0[..vectors]);
        let right_vectors: [&[T::Vector<S>]; R] = rights.map(|run| &T::vectors::<S>(run).0[..vectors]);
        let mut sums = [[T::ZERO.splat(simd); R]; L];
        for v in 0..vectors {
            for l in 0..L {
                let left = left_vectors[l][v];
                for r in 0..R {
                    sums[l][r] = T::mul_add_vectors(simd, left, right_vectors[r][v], sums[l][r]);
                }
            }
        }
        for l in 0..L {
            for r in 0..R {
                let mut sum = T::sum_vector(simd, sums[l][r]);
                for at in vectors * T::lanes::<S>()..run {
                    sum += lefts[l][at] * rights[r][at];
                }
                self.sums[(i + l) * self.right_taps.len() + j + r] += sum;
            }
        }
    }
}

impl<T: Lanes> WithSimd for DotProducts<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        for line in 0..self.lines.count {
            for (i, left) in parts(self.left_count, LEFT_MAX) {
                for (j, right) in parts(self.right_taps.len(), RIGHT_MAX) {
                    constant!(left, [1, 2, 3], |L: usize| constant!(right, [1, 2, 3, 4], |R: usize| {
                        self.tile::<S, L, R>(simd, line, i, j);
                    }));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<T: Lanes>([left_count, planes, columns, run]: [usize; 4], tolerance: f64) {
        let number = |n: usize, by: usize| (n * by % 17) as f64 / 17.0 - 0.4;
        let numbers =
            |len: usize, by: usize| -> Vec<T> { (0..len).map(|n| T::from_f64(number(n, by))).collect() };
        let right_taps = Taps { counts: [planes, 2, columns], strides: [4, 3, 2] };
        let right_count = right_taps.len();
        let left = numbers(left_count * run + 2, 5);
        let right = numbers(run + 40, 7);
        let mut sums = numbers(left_count * right_count, 3);
        let lines = Lines { count: 2, strides: [2, 3, 0] };
        DotProducts {
            left: &left,
            left_stride: run,
            left_count,
            right: &right,
            right_taps,
            run,
            lines,
            sums: &mut sums,
        }
        .add();
        for (n, sum) in sums.iter().enumerate() {
            let (i, j) = (n / right_count, n % right_count);
            let products = (0..2 * run).map(|at| {
                let (line, at) = (at / run, at % run);
                number(line * 2 + i * run + at, 5) * number(line * 3 + right_taps.offset(j) + at, 7)
            });
            let expected = number(n, 3) + products.sum::<f64>();
            assert!((sum.to_f64() - expected).abs() < tolerance, "{sum} for {expected} at {n}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
        #[test]
        fn as_defined(left in 1_usize..9, planes in 1_usize..4, columns in 1_usize..6, run in 1_usize..90) {
            check::<f32>([left, planes, columns, run], 1e-4);
            check::<f64>([left, planes, columns, run], 1e-12);
        }
    }
}
