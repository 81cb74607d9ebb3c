//! Convolution with stride 1.
//!
//! Takes and gives `[channel][row][column][sample]`: with samples innermost, lines of an image are long runs of
//! numbers, and every entry of the kernel reads them at its own offset, so that nothing is laid out anew but the
//! frame of zeros around padded images. 5·5 kernels over several channels go by Winograd's algorithm.

use crate::layer::{Backward, Forward, Init, Layer, ParamSpec, Sizes};
use crate::nn::dot_products::DotProducts;
use crate::nn::frame::Frame;
use crate::nn::runs::{Lines, Taps};
use crate::nn::transpose::transpose;
use crate::nn::vectors::Lanes;
use crate::nn::weighted_sums::{Start, WeightedSums};
use crate::nn::winograd::Winograd;
use crate::real::sum;

/// Square images, square kernels. `weight` is [outputs, inputs, k, k], as in PyTorch.
#[derive(Clone, Debug)]
pub struct Conv {
    name: String,
    inputs: usize,
    outputs: usize,
    kernel: usize,
    padding: usize,
    side: usize,
    samples_first: bool,
}

impl Conv {
    /// From images of `side`·`side` with `inputs` channels to `outputs` channels.
    ///
    /// # Panics
    ///
    /// If the kernel does not fit into the padded image.
    pub fn new(name: &str, channels: (usize, usize), side: usize, kernel: usize, padding: usize) -> Self {
        assert!(
            kernel >= 1 && kernel <= side + 2 * padding,
            "{name}: a kernel of {kernel} in {side} + 2·{padding}"
        );
        let (inputs, outputs) = channels;
        Self { name: name.to_owned(), inputs, outputs, kernel, padding, side, samples_first: false }
    }

    /// For the first layer: takes `[sample][row][column][channel]`, the order in which samples come.
    #[must_use]
    pub fn samples_first(self) -> Self {
        Self { samples_first: true, ..self }
    }

    /// The side of the images that come out.
    pub fn output_side(&self) -> usize {
        self.side + 2 * self.padding + 1 - self.kernel
    }

    /// The number of inputs of one output: inputs·k·k.
    fn patch_len(&self) -> usize {
        self.inputs * self.kernel * self.kernel
    }

    /// Positions of one sample.
    fn positions(&self) -> usize {
        self.output_side() * self.output_side()
    }

    /// How inputs get their padding, and samples innermost.
    fn frame(&self) -> Frame {
        Frame {
            channels: self.inputs,
            side: self.side,
            margin: self.padding,
            samples_first: self.samples_first,
        }
    }

    /// Whether inputs have to be copied before they can be used.
    fn is_framed(&self) -> bool {
        self.padding > 0 || self.samples_first
    }

    /// The zeros around gradients of outputs that the flipped kernel needs to give the gradients of framed inputs.
    fn output_frame(&self) -> Frame {
        let margin = self.kernel - 1;
        Frame { channels: self.outputs, side: self.output_side(), margin, samples_first: false }
    }

    fn winograd(&self) -> Option<Winograd> {
        Winograd::suits(self.inputs, self.outputs, self.kernel, self.output_side()).then(|| Winograd {
            inputs: self.inputs,
            outputs: self.outputs,
            side: self.frame().framed_side(),
        })
    }

    /// Numbers of a framed batch, or none if inputs are used as they are.
    fn framed_len(&self, batch: usize) -> usize {
        if self.is_framed() { self.frame().len(batch) } else { 0 }
    }

    /// Output channels as weighted sums of shifted lines.
    fn direct<T: Lanes>(
        &self,
        batch: usize,
        params: (&[T], &[T]),
        input: &[T],
        output: &mut [T],
        by_tap: &mut [T],
    ) {
        let (weight, bias) = params;
        transpose(weight, self.patch_len(), by_tap);
        let sides = [self.frame().framed_side(), self.output_side()];
        self.sums(batch, sides, (input, self.inputs), by_tap, Start::Rows(bias), (output, self.outputs));
    }

    /// Channels of images with the second side as weighted sums of shifted lines of images with the first side.
    fn sums<T: Lanes>(
        &self,
        batch: usize,
        [side, out]: [usize; 2],
        (input, inputs): (&[T], usize),
        weights: &[T],
        start: Start<'_, T>,
        (output, outputs): (&mut [T], usize),
    ) {
        WeightedSums {
            input,
            taps: Taps::of_kernel(inputs, self.kernel, side, batch),
            weights,
            start,
            output,
            rows: outputs,
            row_stride: out * out * batch,
            run: out * batch,
            lines: Lines { count: out, strides: [side * batch, out * batch, 0] },
        }
        .compute();
    }

