//! A 5·5 convolution by Winograd's algorithm: 36 small matrix products instead of one large one, and 2.8 times
//! fewer multiplications.
//!
//! All three gradients are those of exactly this computation, transposed: tile rows of inputs go to frequencies
//! (V), weights too (U), products M = U·V, and from there to outputs. Backwards, the gradients of outputs go to
//! frequencies once (dM) and serve both the weight (dU = dM·Vᵀ) and the input (dV = Uᵀ·dM).

use pulp::NullaryFnOnce;

use crate::nn::dot_products::DotProducts;
use crate::nn::lanes::{LANES, add_product, load, run, store};
use crate::nn::runs::{Lines, Taps};
use crate::nn::vectors::Lanes;
use crate::nn::weighted_sums::{WeightedSums, pack};
use crate::nn::winograd_tiles::{
    FREQUENCIES, Inputs, InputsTransposed, KERNEL, OUTPUTS, Outputs, OutputsTransposed, POINTS, TileRow,
    weight_factors,
};
use crate::real::Real;

/// The most samples of a tile row that are in frequencies at a time.
const SAMPLES_MAX: usize = 32;

/// Images `[channel][row][column][sample]` with their frame to outputs in the same order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Winograd {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    /// The side of the framed images, even.
    pub(crate) side: usize,
}

/// The scratch, cut up.
struct Work<'a, T> {
    /// U: `[frequency][output][input]`; made by the forward pass, read by the backward pass.
    weight: &'a mut [T],
    weight_grad: &'a mut [T],
    /// U or Uᵀ in the order of the products.
    packed: &'a mut [T],
    /// V and its gradient.
    input: &'a mut [T],
    input_grad: &'a mut [T],
    /// M or its gradient.
    output: &'a mut [T],
}

impl Winograd {
    /// Whether it is worth it: with few channels the way to frequencies and back costs more than it saves.
    pub(crate) fn suits(inputs: usize, outputs: usize, kernel: usize, output_side: usize) -> bool {
        kernel == KERNEL && output_side.is_multiple_of(OUTPUTS) && inputs >= 4 && outputs >= 4
    }

    fn tiles(&self) -> usize {
        (self.side + 1 - KERNEL) / OUTPUTS
    }

    fn columns_max(&self, batch: usize) -> usize {
        self.tiles() * batch.min(SAMPLES_MAX)
    }

    /// Numbers that both passes work in; the backward pass wants what the forward pass left there.
    pub(crate) fn scratch_len(&self, batch: usize) -> usize {
        FREQUENCIES
            * (3 * self.inputs * self.outputs + (2 * self.inputs + self.outputs) * self.columns_max(batch))
    }

