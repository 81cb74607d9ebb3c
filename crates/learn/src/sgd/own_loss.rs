//! The loss of a model on a device's own samples, which some schemes ask for before they choose devices.

use super::{SgdLearner, SgdWorker};
use crate::error::LearnError;

impl SgdLearner {
    /// The mean loss over all samples of a device, in batches of the size of training.
    pub(super) fn own_loss(
        &self,
        worker: &mut SgdWorker,
        model: &[f32],
        device: usize,
    ) -> Result<f64, LearnError> {
        self.check_len(model)?;
        let samples = self.shards.samples(device);
        if samples == 0 {
            return Err(LearnError::NoSamples { device });
        }
        let SgdWorker { buffers, labels, made, picks, .. } = worker;
        self.shards.open(device, made);
        let mut loss_sum = 0.0;
        for first in (0..samples).step_by(labels.len()) {
            let batch = labels.len().min(samples - first);
            let (picks, labels) = (&mut picks[..batch], &mut labels[..batch]);
            picks.iter_mut().zip(first as u32..).for_each(|(pick, sample)| *pick = sample);
            let features = &mut buffers.input()[..batch * self.network.input_len()];
            self.shards.write_batch(device, made, picks, features, labels);
            loss_sum += self.network.evaluate(model, buffers, labels, |_| {}).loss_sum;
        }
        let loss = loss_sum / samples as f64;
        if loss.is_finite() {
            Ok(loss)
        } else {
            Err(LearnError::NotFinite { what: "loss".into(), value: loss })
        }
    }

    /// The time of this loss in units of a round's training: forward is a third of forward and backward.
    pub(super) fn own_loss_time(&self, device: usize) -> f64 {
        let samples = self.shards.samples(device);
        let (steps, last_batch) = self.settings.steps.of(samples, self.settings.batch);
        let trained = steps.saturating_sub(1) * self.settings.batch + last_batch;
        samples as f64 / (3.0 * trained.max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::learner::{Learner, TrainKey};
    use crate::sgd::Steps;
    use crate::task::TaskSettings;

    /// A first step on all samples of a device sees the same loss.
    #[test]
    fn the_loss_is_that_of_one_step_on_all_samples() {
        let mut settings = TaskSettings::paper("synthetic".parse().unwrap(), 5);
        settings.sgd.steps = Steps::Iterations(1);
        let learner = |batch: usize| {
            let mut settings = settings.clone();
            settings.sgd.batch = batch;
            settings.learner(Path::new("")).unwrap().0
        };
        let model = learner(1).initial_model(3);
        for device in 0..5 {
            let samples = learner(1).samples(device);
            let whole = learner(samples);
            let mut update = vec![0.0; whole.params_len()];
            let key = TrainKey::new(1, 1, device);
            let step = whole.train(&mut whole.worker(), model.as_slice(), key, &mut update).unwrap();
            // Also in batches of which the last one is not full.
            for batch in [samples, 7, 64] {
                let learner = learner(batch);
                let loss = learner.loss(&mut learner.worker(), model.as_slice(), device).unwrap();
                assert!((loss / step - 1.0).abs() < 1e-5, "{loss} is not {step}");
                let time = samples as f64 / (3.0 * batch as f64);
                assert!((learner.relative_loss_time(device) / time - 1.0).abs() < 1e-12);
            }
        }
        assert!(learner(8).loss(&mut learner(8).worker(), model.as_slice(), 99).is_err());
    }
}
