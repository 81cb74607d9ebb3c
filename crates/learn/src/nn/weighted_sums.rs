//! Weighted sums of long runs of numbers: what the forward pass of a convolution consists of.

use pulp::{Arch, Simd, WithSimd};

use crate::nn::runs::{Lines, Taps, parts};
use crate::nn::vectors::Lanes;

/// Vectors of a run that are computed together.
const VECTORS: usize = 2;

/// The most rows that are computed together: with two vectors each, the sums, two vectors of the input and a
/// broadcast weight take fifteen of AVX2's sixteen registers.
const ROWS_MAX: usize = 6;

/// `output[row] = start[row] + Σ_k weight[row][k] · input[tap k..]`, for runs of `run` numbers on several lines.
pub(crate) struct WeightedSums<'a, T> {
    /// Where runs are read.
    pub(crate) input: &'a [T],
    /// Where the run of each term starts on the first line.
    pub(crate) taps: Taps,
    /// One per row and term, in the order of [`pack`].
    pub(crate) weights: &'a [T],
    /// What each row starts with; empty for zeros.
    pub(crate) start: &'a [T],
    /// Where runs are written: rows are `row_stride` apart.
    pub(crate) output: &'a mut [T],
    /// How many.
    pub(crate) rows: usize,
    /// From one to the next in the output.
    pub(crate) row_stride: usize,
    /// The length of a run.
    pub(crate) run: usize,
    /// How often that happens, and by how much input and output move on each time.
    pub(crate) lines: Lines,
}

/// Writes weights, of which those of `row` and `term` are at `row·row_stride + term·term_stride`, in the order
/// of the kernel: by groups of rows, then by terms.
pub(crate) fn pack<T: Lanes>(
    weights: &[T],
    [rows, terms]: [usize; 2],
    [row_stride, term_stride]: [usize; 2],
    packed: &mut [T],
) {
    let mut packed = packed.iter_mut();
    for (first, count) in parts(rows, ROWS_MAX) {
        for term in 0..terms {
            for (row, to) in (first..first + count).zip(&mut packed) {
                *to = weights[row * row_stride + term * term_stride];
            }
        }
    }
}

impl<T: Lanes> WeightedSums<'_, T> {
    /// Computes them.
    pub(crate) fn compute(self) {
        Arch::new().dispatch(self);
    }

    /// All rows, for `V` vectors of the runs at `at`.
    #[inline(always)]
    fn column<S: Simd, const V: usize>(&mut self, simd: S, line: usize, at: usize) {
        for (first, count) in parts(self.rows, ROWS_MAX) {
            match count {
                6 => self.tile::<S, 6, V>(simd, line, at, first),
                5 => self.tile::<S, 5, V>(simd, line, at, first),
                4 => self.tile::<S, 4, V>(simd, line, at, first),
                3 => self.tile::<S, 3, V>(simd, line, at, first),
                2 => self.tile::<S, 2, V>(simd, line, at, first),
                _ => self.tile::<S, 1, V>(simd, line, at, first),
            }
        }
    }

    /// `R` rows from `first`, for `V` vectors at `at`.
    #[inline(always)]
    fn tile<S: Simd, const R: usize, const V: usize>(
        &mut self,
        simd: S,
        line: usize,
        at: usize,
        first: usize,
    ) {
        let numbers = V * T::lanes::<S>();
        let mut sums = [[T::ZERO.splat(simd); V]; R];
        for (sums, &start) in sums.iter_mut().zip(self.start.iter().skip(first)) {
            *sums = [start.splat(simd); V];
        }
        let terms = self.taps.len();
        let weights = self.weights[first * terms..][..R * terms].as_chunks::<R>().0;
        let input = &self.input[line * self.lines.strides[0] + at..];
        let Taps { counts: [planes, lines, columns], strides } = self.taps;
        let mut lines_of_weights = weights.chunks_exact(columns);
        for plane in 0..planes {
            for (line, weights) in (0..lines).zip(&mut lines_of_weights) {
                let input = &input[plane * strides[0] + line * strides[1]..];
                for (column, weights) in weights.iter().enumerate() {
                    let vectors = T::vectors::<S>(&input[column * strides[2]..][..numbers]).0;
                    for row in 0..R {
                        let weight = weights[row].splat(simd);
                        for v in 0..V {
                            sums[row][v] = T::mul_add_vectors(simd, vectors[v], weight, sums[row][v]);
                        }
                    }
                }
            }
        }
        for (row, sums) in sums.iter().enumerate() {
            let place = line * self.lines.strides[1] + (first + row) * self.row_stride + at;
            T::vectors_mut::<S>(&mut self.output[place..place + numbers]).0[..V].copy_from_slice(sums);
        }
    }

    /// One number of each row: for runs shorter than a vector.
    fn single(&mut self, line: usize, at: usize) {
        let terms = self.taps.len();
        for (first, count) in parts(self.rows, ROWS_MAX) {
            for row in 0..count {
                let mut sum = self.start.get(first + row).copied().unwrap_or(T::ZERO);
                for k in 0..terms {
                    let weight = self.weights[first * terms + k * count + row];
                    sum += weight * self.input[line * self.lines.strides[0] + at + self.taps.offset(k)];
                }
                self.output[line * self.lines.strides[1] + (first + row) * self.row_stride + at] = sum;
            }
        }
    }
}

