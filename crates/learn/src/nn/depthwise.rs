//! Depthwise convolution, 3×3: every channel by itself.
//!
//! A direct kernel, channels innermost: for one pixel, the nine pixels that it is made of are nine slices
//! of channels, and those beyond the edge are one slice of zeros. The gradient of the input is the same
//! sum with the roles exchanged, so both passes share it; where stride 2 leaves no contribution, the
//! slice of zeros stands in as well.

use pulp::NullaryFnOnce;

use crate::layer::{Backward, Forward, Init, Layer, ParamSpec};
use crate::nn::lanes::{LANES, add_product, load, run, store};
use crate::real::Real;

/// Weights per channel.
const TAPS: usize = 9;

/// Takes and gives [height, width, channels] per sample; stride 1 or 2, padding 1, no bias. `weight` is
/// [channels, 1, 3, 3], as in PyTorch.
#[derive(Clone, Debug)]
pub struct Depthwise {
    name: String,
    height: usize,
    width: usize,
    channels: usize,
    stride: usize,
}

impl Depthwise {
    /// # Panics
    ///
    /// If the stride is neither 1 nor 2, or a side is 0.
    pub fn new(name: &str, [height, width]: [usize; 2], channels: usize, stride: usize) -> Self {
        assert!(stride == 1 || stride == 2, "{name}: a stride of {stride}");
        assert!(height > 0 && width > 0 && channels > 0, "{name}: {height}×{width}×{channels}");
        Self { name: name.to_owned(), height, width, channels, stride }
    }

    /// Height and width of what comes out.
    pub fn output_sides(&self) -> [usize; 2] {
        [(self.height - 1) / self.stride + 1, (self.width - 1) / self.stride + 1]
    }

    /// From pixels of the input to pixels of the output.
    fn down(&self) -> Walk {
        let [to_height, to_width] = self.output_sides();
        Walk {
            from: [self.height, self.width],
            to: [to_height, to_width],
            times: self.stride,
            per: 1,
            flipped: false,
        }
    }

    /// From pixels of the output back to pixels of the input.
    fn up(&self) -> Walk {
        Walk {
            from: self.output_sides(),
            to: [self.height, self.width],
            times: 1,
            per: self.stride,
            flipped: true,
        }
    }
}

/// Which pixels contribute to which: pixel p of `to` gets from pixel q of `from` where
/// q·per = p·times + k − 1 for a k in 0..3, along both axes. The weight is that of tap k, or, on the way
/// back, that of the tap opposite.
#[derive(Clone, Copy)]
struct Walk {
    from: [usize; 2],
    to: [usize; 2],
    times: usize,
    per: usize,
    flipped: bool,
}

impl Walk {
    /// The coordinate that tap 0, 1 or 2 reaches from `p`, if there is one.
    #[inline(always)]
    fn reach(&self, axis: usize, p: usize, tap: usize) -> Option<usize> {
        let place = (p * self.times + tap).wrapping_sub(1);
        // Division by a variable is slow; there are two cases.
        let q = if self.per == 1 {
            place
        } else if place % 2 == 1 {
            return None;
        } else {
            place / 2
        };
        (q < self.from[axis]).then_some(q)
    }

    /// The nine slices of channels around pixel (y, x) of `to`.
    #[inline(always)]
    fn taps<'a, T: Real>(&self, sample: &'a [T], zeros: &'a [T], y: usize, x: usize) -> [&'a [T]; TAPS] {
        let channels = zeros.len();
        let mut taps = [zeros; TAPS];
        for ky in 0..3 {
            let Some(from_y) = self.reach(0, y, ky) else { continue };
            for kx in 0..3 {
                let Some(from_x) = self.reach(1, x, kx) else { continue };
                let at = (from_y * self.from[1] + from_x) * channels;
                let k = ky * 3 + kx;
                taps[if self.flipped { TAPS - 1 - k } else { k }] = &sample[at..at + channels];
            }
        }
        taps
    }
}

/// One sample: every pixel of `output` becomes the weighted sum of the nine pixels of `input` around it.
struct Gather<'a, T> {
    walk: Walk,
    /// Per tap, the weights of all channels.
    weights: &'a [T],
    zeros: &'a [T],
    input: &'a [T],
    output: &'a mut [T],
}

#[inline(always)]
fn gather_group<T: Real, const N: usize>(
    taps: &[&[T]; TAPS],
    weights: &[&[T]; TAPS],
    pixel: &mut [T],
    at: usize,
) {
    let mut sum = [T::ZERO; N];
    for (tap, weight) in taps.iter().zip(weights) {
        add_product(&mut sum, load(tap, at), load(weight, at));
    }
    store(pixel, at, sum);
}

impl<T: Real> NullaryFnOnce for Gather<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let channels = self.zeros.len();
        let whole = channels - channels % LANES;
        let weights: [&[T]; TAPS] =
            std::array::from_fn(|tap| &self.weights[tap * channels..(tap + 1) * channels]);
        let [height, width] = self.walk.to;
        let mut pixels = self.output.chunks_exact_mut(channels);
        for y in 0..height {
            for (x, pixel) in (0..width).zip(&mut pixels) {
                let taps = self.walk.taps(self.input, self.zeros, y, x);
                for at in (0..whole).step_by(LANES) {
                    gather_group::<T, LANES>(&taps, &weights, pixel, at);
                }
                for at in whole..channels {
                    gather_group::<T, 1>(&taps, &weights, pixel, at);
                }
            }
        }
    }
}