    /// The gradients of the weight and, unless it is empty, of the framed input.
    fn gradients<T: Lanes>(
        &self,
        batch: usize,
        weight: &[T],
        (input, output_grad): (&[T], &[T]),
        (weight_grad, input_grad): (&mut [T], &mut [T]),
        scratch: &mut [T],
    ) {
        if let Some(winograd) = self.winograd() {
            input_grad.fill(T::ZERO);
            winograd.backward(batch, input, output_grad, (weight_grad, input_grad), scratch);
        } else {
            self.direct_weight_grad(batch, input, output_grad, weight_grad);
            if !input_grad.is_empty() {
                self.direct_input_grad(batch, weight, output_grad, input_grad, scratch);
            }
        }
    }

    /// The gradient of the weight: dot products of lines.
    fn direct_weight_grad<T: Lanes>(
        &self,
        batch: usize,
        input: &[T],
        output_grad: &[T],
        weight_grad: &mut [T],
    ) {
        let (side, out) = (self.frame().framed_side(), self.output_side());
        weight_grad.fill(T::ZERO);
        DotProducts {
            left: output_grad,
            left_stride: out * out * batch,
            left_count: self.outputs,
            right: input,
            right_taps: Taps::of_kernel(self.inputs, self.kernel, side, batch),
            run: out * batch,
            lines: Lines { count: out, strides: [out * batch, side * batch, 0] },
            sums: weight_grad,
        }
        .add();
    }

    /// The gradient of framed inputs: a convolution of framed gradients with the flipped kernel.
    fn direct_input_grad<T: Lanes>(
        &self,
        batch: usize,
        weight: &[T],
        output_grad: &[T],
        input_grad: &mut [T],
        scratch: &mut [T],
    ) {
        let (frame, area) = (self.output_frame(), self.kernel * self.kernel);
        let (framed, rest) = scratch.split_at_mut(frame.len(batch));
        let flipped = &mut rest[..weight.len()];
        frame.put(output_grad, batch, framed);
        // [outputs, inputs, k, k] to [outputs, k, k, inputs] with every kernel read backwards.
        let by_output = flipped.chunks_exact_mut(self.patch_len());
        for (kernels, flipped) in weight.chunks_exact(self.patch_len()).zip(by_output) {
            for (c, kernel) in kernels.chunks_exact(area).enumerate() {
                let to = flipped[c..].iter_mut().step_by(self.inputs);
                to.zip(kernel.iter().rev()).for_each(|(to, &entry)| *to = entry);
            }
        }
        let sides = [frame.framed_side(), self.frame().framed_side()];
        self.sums(batch, sides, (framed, self.outputs), flipped, Start::Zero, (input_grad, self.inputs));
    }
}

impl<T: Lanes> Layer<T> for Conv {
    fn name(&self) -> &str {
        &self.name
    }

    fn params(&self) -> Vec<ParamSpec> {
        let init = Init::fan_in(self.patch_len());
        let shape = [self.outputs, self.inputs, self.kernel, self.kernel];
        vec![ParamSpec::trained("weight", &shape, init), ParamSpec::trained("bias", &[self.outputs], init)]
    }

    fn sizes(&self) -> Sizes {
        Sizes {
            input: self.inputs * self.side * self.side,
            output: self.outputs * self.positions(),
            multiply_adds: self.outputs * self.positions() * self.patch_len(),
        }
    }

    /// Framed inputs, kept for the backward pass, and their gradient; then what the kernels work in.
    fn scratch_len(&self, batch: usize) -> usize {
        let kernels = match self.winograd() {
            Some(winograd) => winograd.scratch_len(batch),
            None => self.outputs * self.patch_len() + self.output_frame().len(batch),
        };
        2 * self.framed_len(batch) + kernels
    }

    fn forward(&self, pass: Forward<'_, T>) {
        let Forward { batch, params, input, output, scratch, .. } = pass;
        let params = params.split_at(self.outputs * self.patch_len());
        let (framed, scratch) = scratch.split_at_mut(self.framed_len(batch));
        let scratch = &mut scratch[framed.len()..];
        let input = if self.is_framed() {
            self.frame().put(input, batch, framed);
            framed
        } else {
            input
        };
        match self.winograd() {
            Some(winograd) => winograd.forward(batch, params, input, output, scratch),
            None => self.direct(batch, params, input, output, &mut scratch[..params.0.len()]),
        }
    }

