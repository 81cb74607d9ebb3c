//! The largest of each 2·2 block, rectified; and from channels to samples.

use crate::layer::{Backward, Forward, Layer, ParamSpec};
use crate::real::Real;

/// max(0, largest of a 2·2 block), stride 2; an odd last row or column is left out, as in PyTorch.
///
/// Takes and gives planes, one after the other: `[channel][sample][row][column]`. Rectifying after the pooling
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
}

impl<T: Real> Layer<T> for MaxPoolRelu {
    fn name(&self) -> &str {
        "pool"
    }

    fn params(&self) -> Vec<ParamSpec> {
        Vec::new()
    }

    fn input_len(&self) -> usize {
        self.channels * self.side * self.side
    }

    fn output_len(&self) -> usize {
        self.channels * self.output_side() * self.output_side()
    }

    fn scratch_len(&self, _batch: usize) -> usize {
        0
    }

    fn forward(&self, pass: Forward<'_, T>) {
        let (side, out) = (self.side, self.output_side());
        let planes = pass.input.chunks_exact(side * side).zip(pass.output.chunks_exact_mut(out * out));
        for (plane, pooled) in planes {
            for (rows, line) in plane.chunks_exact(2 * side).zip(pooled.chunks_exact_mut(out)) {
                let (upper, lower) = rows.split_at(side);
                for ((y, u), l) in line.iter_mut().zip(upper.chunks_exact(2)).zip(lower.chunks_exact(2)) {
                    *y = u[0].max(u[1]).max(l[0]).max(l[1]).max(T::ZERO);
                }
            }
        }
    }

    /// The gradient goes to the first of the largest, in reading order.
    fn backward(&self, pass: Backward<'_, T>) {
        if pass.input_grad.is_empty() {
            return;
        }
        let (side, out) = (self.side, self.output_side());
        if side % 2 == 1 {
            pass.input_grad.fill(T::ZERO);
        }
        let inputs = pass.input.chunks_exact(side * side).zip(pass.input_grad.chunks_exact_mut(side * side));
        let outputs = pass.output.chunks_exact(out * out).zip(pass.output_grad.chunks_exact(out * out));
        for ((plane, plane_grad), (pooled, pooled_grad)) in inputs.zip(outputs) {
            let rows = plane.chunks_exact(2 * side).zip(plane_grad.chunks_exact_mut(2 * side));
            let lines = pooled.chunks_exact(out).zip(pooled_grad.chunks_exact(out));
            for ((rows, rows_grad), (line, line_grad)) in rows.zip(lines) {
                let (upper, lower) = rows.split_at(side);
                let (upper_grad, lower_grad) = rows_grad.split_at_mut(side);
                let blocks = upper.chunks_exact(2).zip(lower.chunks_exact(2));
                let grads = upper_grad.chunks_exact_mut(2).zip(lower_grad.chunks_exact_mut(2));
                for (((u, l), (ug, lg)), (&max, &grad)) in blocks.zip(grads).zip(line.iter().zip(line_grad)) {
                    // No branches: selections vectorise, and a random maximum cannot be predicted.
                    let mut left = if max > T::ZERO { grad } else { T::ZERO };
                    let mut take = |value: T| {
                        let here = if value == max { left } else { T::ZERO };
                        left -= here;
                        here
                    };
                    (ug[0], ug[1]) = (take(u[0]), take(u[1]));
                    (lg[0], lg[1]) = (take(l[0]), take(l[1]));
                }
            }
        }
    }
}

/// From `[channel][sample][position]` to `[sample][channel][position]`: what a linear layer takes.
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

    /// Copies between the two orders: `(channels, sample, run of positions)` of both sides.
    fn runs(&self, batch: usize) -> impl Iterator<Item = (usize, usize)> {
        let (channels, positions) = (self.channels, self.positions);
        (0..channels).flat_map(move |channel| {
            (0..batch).map(move |sample| {
                ((channel * batch + sample) * positions, (sample * channels + channel) * positions)
            })
        })
    }
}

impl<T: Real> Layer<T> for Flatten {
    fn name(&self) -> &str {
        "flatten"
    }

    fn params(&self) -> Vec<ParamSpec> {
        Vec::new()
    }

    fn input_len(&self) -> usize {
        self.channels * self.positions
    }

    fn output_len(&self) -> usize {
        self.channels * self.positions
    }

    fn scratch_len(&self, _batch: usize) -> usize {
        0
    }

    fn forward(&self, pass: Forward<'_, T>) {
        for (from, to) in self.runs(pass.batch) {
            pass.output[to..][..self.positions].copy_from_slice(&pass.input[from..][..self.positions]);
        }
    }

    fn backward(&self, pass: Backward<'_, T>) {
        if pass.input_grad.is_empty() {
            return;
        }
        for (from, to) in self.runs(pass.batch) {
            pass.input_grad[from..][..self.positions]
                .copy_from_slice(&pass.output_grad[to..][..self.positions]);
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
