//! The flat parameter vector that rounds pass around.

/// Lengths of two vectors that should be of one model but are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an update of {update_len} parameters does not fit a model of {model_len}")]
pub struct WrongLength {
    /// Parameters of the model.
    pub model_len: usize,
    /// Parameters of the update.
    pub update_len: usize,
}

/// All parameters of a model, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelVector(Vec<f32>);

impl ModelVector {
    /// Takes parameters as they are.
    pub fn new(parameters: Vec<f32>) -> Self {
        Self(parameters)
    }

    /// The parameters in the order of the network.
    pub fn as_slice(&self) -> &[f32] {
        &self.0
    }

    /// The parameters, to be changed in place.
    pub fn as_mut_slice(&mut self) -> &mut [f32] {
        &mut self.0
    }

    /// `self += weight · update`: one term of x + Σ (a_n/q_n) Δ_n.
    ///
    /// Floating-point sums depend on their order: add updates in device order, and the same cohort gives
    /// the same bytes on any number of threads.
    pub fn add_scaled(&mut self, weight: f32, update: &[f32]) -> Result<(), WrongLength> {
        if update.len() != self.0.len() {
            return Err(WrongLength { model_len: self.0.len(), update_len: update.len() });
        }
        self.0.iter_mut().zip(update).for_each(|(x, delta)| *x += weight * delta);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_add_up_and_must_fit() {
        let mut model = ModelVector::new(vec![1.0, -2.0]);
        model.add_scaled(2.0, &[0.5, 0.25]).unwrap();
        assert_eq!(model.as_slice(), [2.0, -1.5]);
        assert_eq!(model.add_scaled(1.0, &[1.0]), Err(WrongLength { model_len: 2, update_len: 1 }));
        assert_eq!(model.as_slice(), [2.0, -1.5], "a refused update leaves the model as it was");
    }
}
