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
        if loss.is_finite() { Ok(loss) } else { Err(LearnError::NotFinite { what: "loss", value: loss }) }
    }

    /// The time of this loss in units of a round's training: forward is a third of forward and backward.
    pub(super) fn own_loss_time(&self, device: usize) -> f64 {
        let trained = self.settings.batch * self.settings.iterations.max(1);
        self.shards.samples(device) as f64 / (3.0 * trained as f64)
    }
}