impl<T: Lanes> WithSimd for WeightedSums<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let lanes = T::lanes::<S>();
        let run = self.run;
        for line in 0..self.lines.count {
            if run >= VECTORS * lanes {
                for at in (0..run).step_by(VECTORS * lanes) {
                    // The last one moves back until it fits; what it computes again stays the same.
                    self.column::<S, VECTORS>(simd, line, at.min(run - VECTORS * lanes));
                }
            } else if run >= lanes {
                for at in (0..run).step_by(lanes) {
                    self.column::<S, 1>(simd, line, at.min(run - lanes));
                }
            } else {
                (0..run).for_each(|at| self.single(line, at));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<T: Lanes>([rows, planes, columns, run]: [usize; 4], tolerance: f64) {
        let number = |n: usize, by: usize| (n * by % 17) as f64 / 17.0 - 0.4;
        let numbers =
            |len: usize, by: usize| -> Vec<T> { (0..len).map(|n| T::from_f64(number(n, by))).collect() };
        let lines = Lines { count: 2, strides: [3, rows * run] };
        let taps = Taps { counts: [planes, 2, columns], strides: [4, 3, 2] };
        let terms = taps.len();
        let (input, start) = (numbers(run + 40, 5), numbers(rows, 3));
        let weights = numbers(rows * terms, 7);
        let mut packed = vec![T::LOWEST; rows * terms];
        pack(&weights, [rows, terms], [terms, 1], &mut packed);
        let mut output = vec![T::LOWEST; 2 * rows * run];
        WeightedSums {
            input: &input,
            taps,
            weights: &packed,
            start: &start,
            output: &mut output,
            rows,
            row_stride: run,
            run,
            lines,
        }
        .compute();
        for (n, value) in output.iter().enumerate() {
            let (line, row, at) = (n / (rows * run), n / run % rows, n % run);
            let terms =
                (0..terms).map(|k| number(row * terms + k, 7) * number(line * 3 + taps.offset(k) + at, 5));
            let expected = number(row, 3) + terms.sum::<f64>();
            assert!((value.to_f64() - expected).abs() < tolerance, "{value} for {expected} at {n}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
        #[test]
        fn as_defined(rows in 1_usize..20, planes in 1_usize..4, columns in 1_usize..6, run in 1_usize..90) {
            check::<f32>([rows, planes, columns, run], 1e-4);
            check::<f64>([rows, planes, columns, run], 1e-12);
        }
    }
}
