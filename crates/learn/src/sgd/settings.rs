//! How devices train: the learning rate, the batches, and the usual options of local SGD.

use crate::error::LearnError;

/// How long a device trains in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    /// The same number of steps on every device. A device with fewer samples than that takes goes through them again.
    Iterations(usize),
    /// Passes through the device's own samples: a device with more samples makes more steps.
    Epochs(usize),
}

impl Steps {
    /// The most steps of a round.
    pub const ITERATIONS_MAX: usize = 1_000_000;
    /// The most passes of a round.
    pub const EPOCHS_MAX: usize = 10_000;

    /// The steps of a device with this number of samples, and the size of the last batch. Passes follow each other without a gap:
    /// a batch may hold the end of one and the beginning of the next. Only the last batch of all epochs may be smaller.
    pub fn of(self, samples: usize, batch: usize) -> (usize, usize) {
        match self {
            Self::Iterations(steps) => (steps, batch),
            Self::Epochs(epochs) => {
                let total = epochs.saturating_mul(samples);
                let steps = total.div_ceil(batch.max(1));
                (steps, total - steps.saturating_sub(1) * batch)
            }
        }
    }
}

/// What local SGD adds to the gradient of the data. All zero is plain SGD.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LocalOptions {
    /// m: v = m·v + gradient takes the gradient's place. v is zero when a round begins.
    pub momentum: f32,
    /// Adds this factor times the trained parameters to the gradient.
    pub weight_decay: f32,
    /// μ of FedProx: adds μ·(w − x), where x is the model at the beginning of the round.
    pub proximal: f32,
}

impl LocalOptions {
    /// Whether a step is that of plain SGD.
    pub fn is_plain(self) -> bool {
        self == Self::default()
    }
}

/// The settings of a local update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SgdSettings {
    /// The learning rate η.
    pub learning_rate: f32,
    /// The number of samples per step.
    pub batch: usize,
    /// The length of a round's training.
    pub steps: Steps,
    /// Momentum, weight decay and the proximal term.
    pub options: LocalOptions,
}

impl SgdSettings {
    /// Plain SGD with a number of steps.
    pub fn plain(learning_rate: f32, batch: usize, iterations: usize) -> Self {
        let steps = Steps::Iterations(iterations);
        Self { learning_rate, batch, steps, options: LocalOptions::default() }
    }

    /// Checks that every value is in its range.
    pub fn checked(self) -> Result<Self, LearnError> {
        let refuse = |name, value: f64, wanted| Err(LearnError::BadSetting { name, value, wanted });
        if !(self.learning_rate > 0.0 && self.learning_rate <= 1e6) {
            return refuse("learning_rate", f64::from(self.learning_rate), "a number above 0, at most 1e6");
        }
        if !(1..=65_536).contains(&self.batch) {
            return refuse("batch", self.batch as f64, "a whole number from 1 to 65536");
        }
        match self.steps {
            Steps::Iterations(steps) if steps > Steps::ITERATIONS_MAX => {
                return refuse("iterations", steps as f64, "a whole number up to 1000000");
            }
            Steps::Epochs(epochs) if !(1..=Steps::EPOCHS_MAX).contains(&epochs) => {
                return refuse("epochs", epochs as f64, "a whole number from 1 to 10000");
            }
            Steps::Iterations(_) | Steps::Epochs(_) => {}
        }
        let LocalOptions { momentum, weight_decay, proximal } = self.options;
        if !(0.0..1.0).contains(&momentum) {
            return refuse("momentum", f64::from(momentum), "a number from 0 to below 1");
        }
        for (name, factor) in [("weight_decay", weight_decay), ("proximal", proximal)] {
            if !(0.0..=1e6).contains(&factor) {
                return refuse(name, f64::from(factor), "a number from 0 to 1e6");
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_see_every_sample_as_often_and_only_the_last_batch_is_smaller() {
        for (epochs, samples, batch) in
            [(1, 100, 32), (3, 100, 32), (2, 64, 32), (1, 5, 32), (7, 5, 32), (1, 1, 1)]
        {
            let (steps, last) = Steps::Epochs(epochs).of(samples, batch);
            assert_eq!((steps - 1) * batch + last, epochs * samples);
            assert!((1..=batch).contains(&last));
            assert_eq!(steps, (epochs as f64 * samples as f64 / batch as f64).ceil() as usize);
        }
        assert_eq!(Steps::Iterations(10).of(5, 32), (10, 32), "whatever a device holds");
    }

    #[test]
    fn values_out_of_range_are_refused_by_name() {
        let good = SgdSettings::plain(0.1, 32, 10);
        assert_eq!(good.checked(), Ok(good));
        let with = |options| SgdSettings { options, ..good }.checked();
        let none = LocalOptions::default();
        for wrong in [-0.1, 1.0, f32::NAN, f32::INFINITY] {
            let error = with(LocalOptions { momentum: wrong, ..none }).unwrap_err();
            assert!(error.to_string().contains("momentum"), "{error}");
        }
        for wrong in [-1e-9, f32::NAN, f32::INFINITY, 2e6] {
            let error = with(LocalOptions { weight_decay: wrong, ..none }).unwrap_err();
            assert!(error.to_string().contains("weight_decay"), "{error}");
            let error = with(LocalOptions { proximal: wrong, ..none }).unwrap_err();
            assert!(error.to_string().contains("proximal"), "{error}");
        }
        for epochs in [0, 10_001] {
            let error = SgdSettings { steps: Steps::Epochs(epochs), ..good }.checked().unwrap_err();
            assert!(error.to_string().contains("epochs"), "{error}");
        }
        assert!(SgdSettings { steps: Steps::Iterations(0), ..good }.checked().is_ok());
    }
}
