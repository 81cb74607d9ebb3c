//! The last step of a sequence, for classifying it as a whole.

use crate::layer::{Backward, Forward, Layer, Sizes};
use crate::real::Real;

/// Takes `[steps][batch][width]` and gives `[batch][width]`: one sample after the other.
#[derive(Clone, Debug)]
pub struct LastStep {
    steps: usize,
    width: usize,
}

impl LastStep {
    /// # Panics
    ///
    /// If there are no steps: a mistake in a model, not in its input.
    pub fn new(steps: usize, width: usize) -> Self {
        assert!(steps > 0);
        Self { steps, width }
    }
}

impl<T: Real> Layer<T> for LastStep {
    fn name(&self) -> &str {
        "last_step"
    }

    fn sizes(&self) -> Sizes {
        Sizes { input: self.steps * self.width, output: self.width, multiply_adds: 0 }
    }

    fn forward(&self, pass: Forward<'_, T>) {
        let earlier = pass.input.len() - pass.output.len();
        pass.output.copy_from_slice(&pass.input[earlier..]);
    }

    fn backward(&self, pass: Backward<'_, T>) {
        if pass.input_grad.is_empty() {
            return;
        }
        let earlier = pass.input_grad.len() - pass.output_grad.len();
        let (earlier, last) = pass.input_grad.split_at_mut(earlier);
        earlier.fill(T::ZERO);
        last.copy_from_slice(pass.output_grad);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::gradient_check::assert_gradients;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]
        #[test]
        fn gradients(steps in 1_usize..6, batch in 1_usize..5, width in 1_usize..8, seed in any::<u64>()) {
            assert_gradients(&LastStep::new(steps, width), batch, seed);
        }
    }
}
