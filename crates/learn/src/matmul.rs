//! Matrix products on slices, with the bounds checked once.

use crate::real::Real;

/// A matrix in a slice: entry (i, j) at `offset + i·row_stride + j·column_stride`.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub columns: usize,
    /// From one row to the next.
    pub row_stride: usize,
    /// From one column to the next.
    pub column_stride: usize,
}

impl View {
    /// Rows one after the other.
    pub fn row_major(rows: usize, columns: usize) -> Self {
        Self { rows, columns, row_stride: columns, column_stride: 1 }
    }

    /// The same entries, rows and columns exchanged.
    pub fn transposed(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
        }
    }

    /// Slice elements from the first entry to the last.
    fn len(self) -> usize {
        if self.rows == 0 || self.columns == 0 {
            return 0;
        }
        (self.rows - 1) * self.row_stride + (self.columns - 1) * self.column_stride + 1
    }
}

/// Whether a product replaces what is there or is added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Into {
    /// Replaces the result: c = a·b.
    Replace,
    /// Adds the product: c += a·b.
    Add,
}

/// c = a·b or c += a·b, on one thread.
///
/// # Panics
///
/// If the shapes do not fit each other or their slices: a mistake in a layer, not in its input.
#[allow(unsafe_code, reason = "the gemm crate takes pointers; shapes and bounds are checked above the call")]
pub fn matmul<T: Real>(into: Into, c: (&mut [T], View), a: (&[T], View), b: (&[T], View)) {
    let ((c, c_view), (a, a_view), (b, b_view)) = (c, a, b);
    assert!(a_view.columns == b_view.rows && a_view.rows == c_view.rows && b_view.columns == c_view.columns);
    assert!(a.len() >= a_view.len() && b.len() >= b_view.len() && c.len() >= c_view.len());
    // SAFETY: every entry that the strides and shapes reach lies within its slice (asserted above), `c` is
    // borrowed mutably and so does not overlap the others, and T is f32 or f64, which gemm knows.
    unsafe {
        gemm::gemm(
            c_view.rows,
            c_view.columns,
            a_view.columns,
            c.as_mut_ptr(),
            c_view.column_stride as isize,
            c_view.row_stride as isize,
            into == Into::Add,
            a.as_ptr(),
            a_view.column_stride as isize,
            a_view.row_stride as isize,
            b.as_ptr(),
            b_view.column_stride as isize,
            b_view.row_stride as isize,
            T::ONE,
            T::ONE,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// The products of a layer that multiplies rows of numbers by a weight W of shape [outputs, inputs].
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowProducts {
    pub(crate) rows: usize,
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
}

impl RowProducts {
    /// Computes the outputs of a dense layer: input · Wᵀ.
    pub(crate) fn output<T: Real>(self, into: Into, weight: &[T], input: &[T], output: &mut [T]) {
        let weight = (weight, self.weight_view().transposed());
        matmul(into, (output, self.output_view()), (input, self.input_view()), weight);
    }

    /// Computes ∂loss/∂W = ∂loss/∂outputᵀ · input.
    pub(crate) fn weight_grad<T: Real>(self, into: Into, input: &[T], output_grad: &[T], grad: &mut [T]) {
        let output_grad = (output_grad, self.output_view().transposed());
        matmul(into, (grad, self.weight_view()), output_grad, (input, self.input_view()));
    }

    /// Writes ∂loss/∂input = ∂loss/∂output · W, unless nobody asks for it.
    pub(crate) fn input_grad<T: Real>(self, weight: &[T], output_grad: &[T], grad: &mut [T]) {
        if !grad.is_empty() {
            let (output_grad, weight) = ((output_grad, self.output_view()), (weight, self.weight_view()));
            matmul(Into::Replace, (grad, self.input_view()), output_grad, weight);
        }
    }

    fn weight_view(self) -> View {
        View::row_major(self.outputs, self.inputs)
    }

    fn input_view(self) -> View {
        View::row_major(self.rows, self.inputs)
    }

    fn output_view(self) -> View {
        View::row_major(self.rows, self.outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_with_strides() {
        // a = [1 2 3; 4 5 6], b = its transpose, both from the same slice.
        let a = [1.0_f64, 2.0, 3.0, 4.0, 5.0, 6.0];
        let view = View::row_major(2, 3);
        let mut c = [1.0; 4];
        let square = View::row_major(2, 2);
        matmul(Into::Replace, (&mut c, square), (&a, view), (&a, view.transposed()));
        assert_eq!(c, [14.0, 32.0, 32.0, 77.0]);
        matmul(Into::Add, (&mut c, square), (&a, view), (&a, view.transposed()));
        assert_eq!(c, [28.0, 64.0, 64.0, 154.0]);
    }
}