/// One sample: adds ∂loss/∂weights, in the order of [`Gather::weights`].
struct WeightGrad<'a, T> {
    walk: Walk,
    zeros: &'a [T],
    input: &'a [T],
    output_grad: &'a [T],
    weights_grad: &'a mut [T],
}

#[inline(always)]
fn weight_grad_group<T: Real, const N: usize>(
    taps: &[&[T]; TAPS],
    grad: &[T],
    weights_grad: &mut [T],
    at: usize,
) {
    let grad: [T; N] = load(grad, at);
    for (k, tap) in taps.iter().enumerate() {
        let place = k * tap.len() + at;
        let mut sum = load(weights_grad, place);
        add_product(&mut sum, load(tap, at), grad);
        store(weights_grad, place, sum);
    }
}

impl<T: Real> NullaryFnOnce for WeightGrad<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let channels = self.zeros.len();
        let whole = channels - channels % LANES;
        let [height, width] = self.walk.to;
        let mut grads = self.output_grad.chunks_exact(channels);
        for y in 0..height {
            for (x, grad) in (0..width).zip(&mut grads) {
                let taps = self.walk.taps(self.input, self.zeros, y, x);
                for at in (0..whole).step_by(LANES) {
                    weight_grad_group::<T, LANES>(&taps, grad, self.weights_grad, at);
                }
                for at in whole..channels {
                    weight_grad_group::<T, 1>(&taps, grad, self.weights_grad, at);
                }
            }
        }
    }
}

impl<T: Real> Layer<T> for Depthwise {
    fn name(&self) -> &str {
        &self.name
    }

    fn params(&self) -> Vec<ParamSpec> {
        // PyTorch's default, ±1/√fan_in, where the fan-in of a channel is its nine weights.
        let (shape, init) = (vec![self.channels, 1, 3, 3], Init::Uniform(1.0 / 3.0));
        vec![ParamSpec { name: "weight", shape, init, trained: true }]
    }

    fn input_len(&self) -> usize {
        self.height * self.width * self.channels
    }

    fn output_len(&self) -> usize {
        self.output_sides().iter().product::<usize>() * self.channels
    }

    /// Weights by tap, a pixel of zeros, gradients by tap: of a sample and of the batch.
    fn scratch_len(&self, _batch: usize) -> usize {
        (3 * TAPS + 1) * self.channels
    }

    fn forward(&self, pass: Forward<'_, T>) {
        let (weights, rest) = pass.scratch.split_at_mut(TAPS * self.channels);
        let zeros = &mut rest[..self.channels];
        zeros.fill(T::ZERO);
        for (channel, own) in pass.params.chunks_exact(TAPS).enumerate() {
            for (tap, &weight) in own.iter().enumerate() {
                weights[tap * self.channels + channel] = weight;
            }
        }
        let inputs = pass.input.chunks_exact(Layer::<T>::input_len(self));
        let outputs = pass.output.chunks_exact_mut(Layer::<T>::output_len(self));
        for (input, output) in inputs.zip(outputs) {
            run(Gather { walk: self.down(), weights, zeros, input, output });
        }
    }

    fn backward(&self, pass: Backward<'_, T>) {
        let (weights, rest) = pass.scratch.split_at_mut(TAPS * self.channels);
        let (zeros, rest) = rest.split_at_mut(self.channels);
        let (weights_grad, sample_grad) = rest.split_at_mut(TAPS * self.channels);
        let (weights, zeros) = (&*weights, &*zeros);
        let (input_len, output_len) = (Layer::<T>::input_len(self), Layer::<T>::output_len(self));
        weights_grad.fill(T::ZERO);
        for sample in 0..pass.batch {
            let input = &pass.input[sample * input_len..][..input_len];
            let output_grad = &pass.output_grad[sample * output_len..][..output_len];
            // Sample by sample, because a single sum of tens of thousands of terms would lose digits.
            sample_grad.fill(T::ZERO);
            run(WeightGrad { walk: self.down(), zeros, input, output_grad, weights_grad: sample_grad });
            weights_grad.iter_mut().zip(&*sample_grad).for_each(|(sum, &grad)| *sum += grad);
            if !pass.input_grad.is_empty() {
                let input_grad = &mut pass.input_grad[sample * input_len..][..input_len];
                run(Gather { walk: self.up(), weights, zeros, input: output_grad, output: input_grad });
            }
        }
        for (channel, own) in pass.params_grad.chunks_exact_mut(TAPS).enumerate() {
            for (tap, grad) in own.iter_mut().enumerate() {
                *grad = weights_grad[tap * self.channels + channel];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::gradient_check::assert_gradients;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
        #[test]
        fn gradients(
            sides in [1_usize..7, 1_usize..7],
            channels in 1_usize..20,
            stride in 1_usize..3,
            batch in 1_usize..3,
            seed in any::<u64>(),
        ) {
            assert_gradients(&Depthwise::new("depthwise", sides, channels, stride), batch, seed);
        }
    }
}
