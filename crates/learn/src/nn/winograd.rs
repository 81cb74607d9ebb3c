//! A 5·5 convolution by Winograd's algorithm: 36 small matrix products instead of one large one, and 2.8 times
//! fewer multiplications.
//!
//! Tiles of inputs go to frequencies (V), weights too (U); there, products M = U·V, and from there to outputs. All
//! gradients are those of exactly this computation, transposed: those of outputs go to frequencies (dM), where
//! dV = Uᵀ·dM and dU = dM·Vᵀ. For dU, vectors run along channels instead of samples, so that sums over samples
//! stay in registers; inputs and gradients of outputs are transposed for that.

use crate::layer::cut;
use crate::nn::runs::{Lines, Taps};
use crate::nn::transpose::transpose;
use crate::nn::vectors::Lanes;
use crate::nn::weighted_sums::{Start, WeightedSums};
use crate::nn::winograd_maps::{
    FREQUENCIES, Inputs, InputsTransposed, KERNEL, OUTPUTS, Outputs, OutputsTransposed,
};
use crate::nn::winograd_tiles::Tile;
use crate::nn::winograd_weights::{weight_from_frequencies, weight_to_frequencies};

/// The most samples of a tile that are in frequencies at a time: what they take should fit into the second-level
/// cache.
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
    /// Its gradient; in the forward pass, U as `[frequency][input][output]`.
    weight_grad: &'a mut [T],
    /// V, or the gradient of it.
    input: &'a mut [T],
    /// M, or the gradient of it.
    output: &'a mut [T],
    /// Images with channels innermost.
    inputs_transposed: &'a mut [T],
    outputs_transposed: &'a mut [T],
}

/// A tile of all images in either order, channels outside or inside, for some of the samples.
#[derive(Clone, Copy)]
struct Place {
    batch: usize,
    row: usize,
    column: usize,
    samples: [usize; 2],
}

impl Place {
    /// With channels outside, numbers of one channel are 1 apart from sample to sample; with channels inside, `channels`.
    fn squares(self, [outer, inner]: [usize; 2], side: usize, [next, sample]: [usize; 2]) -> Tile {
        let pixel = self.batch * sample;
        let corner = (self.row * side + self.column) * OUTPUTS * pixel + self.samples[0] * sample;
        Tile { outer, inner, corner, strides: [side * pixel, pixel, next] }
    }

    fn tile(self, channels: usize, side: usize) -> Tile {
        self.squares([channels, self.samples[1]], side, [side * side * self.batch, 1])
    }

    fn tile_transposed(self, channels: usize, side: usize) -> Tile {
        self.squares([self.samples[1], channels], side, [channels; 2])
    }
}

impl Winograd {
    /// Whether it is worth it: with few channels the way to frequencies and back costs more than it saves.
    pub(crate) fn suits(inputs: usize, outputs: usize, kernel: usize, output_side: usize) -> bool {
        kernel == KERNEL && output_side.is_multiple_of(OUTPUTS) && inputs >= 4 && outputs >= 4
    }

    fn output_side(&self) -> usize {
        self.side + 1 - KERNEL
    }

    /// What the parts of [`Work`] take, in its order.
    fn lens(&self, batch: usize) -> [usize; 6] {
        let weights = FREQUENCIES * self.inputs * self.outputs;
        let samples = batch.min(SAMPLES_MAX);
        let frequencies = |channels: usize| FREQUENCIES * (channels * samples + 16);
        [
            weights,
            weights,
            frequencies(self.inputs),
            frequencies(self.outputs),
            self.inputs * self.side * self.side * batch,
            self.outputs * self.output_side() * self.output_side() * batch,
        ]
    }

    /// Numbers that both passes work in; the backward pass wants what the forward pass left there.
    pub(crate) fn scratch_len(&self, batch: usize) -> usize {
        self.lens(batch).iter().sum()
    }

    fn work<'a, T>(&self, batch: usize, scratch: &'a mut [T]) -> Work<'a, T> {
        let [weight, weight_grad, input, output, inputs_transposed, outputs_transposed] =
            cut(scratch, self.lens(batch));
        Work { weight, weight_grad, input, output, inputs_transposed, outputs_transposed }
    }

    fn places(&self, batch: usize) -> impl Iterator<Item = Place> {
        let tiles = self.output_side() / OUTPUTS;
        (0..batch).step_by(SAMPLES_MAX).flat_map(move |first| {
            let samples = [first, SAMPLES_MAX.min(batch - first)];
            (0..tiles * tiles).map(move |tile| Place {
                batch,
                row: tile / tiles,
                column: tile % tiles,
                samples,
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
        let pairs = self.inputs * self.outputs;
        weight_to_frequencies(weight, work.weight);
        let by_input = work.weight_grad;
        for (weight, by_input) in work.weight.chunks_exact(pairs).zip(by_input.chunks_exact_mut(pairs)) {
            transpose(weight, self.inputs, by_input);
        }
        for place in self.places(batch) {
            let inputs = place.tile(self.inputs, self.side);
            let outputs = place.tile(self.outputs, self.output_side());
            inputs.to_frequencies::<T, Inputs, _>(input, work.input);
            products((by_input, pairs), (work.input, inputs), (work.output, outputs));
            outputs.to_pixels::<T, Outputs, _>(work.output, Some(bias), output);
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
        let pairs = self.inputs * self.outputs;
        transpose(input, self.side * self.side * batch, work.inputs_transposed);
        transpose(output_grad, self.output_side() * self.output_side() * batch, work.outputs_transposed);
        work.weight_grad.fill(T::ZERO);
        for place in self.places(batch) {
            let inputs = place.tile_transposed(self.inputs, self.side);
            let outputs = place.tile_transposed(self.outputs, self.output_side());
            inputs.to_frequencies::<T, Inputs, _>(work.inputs_transposed, work.input);
            outputs.to_frequencies::<T, OutputsTransposed, _>(work.outputs_transposed, work.output);
            WeightedSums {
                input: work.input,
                taps: Taps::evenly(inputs.outer, self.inputs),
                weights: work.output,
                start: Start::Output,
                output: work.weight_grad,
                rows: self.outputs,
                row_stride: self.inputs,
                run: self.inputs,
                lines: Lines {
                    count: FREQUENCIES,
                    strides: [inputs.frequency_stride(), pairs, outputs.frequency_stride()],
                },
            }
            .compute();
            if !input_grad.is_empty() {
                let inputs = place.tile(self.inputs, self.side);
                let outputs = place.tile(self.outputs, self.output_side());
                outputs.to_frequencies::<T, OutputsTransposed, _>(output_grad, work.output);
                products((work.weight, pairs), (work.output, outputs), (work.input, inputs));
                inputs.to_pixels::<T, InputsTransposed, _>(work.input, None, input_grad);
            }
        }
        weight_from_frequencies(work.weight_grad, weight_grad);
    }
}

/// Per frequency, weights (and how many) times one side to the other side.
fn products<T: Lanes>(
    (weights, pairs): (&[T], usize),
    (from, from_tile): (&[T], Tile),
    (to, to_tile): (&mut [T], Tile),
) {
    WeightedSums {
        input: from,
        taps: Taps::evenly(from_tile.outer, from_tile.inner),
        weights,
        start: Start::Zero,
        output: to,
        rows: to_tile.outer,
        row_stride: to_tile.inner,
        run: to_tile.inner,
        lines: Lines {
            count: FREQUENCIES,
            strides: [from_tile.frequency_stride(), to_tile.frequency_stride(), pairs],
        },
    }
    .compute();
}
