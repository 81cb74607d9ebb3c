//! Weighted sums of runs of numbers: what convolutions consist of.

use pulp::{Arch, Simd, WithSimd};

use crate::nn::groups::constant;
use crate::nn::runs::{Lines, Taps, parts};
use crate::nn::vectors::{Lanes, load, store};

/// Vectors of a run that are computed together.
const VECTORS: usize = 2;

/// The most rows that are computed together: with two vectors each, the sums, two vectors of the input and a
/// broadcast weight take fifteen of AVX2's sixteen registers.
const ROWS_MAX: usize = 6;

/// `output[row] = start + Σ_k weight[k][row] · input[tap k..]`, for runs of `run` numbers on several lines.
pub(crate) struct WeightedSums<'a, T> {
    /// Where runs are read.
    pub(crate) input: &'a [T],
    /// Where the run of each term starts on the first line.
    pub(crate) taps: Taps,
    /// For each term, one weight per row.
    pub(crate) weights: &'a [T],
    /// What the sums start with.
    pub(crate) start: Start<'a, T>,
    /// Where runs are written: rows are `row_stride` apart.
    pub(crate) output: &'a mut [T],
    /// The number of rows.
    pub(crate) rows: usize,
    /// From one to the next in the output.
    pub(crate) row_stride: usize,
    /// The length of a run.
    pub(crate) run: usize,
    /// How often that happens, and by how much input, output and weights move on each time.
    pub(crate) lines: Lines,
}

/// What sums start with.
#[derive(Clone, Copy)]
pub(crate) enum Start<'a, T> {
    /// The sums begin at zero.
    Zero,
    /// A number per row.
    Rows(&'a [T]),
    /// What is in the output already.
    Output,
}

/// A place in the runs: on which line, from where, and how many numbers if fewer than a vector.
#[derive(Clone, Copy)]
struct Place {
    line: usize,
    at: usize,
    short: usize,
}

impl<T: Lanes> WeightedSums<'_, T> {
    /// Computes the weighted sums of all rows.
    pub(crate) fn compute(self) {
        Arch::new().dispatch(self);
    }

    /// All rows, for `V` vectors of the runs, or for less than one if `SHORT`.
    #[inline(always)]
    fn column<S: Simd, const V: usize, const SHORT: bool>(&mut self, simd: S, place: Place) {
        for (first, count) in parts(self.rows, ROWS_MAX) {
            constant!(count, [1, 2, 3, 4, 5, 6], |R: usize| self.tile::<S, R, V, SHORT>(simd, place, first));
        }
    }

    /// `R` rows from `first`.
    #[inline(always)]
    fn tile<S: Simd, const R: usize, const V: usize, const SHORT: bool>(
        &mut self,
        simd: S,
        place: Place,
        first: usize,
    ) {
        let Place { line, at, short } = place;
        let [input_stride, output_stride, weights_stride] = self.lines.strides;
        let output_at = line * output_stride + first * self.row_stride + at;
        let mut sums = [[T::ZERO.splat(simd); V]; R];
        match self.start {
            Start::Zero => {}
            Start::Rows(start) => {
                for (sums, &start) in sums.iter_mut().zip(&start[first..]) {
                    *sums = [start.splat(simd); V];
                }
            }
            Start::Output => {
                for (row, sums) in sums.iter_mut().enumerate() {
                    *sums =
                        load::<T, S, V, SHORT>(simd, self.output, output_at + row * self.row_stride, short);
                }
            }
        }
        let Taps { counts: [planes, lines, columns], strides } = self.taps;
        let mut weights_at = line * weights_stride + first;
        for plane in 0..planes {
            for tap_line in 0..lines {
                let mut at = line * input_stride + at + plane * strides[0] + tap_line * strides[1];
                for _ in 0..columns {
                    let vectors = load::<T, S, V, SHORT>(simd, self.input, at, short);
                    let weights = &self.weights[weights_at..weights_at + R];
                    for row in 0..R {
                        let weight = weights[row].splat(simd);
                        for v in 0..V {
                            sums[row][v] = T::mul_add_vectors(simd, vectors[v], weight, sums[row][v]);
                        }
                    }
                    at += strides[2];
                    weights_at += self.rows;
                }
            }
        }
        for (row, sums) in sums.iter().enumerate() {
            let at = output_at + row * self.row_stride;
            store::<T, S, V, SHORT>(simd, self.output, at, short, sums);
        }
    }
}

impl<T: Lanes> WithSimd for WeightedSums<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let lanes = T::lanes::<S>();
        for line in 0..self.lines.count {
            let mut place = Place { line, at: 0, short: 0 };
            while place.at + VECTORS * lanes <= self.run {
                self.column::<S, VECTORS, false>(simd, place);
                place.at += VECTORS * lanes;
            }
            if place.at + lanes <= self.run {
                self.column::<S, 1, false>(simd, place);
                place.at += lanes;
            }
            if place.at < self.run {
                place.short = self.run - place.at;
                self.column::<S, 1, true>(simd, place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<T: Lanes>(kind: usize, [rows, planes, columns, run]: [usize; 4], tolerance: f64) {
        let number = |n: usize, by: usize| (n * by % 17) as f64 / 17.0 - 0.4;
        let numbers =
            |len: usize, by: usize| -> Vec<T> { (0..len).map(|n| T::from_f64(number(n, by))).collect() };
        let taps = Taps { counts: [planes, 2, columns], strides: [4, 3, 2] };
        let weights = numbers(rows * taps.len() + 1, 7);
        let (input, starts) = (numbers(run + 40, 5), numbers(rows, 3));
        let mut output = numbers(2 * rows * run, 11);
        WeightedSums {
            input: &input,
            taps,
            weights: &weights,
            start: [Start::Zero, Start::Rows(&starts), Start::Output][kind],
            output: &mut output,
            rows,
            row_stride: run,
            run,
            lines: Lines { count: 2, strides: [3, rows * run, 1] },
        }
        .compute();
        for (n, value) in output.iter().enumerate() {
            let (line, row, at) = (n / (rows * run), n / run % rows, n % run);
            let start = [0.0, number(row, 3), number(n, 11)][kind];
            let weight = |k: usize| number(line + k * rows + row, 7);
            let terms = (0..taps.len()).map(|k| weight(k) * number(line * 3 + taps.offset(k) + at, 5));
            let expected = start + terms.sum::<f64>();
            assert!((value.to_f64() - expected).abs() < tolerance, "{value} for {expected} at {n}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
        #[test]
        fn as_defined(
            kind in 0_usize..3, rows in 1_usize..20, planes in 1_usize..4, columns in 1_usize..6, run in 1_usize..90,
        ) {
            check::<f32>(kind, [rows, planes, columns, run], 1e-4);
            check::<f64>(kind, [rows, planes, columns, run], 1e-12);
        }
    }
}
