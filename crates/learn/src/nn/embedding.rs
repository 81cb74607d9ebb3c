//! A vector for each symbol, learned.

use crate::layer::{Backward, Forward, Init, Layer, ParamSpec, Sizes};
use crate::real::Real;

/// Takes `[batch][steps]` codes of symbols, as numbers, one sample after the other; gives
/// `[steps][batch][width]`, time first, as [`crate::nn::lstm::Lstm`] wants it. `weight` is
/// `[symbols, width]`.
///
/// A code is rounded down; one past the last symbol counts as the last one, a negative one or NaN as
/// symbol 0: input is somebody's data and no reason to stop. Codes have no gradient: whoever asks gets
/// zeros.
#[derive(Clone, Debug)]
pub struct Embedding {
    name: String,
    steps: usize,
    symbols: usize,
    width: usize,
}

impl Embedding {
    /// # Panics
    ///
    /// If there are no steps, symbols or width: a mistake in a model, not in its input.
    pub fn new(name: &str, steps: usize, symbols: usize, width: usize) -> Self {
        assert!(steps > 0 && symbols > 0 && width > 0);
        Self { name: name.to_owned(), steps, symbols, width }
    }

    /// Where the vector of a code starts.
    fn place<T: Real>(&self, code: T) -> usize {
        // The cast takes what is negative or NaN to 0.
        (code.to_f64() as usize).min(self.symbols - 1) * self.width
    }

    /// The places of all codes in the order of the output.
    fn places<T: Real>(&self, batch: usize, codes: &[T]) -> impl Iterator<Item = usize> {
        let by_time = move |t: usize| (0..batch).map(move |sample| sample * self.steps + t);
        (0..self.steps).flat_map(by_time).map(move |at| self.place(codes[at]))
    }
}

impl<T: Real> Layer<T> for Embedding {
    fn name(&self) -> &str {
        &self.name
    }

    fn params(&self) -> Vec<ParamSpec> {
        // PyTorch's default for embeddings.
        vec![ParamSpec::trained("weight", &[self.symbols, self.width], Init::Normal(1.0))]
    }

    fn sizes(&self) -> Sizes {
        Sizes { input: self.steps, output: self.steps * self.width, multiply_adds: 0 }
    }

    fn forward(&self, pass: Forward<'_, T>) {
        let vectors = pass.output.chunks_exact_mut(self.width);
        for (vector, place) in vectors.zip(self.places(pass.batch, pass.input)) {
            vector.copy_from_slice(&pass.params[place..place + self.width]);
        }
    }

    fn backward(&self, pass: Backward<'_, T>) {
        pass.params_grad.fill(T::ZERO);
        let grads = pass.output_grad.chunks_exact(self.width);
        for (grad, place) in grads.zip(self.places(pass.batch, pass.input)) {
            let sums = &mut pass.params_grad[place..place + self.width];
            sums.iter_mut().zip(grad).for_each(|(sum, &grad)| *sum += grad);
        }
        pass.input_grad.fill(T::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn output(layer: &Embedding, batch: usize, weight: &[f64], codes: &[f64]) -> Vec<f64> {
        let mut output = vec![f64::NAN; batch * Layer::<f64>::output_len(layer)];
        layer.forward(Forward {
            batch,
            params: weight,
            input: codes,
            output: &mut output,
            scratch: &mut [],
            training: true,
        });
        output
    }

    #[test]
    fn time_first_and_codes_within_reach() {
        let layer = Embedding::new("embedding", 3, 2, 1);
        let codes = [0.0, 1.0, 2.0, -1.0, f64::NAN, f64::INFINITY];
        assert_eq!(output(&layer, 2, &[10.0, 20.0], &codes), [10.0, 10.0, 20.0, 10.0, 20.0, 20.0]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
        /// The output is linear in the weight: a unit more in one entry is an exact difference.
        #[test]
        fn gradients(
            (steps, batch, symbols, width) in (1_usize..6, 1_usize..5, 1_usize..7, 1_usize..6),
            numbers in prop::collection::vec(0_i32..100, 200),
            ask in any::<bool>(),
        ) {
            let layer = Embedding::new("embedding", steps, symbols, width);
            let codes: Vec<f64> =
                numbers[..batch * steps].iter().map(|&n| f64::from(n % symbols as i32)).collect();
            let mut output_grad: Vec<f64> =
                numbers[..batch * steps * width].iter().rev().copied().map(f64::from).collect();
            let value = |weight: &[f64]| -> f64 {
                let output = output(&layer, batch, weight, &codes);
                output.iter().zip(&output_grad).map(|(y, w)| y * w).sum()
            };
            let mut weight = vec![0.0; symbols * width];
            let mut expected = Vec::new();
            for place in 0..weight.len() {
                weight[place] = 1.0;
                expected.push(value(&weight));
                weight[place] = 0.0;
            }
            let mut params_grad = vec![f64::NAN; weight.len()];
            let mut input_grad = vec![f64::NAN; if ask { codes.len() } else { 0 }];
            layer.backward(Backward {
                batch,
                params: &weight,
                input: &codes,
                output: &[],
                output_grad: &mut output_grad,
                input_grad: &mut input_grad,
                params_grad: &mut params_grad,
                scratch: &mut [],
            });
            prop_assert_eq!(params_grad, expected);
            prop_assert!(input_grad.iter().all(|&grad| grad == 0.0));
        }
    }
}
