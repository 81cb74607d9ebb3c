//! Products of a few rows with one matrix that stays the same for many of them: packed once, used often.
//!
//! A general product copies its operands into the order in which its kernel reads them, each time. For the
//! recurrent product of an LSTM (a batch of 32 rows, a matrix of a megabyte, eighty times in a row) that
//! copy costs as much as the arithmetic; here it happens once per pass.

use pulp::{Arch, Simd, WithSimd};

use crate::nn::groups::constant;
use crate::nn::vectors::{LANES_MAX, Lanes};

/// Vectors side by side in a panel.
const VECTORS: usize = 2;

/// The most rows of x that go through the kernel together. Two vectors by six rows make twelve sums; with
/// two vectors of the panel and a broadcast number that is fifteen of AVX2's sixteen registers. Three by
/// four would need all of them, and the compiler then spills sums into memory: half the speed.
const ROWS_MAX: usize = 6;

/// How much of the depth is done at a time: the panel of that many rows (16 kB) stays in the first-level
/// cache while all rows of x pass by.
const DEPTH: usize = 256;

/// Columns of the widest panel; every narrower one divides it.
const PANEL_MAX: usize = VECTORS * LANES_MAX;

/// Bytes in a cache line, and more numbers than it takes to get to the start of one.
const LINE: usize = 64;

/// A matrix to be packed: entry (k, j) at `k·depth_stride + j·column_stride`.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Rows of the matrix: numbers in a row of x.
    pub depth: usize,
    /// Columns of the matrix: numbers in a row of the result.
    pub columns: usize,
    /// From one row to the next.
    pub depth_stride: usize,
    /// From one column to the next.
    pub column_stride: usize,
}

impl Shape {
    /// Numbers that the packed matrix takes, on any processor and wherever its slice starts.
    pub fn packed_len(&self) -> usize {
        self.columns.next_multiple_of(PANEL_MAX) * self.depth + LINE
    }

    /// Writes the matrix in the kernel's order: by stretches of the depth, then by panels of columns, then
    /// row after row; the last panel is filled up with zeros.
    ///
    /// # Panics
    ///
    /// If a slice is too short: a mistake in a layer, not in its input.
    pub fn pack<T: Lanes>(&self, matrix: &[T], packed: &mut [T]) {
        assert!(packed.len() >= self.packed_len());
        let start = line_start(packed);
        Arch::new().dispatch(Pack { shape: *self, matrix, packed: &mut packed[start..] });
    }

    /// y += x · matrix, for rows of x and y one after the other.
    ///
    /// # Panics
    ///
    /// If the slices do not fit: a mistake in a layer, not in its input.
    pub fn add_product<T: Lanes>(&self, packed: &[T], x: &[T], y: &mut [T]) {
        assert!(packed.len() >= self.packed_len());
        assert!(x.len().is_multiple_of(self.depth) && y.len() == x.len() / self.depth * self.columns);
        let packed = &packed[line_start(packed)..];
        Arch::new().dispatch(Product { shape: *self, packed, x, y });
    }
}

/// Where the first whole cache line of a buffer starts: no vector of a panel should lie in two.
fn line_start<T>(buffer: &[T]) -> usize {
    buffer.as_ptr().align_offset(LINE).min(LINE)
}

struct Pack<'a, T> {
    shape: Shape,
    matrix: &'a [T],
    packed: &'a mut [T],
}

impl<T: Lanes> WithSimd for Pack<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Self { shape, matrix, mut packed } = self;
        let width = VECTORS * T::lanes::<S>();
        for from in (0..shape.depth).step_by(DEPTH) {
            let depth = DEPTH.min(shape.depth - from);
            for left in (0..shape.columns).step_by(width) {
                let columns = width.min(shape.columns - left);
                let (panel, rest) = packed.split_at_mut(width * depth);
                packed = rest;
                for (k, row) in panel.chunks_exact_mut(width).enumerate() {
                    let start = (from + k) * shape.depth_stride + left * shape.column_stride;
                    let entries = matrix[start..].iter().step_by(shape.column_stride);
                    row.iter_mut().zip(entries).take(columns).for_each(|(to, &entry)| *to = entry);
                    row[columns..].fill(T::ZERO);
                }
            }
        }
    }
}

struct Product<'a, T> {
    shape: Shape,
    packed: &'a [T],
    x: &'a [T],
    y: &'a mut [T],
}