    fn work<'a, T>(&self, batch: usize, scratch: &'a mut [T]) -> Work<'a, T> {
        let columns = self.columns_max(batch);
        let weights = FREQUENCIES * self.inputs * self.outputs;
        let (weight, rest) = scratch.split_at_mut(weights);
        let (weight_grad, rest) = rest.split_at_mut(weights);
        let (packed, rest) = rest.split_at_mut(weights);
        let (input, rest) = rest.split_at_mut(FREQUENCIES * self.inputs * columns);
        let (input_grad, rest) = rest.split_at_mut(FREQUENCIES * self.inputs * columns);
        let output = &mut rest[..FREQUENCIES * self.outputs * columns];
        Work { weight, weight_grad, packed, input, input_grad, output }
    }

    /// Rows of tiles, a few samples at a time: of the inputs, and of the outputs.
    fn rows(&self, batch: usize) -> impl Iterator<Item = (TileRow, TileRow)> {
        let Self { inputs, outputs, side } = *self;
        let tiles = self.tiles();
        (0..batch).step_by(SAMPLES_MAX).flat_map(move |first| {
            let count = SAMPLES_MAX.min(batch - first);
            (0..tiles).map(move |row| {
                let of_inputs = TileRow { channels: inputs, side, tiles, row, batch, first, count };
                (of_inputs, TileRow { channels: outputs, side: OUTPUTS * tiles, ..of_inputs })
            })
        })
    }

    /// `output = bias + weight ∗ input`.
    pub(crate) fn forward<T: Lanes>(
        &self,
        batch: usize,
        (weight, bias): (&[T], &[T]),
        input: &[T],
        output: &mut [T],
        scratch: &mut [T],
    ) {
        let work = self.work(batch, scratch);
        self.weight_to_frequencies(weight, work.weight);
        self.pack(work.weight, [self.outputs, self.inputs], [self.inputs, 1], work.packed);
        for (of_inputs, of_outputs) in self.rows(batch) {
            of_inputs.to_frequencies::<T, Inputs, _>(input, work.input);
            self.products(
                [self.outputs, self.inputs],
                of_inputs.columns(),
                work.packed,
                work.input,
                work.output,
            );
            of_outputs.to_pixels::<T, Outputs, _>(work.output, Some(bias), output);
        }
    }

    /// Replaces the gradient of the weight, adds to that of the framed input unless it is empty.
    pub(crate) fn backward<T: Lanes>(
        &self,
        batch: usize,
        input: &[T],
        output_grad: &[T],
        (weight_grad, input_grad): (&mut [T], &mut [T]),
        scratch: &mut [T],
    ) {
        let work = self.work(batch, scratch);
        self.pack(work.weight, [self.inputs, self.outputs], [1, self.inputs], work.packed);
        work.weight_grad.fill(T::ZERO);
        for (of_inputs, of_outputs) in self.rows(batch) {
            of_inputs.to_frequencies::<T, Inputs, _>(input, work.input);
            of_outputs.to_frequencies::<T, OutputsTransposed, _>(output_grad, work.output);
            self.dot_products(of_inputs.columns(), work.output, work.input, work.weight_grad);
            if !input_grad.is_empty() {
                let shape = [self.inputs, self.outputs];
                self.products(shape, of_inputs.columns(), work.packed, work.output, work.input_grad);
                of_inputs.to_pixels::<T, InputsTransposed, _>(work.input_grad, None, input_grad);
            }
        }
        self.weight_from_frequencies(work.weight_grad, weight_grad);
    }

    /// Per frequency, weights in the order of the products.
    fn pack<T: Lanes>(&self, weight: &[T], shape: [usize; 2], strides: [usize; 2], packed: &mut [T]) {
        let len = self.inputs * self.outputs;
        for (weight, packed) in weight.chunks_exact(len).zip(packed.chunks_exact_mut(len)) {
            pack(weight, shape, strides, packed);
        }
    }

    /// Per frequency, weights [rows, terms] times [terms, columns].
    fn products<T: Lanes>(
        &self,
        [rows, terms]: [usize; 2],
        columns: usize,
        packed: &[T],
        from: &[T],
        to: &mut [T],
    ) {
        let weights = packed.chunks_exact(rows * terms);
        let frequencies = from.chunks_exact(terms * columns).zip(to.chunks_exact_mut(rows * columns));
        for (weights, (input, output)) in weights.zip(frequencies) {
            WeightedSums {
                input,
                taps: Taps::evenly(terms, columns),
                weights,
                start: &[],
                output,
                rows,
                row_stride: columns,
                run: columns,
                lines: Lines::ONE,
            }
            .compute();
        }
    }

    /// Per frequency, the gradient of the weight: [outputs, columns] times [columns, inputs], added.
    fn dot_products<T: Lanes>(&self, columns: usize, output_grad: &[T], input: &[T], weight_grad: &mut [T]) {
        let Self { inputs, outputs, .. } = *self;
        let factors = output_grad.chunks_exact(outputs * columns).zip(input.chunks_exact(inputs * columns));
        for (sums, (left, right)) in weight_grad.chunks_exact_mut(inputs * outputs).zip(factors) {
            DotProducts {
                left,
                left_stride: columns,
                left_count: outputs,
                right,
                right_taps: Taps::evenly(inputs, columns),
                run: columns,
                lines: Lines::ONE,
                sums,
            }
            .add();
        }
    }

    /// From [outputs, inputs, 5, 5] to `[frequency][output][input]`.
    fn weight_to_frequencies<T: Real>(&self, weight: &[T], frequencies: &mut [T]) {
        run(WeightToFrequencies { weight, frequencies, pairs: self.inputs * self.outputs });
    }

    /// Its transpose: the gradient of the weight.
    fn weight_from_frequencies<T: Real>(&self, frequencies: &[T], weight: &mut [T]) {
        run(WeightFromFrequencies { weight, frequencies, pairs: self.inputs * self.outputs });
    }
}

