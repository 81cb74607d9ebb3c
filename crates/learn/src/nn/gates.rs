//! The gates of an LSTM, sample by sample: everything except its matrix products.
//!
//! Several short loops rather than one long one: with more than a few slices in a loop the compiler gives
//! up proving that they do not overlap, and leaves it scalar. A row of a gate is a kilobyte and stays in
//! the first-level cache between them.

use pulp::Arch;

use crate::nn::vectors::Lanes;

/// One time step of a batch, forward. Rows one after the other, `hidden` numbers each, four times as many
/// for `gates`.
pub struct StepForward<'a, T> {
    /// Units in the layer.
    pub hidden: usize,
    /// In: the products; out: the gates i, f, g, o.
    pub gates: &'a mut [T],
    /// To be added to a row of products.
    pub bias: &'a [T],
    /// The cells before; empty for zeros.
    pub cells_before: &'a [T],
    /// The cells after, to be written.
    pub cells: &'a mut [T],
    /// tanh of the cells, to be written.
    pub cells_tanh: &'a mut [T],
    /// The output, to be written.
    pub output: &'a mut [T],
}

impl<T: Lanes> StepForward<'_, T> {
    /// Computes the step with the widest vectors of the processor.
    pub fn run(self) {
        Arch::new().dispatch(
            #[inline(always)]
            || self.run_inlined(),
        );
    }

    #[inline(always)]
    fn run_inlined(self) {
        let n = self.hidden;
        let rows = self.gates.chunks_exact_mut(4 * n).zip(self.cells.chunks_exact_mut(n));
        let outputs = self.cells_tanh.chunks_exact_mut(n).zip(self.output.chunks_exact_mut(n));
        for (row, ((gates, cells), (cells_tanh, output))) in rows.zip(outputs).enumerate() {
            let (input_forget, cell_output) = gates.split_at_mut(2 * n);
            let (g, o) = cell_output.split_at_mut(n);
            squash(input_forget, &self.bias[..2 * n], T::sigmoid);
            squash(g, &self.bias[2 * n..3 * n], T::tanh_in_loops);
            squash(o, &self.bias[3 * n..], T::sigmoid);
            let (i, f) = input_forget.split_at(n);
            for ((c, &i), &g) in cells.iter_mut().zip(i).zip(&*g) {
                *c = i * g;
            }
            if !self.cells_before.is_empty() {
                let before = &self.cells_before[row * n..(row + 1) * n];
                for ((c, &f), &before) in cells.iter_mut().zip(f).zip(before) {
                    *c += f * before;
                }
            }
            for ((tanh, h), (&c, &o)) in cells_tanh.iter_mut().zip(output).zip(cells.iter().zip(&*o)) {
                *tanh = c.tanh_in_loops();
                *h = o * *tanh;
            }
        }
    }
}

#[inline(always)]
fn squash<T: Lanes>(gate: &mut [T], bias: &[T], by: impl Fn(T) -> T) {
    for (gate, &bias) in gate.iter_mut().zip(bias) {
        *gate = by(*gate + bias);
    }
}

/// One time step of a batch, backward.
pub struct StepBackward<'a, T> {
    /// Units in the layer.
    pub hidden: usize,
    /// In: the gates; out: ∂loss/∂(what was squashed).
    pub gates: &'a mut [T],
    /// The cells before; empty for zeros.
    pub cells_before: &'a [T],
    /// tanh of the cells.
    pub cells_tanh: &'a [T],
    /// ∂loss/∂output, from above and from later steps.
    pub output_grad: &'a [T],
    /// In: ∂loss/∂cells through later steps; out: the same for the cells before.
    pub cells_grad: &'a mut [T],
    /// ∂loss/∂bias, to which the gradient of the batch is added.
    pub bias_grad: &'a mut [T],
}

impl<T: Lanes> StepBackward<'_, T> {
    /// Computes the step with the widest vectors of the processor.
    pub fn run(self) {
        Arch::new().dispatch(
            #[inline(always)]
            || self.run_inlined(),
        );
    }

    #[inline(always)]
    fn run_inlined(self) {
        let n = self.hidden;
        let rows = self.gates.chunks_exact_mut(4 * n).zip(self.cells_grad.chunks_exact_mut(n));
        let above = self.cells_tanh.chunks_exact(n).zip(self.output_grad.chunks_exact(n));
        for (row, ((gates, dc), (tanh, dh))) in rows.zip(above).enumerate() {
            let (input_forget, cell_output) = gates.split_at_mut(2 * n);
            let ((i, f), (g, o)) = (input_forget.split_at_mut(n), cell_output.split_at_mut(n));
            for ((dc, &o), (&tanh, &dh)) in dc.iter_mut().zip(&*o).zip(tanh.iter().zip(dh)) {
                *dc += dh * o * (T::ONE - tanh * tanh);
            }
            for (o, (&tanh, &dh)) in o.iter_mut().zip(tanh.iter().zip(dh)) {
                *o = dh * tanh * *o * (T::ONE - *o);
            }
            for ((i, g), &dc) in i.iter_mut().zip(g).zip(&*dc) {
                let (dg, di) = (dc * *i * (T::ONE - *g * *g), dc * *g * *i * (T::ONE - *i));
                (*i, *g) = (di, dg);
            }
            if self.cells_before.is_empty() {
                // Nothing to forget at the first step, and nobody before it to pass a gradient to.
                f.fill(T::ZERO);
            } else {
                let before = &self.cells_before[row * n..(row + 1) * n];
                for ((f, dc), &before) in f.iter_mut().zip(dc).zip(before) {
                    let passed = *dc * *f;
                    *f = passed * before * (T::ONE - *f);
                    *dc = passed;
                }
            }
            for (sum, &grad) in self.bias_grad.iter_mut().zip(&*gates) {
                *sum += grad;
            }
        }
    }
}