impl<T: Lanes> WithSimd for Product<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { shape, mut packed, x, y } = self;
        let width = VECTORS * T::lanes::<S>();
        for from in (0..shape.depth).step_by(DEPTH) {
            let depth = DEPTH.min(shape.depth - from);
            for left in (0..shape.columns).step_by(width) {
                let (panel, rest) = packed.split_at(width * depth);
                packed = rest;
                let panel = T::vectors::<S>(panel).0.as_chunks::<VECTORS>().0;
                let columns = width.min(shape.columns - left);
                let (mut x, mut y) = (x, &mut *y);
                // All groups of about the same size: a last one of one or two rows would idle.
                for groups in (1..=(x.len() / shape.depth).div_ceil(ROWS_MAX)).rev() {
                    let rows = (x.len() / shape.depth).div_ceil(groups);
                    let (x_here, x_rest) = x.split_at(rows * shape.depth);
                    let (y_here, y_rest) = y.split_at_mut(rows * shape.columns);
                    let tile = Tile { shape, from, left, columns };
                    constant!(rows, [1, 2, 3, 4, 5, 6], |R: usize| {
                        tile.add::<T, S, R>(simd, panel, x_here, y_here);
                    });
                    (x, y) = (x_rest, y_rest);
                }
            }
        }
    }
}

/// A few rows of x against one panel.
struct Tile {
    shape: Shape,
    from: usize,
    left: usize,
    columns: usize,
}

impl Tile {
    #[inline(always)]
    fn add<T: Lanes, S: Simd, const R: usize>(
        self,
        simd: S,
        panel: &[[T::Vector<S>; VECTORS]],
        x: &[T],
        y: &mut [T],
    ) {
        let Self { shape, from, left, columns } = self;
        let mut sums = [[T::ZERO.splat(simd); VECTORS]; R];
        // Of the panel's length, so that the loop needs no checks.
        let rows: [&[T]; R] = std::array::from_fn(|row| &x[row * shape.depth + from..][..panel.len()]);
        for (k, vectors) in panel.iter().enumerate() {
            for row in 0..R {
                let factor = rows[row][k].splat(simd);
                for at in 0..VECTORS {
                    sums[row][at] = T::mul_add_vectors(simd, vectors[at], factor, sums[row][at]);
                }
            }
        }
        for (row, sums) in sums.iter().enumerate() {
            let y = &mut y[row * shape.columns + left..][..columns];
            if columns == VECTORS * T::lanes::<S>() {
                for (y, &sum) in T::vectors_mut::<S>(y).0.iter_mut().zip(sums) {
                    *y = T::add_vectors(simd, *y, sum);
                }
            } else {
                let mut numbers = [T::ZERO; PANEL_MAX];
                T::vectors_mut::<S>(&mut numbers).0[..VECTORS].copy_from_slice(sums);
                y.iter_mut().zip(numbers).for_each(|(y, number)| *y += number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matmul::{Into, View, matmul};
    use proptest::prelude::*;

    fn check<T: Lanes>(rows: usize, shape: Shape, tolerance: f64) {
        let numbers = |len: usize, step: usize| -> Vec<T> {
            (0..len).map(|n| T::from_f64((n * step % 17) as f64 / 17.0 - 0.4)).collect()
        };
        let matrix = numbers(shape.depth * shape.columns, 5);
        let x = numbers(rows * shape.depth, 7);
        let mut y = numbers(rows * shape.columns, 3);
        let mut expected = y.clone();
        // What was there before must not matter.
        let mut packed = vec![T::LOWEST; shape.packed_len()];
        shape.pack(&matrix, &mut packed);
        shape.add_product(&packed, &x, &mut y);
        let matrix_view = View {
            rows: shape.depth,
            columns: shape.columns,
            row_stride: shape.depth_stride,
            column_stride: shape.column_stride,
        };
        matmul(
            Into::Add,
            (&mut expected, View::row_major(rows, shape.columns)),
            (&x, View::row_major(rows, shape.depth)),
            (&matrix, matrix_view),
        );
        for (y, expected) in y.iter().zip(&expected) {
            assert!((y.to_f64() - expected.to_f64()).abs() <= tolerance, "{y} for {expected}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
        #[test]
        fn same_as_a_general_product(rows in 1_usize..20, depth in 1_usize..600, columns in 1_usize..130) {
            let by_rows = Shape { depth, columns, depth_stride: columns, column_stride: 1 };
            let by_columns = Shape { depth, columns, depth_stride: 1, column_stride: depth };
            for shape in [by_rows, by_columns] {
                check::<f32>(rows, shape, 1e-3);
                check::<f64>(rows, shape, 1e-11);
            }
        }
    }
}
