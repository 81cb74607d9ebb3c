//! The largest of each 2·2 block, rectified; and from channels to samples.

use crate::layer::{Backward, Forward, Layer, Sizes};
use crate::nn::groups::run;
use crate::nn::transpose::transpose;
use crate::real::Real;

/// max(0, largest of a 2·2 block), stride 2; an odd last row or column is left out, as in PyTorch.
///
/// Takes and gives `[channel][row][column][sample]`. Rectifying after the pooling
/// gives what rectifying before it would, at a quarter of the work.
#[derive(Clone, Debug)]
pub struct MaxPoolRelu {
    channels: usize,
    side: usize,
}

impl MaxPoolRelu {
    /// For images of `side`·`side`.
    pub fn new(channels: usize, side: usize) -> Self {
        Self { channels, side }
    }

    fn output_side(&self) -> usize {
        self.side / 2
    }

    /// Where the upper and the lower line of each block start.
    #[inline(always)]
    fn blocks(&self, batch: usize) -> impl Iterator<Item = [usize; 2]> {
        let (side, out) = (self.side, self.output_side());
        (0..self.channels).flat_map(move |channel| {
            (0..out).flat_map(move |y| {
                let line = (channel * side + 2 * y) * side * batch;
                (0..out).map(move |x| [line + 2 * x * batch, line + (side + 2 * x) * batch])
            })
        })
    }
}

impl<T: Real> Layer<T> for MaxPoolRelu {
    fn name(&self) -> &str {
        "pool"
    }

    fn sizes(&self) -> Sizes {
        Sizes {
            input: self.channels * self.side * self.side,
            output: self.channels * self.output_side() * self.output_side(),
            multiply_adds: 0,
        }
    }

    fn forward(&self, pass: Forward<'_, T>) {
        let Forward { batch, input, output, .. } = pass;
        run(
            #[inline(always)]
            move || {
                for ([upper, lower], block) in self.blocks(batch).zip(output.chunks_exact_mut(batch)) {
                    let (u0, u1) = input[upper..][..2 * batch].split_at(batch);
                    let (l0, l1) = input[lower..][..2 * batch].split_at(batch);
                    let (upper, lower) = (u0.iter().zip(u1), l0.iter().zip(l1));
                    for (y, ((u0, &u1), (&l0, &l1))) in block.iter_mut().zip(upper.zip(lower)) {
                        *y = u0.max(u1).max(l0.max(l1)).max(T::ZERO);
                    }
                }
            },
        );
    }

    /// The gradient goes to the first of the largest, in reading order.
    fn backward(&self, pass: Backward<'_, T>) {
        let Backward { batch, input, output, output_grad, input_grad, .. } = pass;
        if input_grad.is_empty() {
            return;
        }
        if self.side % 2 == 1 {
            input_grad.fill(T::ZERO);
        }
        run(
            #[inline(always)]
            move || {
                let blocks = output.chunks_exact(batch).zip(output_grad.chunks_exact(batch));
                for ([upper, lower], (max, grad)) in self.blocks(batch).zip(blocks) {
                    let (u0, u1) = input[upper..][..2 * batch].split_at(batch);
                    let (l0, l1) = input[lower..][..2 * batch].split_at(batch);
                    let (to_upper, to_lower) = input_grad[upper..].split_at_mut(lower - upper);
                    let (u0_grad, u1_grad) = to_upper[..2 * batch].split_at_mut(batch);
                    let (l0_grad, l1_grad) = to_lower[..2 * batch].split_at_mut(batch);
                    for n in 0..batch {
                        // No branches: selections vectorise, and a random maximum cannot be predicted.
                        let mut left = if max[n] > T::ZERO { grad[n] } else { T::ZERO };
                        let mut take = |value: T| {
                            let here = if value == max[n] { left } else { T::ZERO };
                            left = if value == max[n] { T::ZERO } else { left };
                            here
                        };
                        u0_grad[n] = take(u0[n]);
                        u1_grad[n] = take(u1[n]);
                        l0_grad[n] = take(l0[n]);
                        l1_grad[n] = take(l1[n]);
                    }
                }
            },
        );
    }
}

/// From `[channel][position][sample]` to `[sample][channel][position]`: what a linear layer takes.
#[derive(Clone, Debug)]
pub struct Flatten {
    channels: usize,
    positions: usize,
}

impl Flatten {
    /// For `channels` planes of `positions` numbers.
    pub fn new(channels: usize, positions: usize) -> Self {
        Self { channels, positions }
    }
}

impl<T: Real> Layer<T> for Flatten {
    fn name(&self) -> &str {
        "flatten"
    }

    fn sizes(&self) -> Sizes {
        Sizes {
            input: self.channels * self.positions,
            output: self.channels * self.positions,
            multiply_adds: 0,
        }
    }

    fn forward(&self, pass: Forward<'_, T>) {
        transpose(pass.input, pass.batch, pass.output);
    }

    fn backward(&self, pass: Backward<'_, T>) {
        if !pass.input_grad.is_empty() {
            transpose(pass.output_grad, self.channels * self.positions, pass.input_grad);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::gradient_check::assert_gradients;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
        #[test]
        fn gradients(channels in 1_usize..4, side in 2_usize..7, batch in 1_usize..4, seed in any::<u64>()) {
            assert_gradients(&MaxPoolRelu::new(channels, side), batch, seed);
            assert_gradients(&Flatten::new(channels, side), batch, seed);
        }
    }

    #[test]
    fn of_equal_ones_the_first_gets_the_gradient() {
        let pool = MaxPoolRelu::new(1, 2);
        let (input, output) = ([3.0, 3.0, 1.0, 3.0], [3.0]);
        let mut input_grad = [9.0; 4];
        pool.backward(Backward {
            batch: 1,
            params: &[],
            input: &input,
            output: &output,
            output_grad: &mut [5.0],
            input_grad: &mut input_grad,
            params_grad: &mut [],
            scratch: &mut [],
        });
        assert_eq!(input_grad, [5.0, 0.0, 0.0, 0.0]);
    }
}