/// `N` neighbouring pairs of channels at a time.
struct WeightToFrequencies<'a, T> {
    weight: &'a [T],
    frequencies: &'a mut [T],
    pairs: usize,
}

impl<T: Real> NullaryFnOnce for WeightToFrequencies<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        let wide = self.pairs / LANES * LANES;
        (0..wide).step_by(LANES).for_each(|pair| self.pairs_from::<LANES>(pair));
        (wide..self.pairs).for_each(|pair| self.pairs_from::<1>(pair));
    }
}

impl<T: Real> WeightToFrequencies<'_, T> {
    #[inline(always)]
    fn pairs_from<const N: usize>(&mut self, pair: usize) {
        let factors = weight_factors::<T>();
        let weight =
            self.weight[pair * KERNEL * KERNEL..][..N * KERNEL * KERNEL].as_chunks::<{ KERNEL * KERNEL }>().0;
        let mut half = [[[T::ZERO; N]; KERNEL]; POINTS];
        for (point, half) in half.iter_mut().enumerate() {
            for (x, half) in half.iter_mut().enumerate() {
                for y in 0..KERNEL {
                    let entries = std::array::from_fn(|n| weight[n][y * KERNEL + x]);
                    add_product(half, entries, [factors[point][y]; N]);
                }
            }
        }
        for (i, half) in half.iter().enumerate() {
            for (j, factors) in factors.iter().enumerate() {
                let mut sum = [T::ZERO; N];
                for (&entries, &factor) in half.iter().zip(factors) {
                    add_product(&mut sum, entries, [factor; N]);
                }
                store(self.frequencies, (i * POINTS + j) * self.pairs + pair, sum);
            }
        }
    }
}

struct WeightFromFrequencies<'a, T> {
    weight: &'a mut [T],
    frequencies: &'a [T],
    pairs: usize,
}

impl<T: Real> NullaryFnOnce for WeightFromFrequencies<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        let wide = self.pairs / LANES * LANES;
        (0..wide).step_by(LANES).for_each(|pair| self.pairs_from::<LANES>(pair));
        (wide..self.pairs).for_each(|pair| self.pairs_from::<1>(pair));
    }
}

impl<T: Real> WeightFromFrequencies<'_, T> {
    #[inline(always)]
    fn pairs_from<const N: usize>(&mut self, pair: usize) {
        let factors = weight_factors::<T>();
        let mut half = [[[T::ZERO; N]; KERNEL]; POINTS];
        for (i, half) in half.iter_mut().enumerate() {
            for (j, factors) in factors.iter().enumerate() {
                let entries = load(self.frequencies, (i * POINTS + j) * self.pairs + pair);
                for (half, &factor) in half.iter_mut().zip(factors) {
                    add_product(half, entries, [factor; N]);
                }
            }
        }
        let weight = &mut self.weight[pair * KERNEL * KERNEL..][..N * KERNEL * KERNEL];
        for y in 0..KERNEL {
            for x in 0..KERNEL {
                let mut sum = [T::ZERO; N];
                for (half, factors) in half.iter().zip(&factors) {
                    add_product(&mut sum, half[x], [factors[y]; N]);
                }
                for (n, &sum) in sum.iter().enumerate() {
                    weight[n * KERNEL * KERNEL + y * KERNEL + x] = sum;
                }
            }
        }
    }
}