    fn backward(&self, pass: Backward<'_, T>) {
        let Backward { batch, params, input, output_grad, input_grad, params_grad, scratch, .. } = pass;
        let weight = &params[..self.outputs * self.patch_len()];
        let (weight_grad, bias_grad) = params_grad.split_at_mut(weight.len());
        for (channel, bias_grad) in output_grad.chunks_exact(batch * self.positions()).zip(bias_grad) {
            *bias_grad = sum(channel);
        }
        let (framed, scratch) = scratch.split_at_mut(self.framed_len(batch));
        let (framed_grad, scratch) = scratch.split_at_mut(framed.len());
        if !self.is_framed() {
            self.gradients(batch, weight, (input, output_grad), (weight_grad, input_grad), scratch);
        } else if input_grad.is_empty() {
            self.gradients(batch, weight, (framed, output_grad), (weight_grad, input_grad), scratch);
        } else {
            self.gradients(batch, weight, (framed, output_grad), (weight_grad, framed_grad), scratch);
            self.frame().take(framed_grad, batch, input_grad);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::gradient_check::assert_gradients;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
        #[test]
        fn gradients(
            channels in (1_usize..4, 1_usize..4), side in 1_usize..7, kernel in 1_usize..6, padding in 0_usize..4,
            batch in 1_usize..4, samples_first in any::<bool>(), seed in any::<u64>(),
        ) {
            prop_assume!(kernel <= side + 2 * padding);
            let conv = Conv::new("conv", channels, side, kernel, padding);
            assert_gradients(&if samples_first { conv.samples_first() } else { conv }, batch, seed);
        }
    }

    /// Even outputs of 5·5 kernels over at least four channels go by Winograd's algorithm.
    #[test]
    fn gradients_by_winograd() {
        for (channels, side, padding, batch) in [((4, 5), 6, 0, 9), ((5, 4), 4, 2, 33), ((4, 4), 8, 1, 1)] {
            let conv = Conv::new("conv", channels, side, 5, padding);
            assert!(conv.winograd().is_some());
            assert_gradients(&conv, batch, 4);
        }
    }

    /// By the definition, one output at a time.
    fn check_definition(conv: &Conv, batch: usize) {
        let Conv { inputs, outputs, kernel, padding, side, .. } = *conv;
        let number = |n: usize, by: usize| (n * by % 23) as f64 / 11.0 - 1.0;
        let params: Vec<f64> = (0..outputs * (conv.patch_len() + 1)).map(|n| number(n, 5)).collect();
        let input: Vec<f64> = (0..inputs * side * side * batch).map(|n| number(n, 7)).collect();
        let mut output = vec![f64::NAN; batch * Layer::<f64>::output_len(conv)];
        // Nothing in the scratch must matter.
        let mut scratch = vec![f64::NAN; Layer::<f64>::scratch_len(conv, batch)];
        let pass = Forward {
            batch,
            params: &params,
            input: &input,
            output: &mut output,
            scratch: &mut scratch,
            training: false,
        };
        conv.forward(pass);
        let out = conv.output_side();
        for (place, output) in output.iter().enumerate() {
            let (sample, x, y) = (place % batch, place / batch % out, place / batch / out % out);
            let o = place / batch / out / out;
            let mut expected = params[outputs * conv.patch_len() + o];
            for tap in 0..conv.patch_len() {
                let (c, ky, kx) = (tap / kernel / kernel, tap / kernel % kernel, tap % kernel);
                let (iy, ix) = ((y + ky).wrapping_sub(padding), (x + kx).wrapping_sub(padding));
                if iy < side && ix < side {
                    let place = if conv.samples_first {
                        ((sample * side + iy) * side + ix) * inputs + c
                    } else {
                        ((c * side + iy) * side + ix) * batch + sample
                    };
                    expected += params[o * conv.patch_len() + tap] * input[place];
                }
            }
            assert!((output - expected).abs() < 1e-11, "{output} for {expected} at {place}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
        #[test]
        fn forward_is_the_definition(
            channels in (1_usize..7, 1_usize..9), side in 1_usize..9, kernel in 1_usize..6, padding in 0_usize..4,
            batch in 1_usize..40, samples_first in any::<bool>(),
        ) {
            prop_assume!(kernel <= side + 2 * padding);
            let conv = Conv::new("conv", channels, side, kernel, padding);
            check_definition(&if samples_first { conv.samples_first() } else { conv }, batch);
        }

        /// The same where Winograd's algorithm is used.
        #[test]
        fn forward_by_winograd_is_the_definition(
            channels in (4_usize..7, 4_usize..9), tiles in 1_usize..4, padding in 0_usize..3, batch in 1_usize..40,
        ) {
            let side = 2 * tiles + 4 - 2 * padding;
            prop_assume!(side >= 1);
            let conv = Conv::new("conv", channels, side, 5, padding);
            prop_assert!(conv.winograd().is_some());
            check_definition(&conv, batch);
        }
    }
}
