//! Local training for the server: timed, encoded, and as slow as the emulated device.

use std::time::Duration;

use fedflip_learn::metrics::COUNT;
use fedflip_learn::{Encoding, LearnError, TrainKey, model_file};
use prost::bytes::Bytes;
use tokio::time::Instant;
use tracing::debug;

use super::training::DeviceTraining;
use crate::wire::numbers::{VectorDigest, digest_of_bytes};
use crate::wire::sums::DeclaredSums;
use crate::wire::task::OfferedTask;
use crate::wire::v1::evaluated::Sum;

/// The most trainings of a calibration. A slow device has fewer: they end after [`CALIBRATION_TIME`].
const CALIBRATIONS: usize = 5;
const CALIBRATION_TIME: Duration = Duration::from_secs(5);

/// A device that holds out fewer samples reports nothing of them: the sums of one sample would reveal its label.
const HELD_OUT_MIN: f64 = 10.0;

/// The result of a local update: the encoded update and its numbers.
#[derive(Clone, Debug)]
pub(super) struct Trained {
    pub bytes: Bytes,
    pub digest: VectorDigest,
    pub train_loss: f64,
    /// The number of samples that it was trained on; 0 where the server knows.
    pub samples: u64,
    /// The duration of the training on the emulated device.
    pub took: Duration,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Calibrated {
    /// The duration of one round's training.
    pub compute_secs: f64,
    /// The duration of all trainings of the calibration.
    pub took_in_all: Duration,
}

/// Trains one device, on the data of its slot.
pub(super) struct Trainer {
    offered: OfferedTask,
    training: Box<dyn DeviceTraining>,
    /// The sums that leave this device when it evaluates a model.
    declared: DeclaredSums,
    /// To emulate a slower device.
    at_least: Duration,
}

impl Trainer {
    pub(super) fn new(offered: OfferedTask, training: Box<dyn DeviceTraining>, at_least: Duration) -> Self {
        let declared = DeclaredSums::of_task(&offered);
        Self { offered, training, declared, at_least }
    }

    /// A model as the bytes of a file, with the names of its tensors.
    pub(super) fn model_file(&self, model: &[f32]) -> Result<Vec<u8>, LearnError> {
        model_file::write(&self.offered.params()?, model)
    }

    /// The number of samples of a slot; an error without any.
    pub(super) fn samples(&self, slot: usize) -> Result<usize, LearnError> {
        match self.training.samples(slot) {
            0 => Err(LearnError::NoSamples { device: slot }),
            samples => Ok(samples),
        }
    }

    pub(super) fn parameters(&self) -> usize {
        self.training.params_len()
    }

    /// Trains for a round and encodes the update, on the calling thread. The caller emulates a slower device: the update
    /// exists only after the time that the training took.
    pub(super) fn train(
        &self,
        model: &[f32],
        key: TrainKey,
        encoding: Encoding,
    ) -> Result<Trained, LearnError> {
        let start = Instant::now();
        let mut delta = vec![0.0; self.training.params_len()];
        let train_loss = self.training.train(model, key, &mut delta)?;
        let samples = if self.offered.is_on_devices() { self.training.samples(key.device) as u64 } else { 0 };
        let mut bytes = Vec::new();
        encoding.encode(&delta, &mut key.rounding(), &mut bytes);
        let digest = digest_of_bytes(&bytes);
        let took = start.elapsed().max(self.at_least);
        Ok(Trained { bytes: bytes.into(), digest, train_loss, samples, took })
    }

    /// Scores a model on the samples that the device holds out, for the server. The message is empty if there are fewer than
    /// [`HELD_OUT_MIN`], and none if the sums are not fit to be sent.
    pub(super) fn evaluate(&self, model: &[f32]) -> Result<Option<Vec<Sum>>, LearnError> {
        let sums = self.training.evaluate(model)?;
        if sums.get(COUNT) < HELD_OUT_MIN {
            debug!(held_out = sums.get(COUNT), "too few samples are held out to report on them");
            return Ok(Some(Vec::new()));
        }
        Ok(self.declared.message(&sums))
    }

    /// Times a round's training: the median of some trainings, after one that warms up.
    pub(super) fn calibrate(
        &self,
        slot: usize,
        seed: u64,
        encoding: Encoding,
    ) -> Result<Calibrated, LearnError> {
        let model = self.training.initial_model(seed);
        let (mut took, mut took_in_all) = (Vec::new(), Duration::ZERO);
        for attempt in 0..=CALIBRATIONS as u64 {
            // Rounds count from 1, so round 0 is free.
            let key = TrainKey::new(seed.wrapping_add(attempt), 0, slot);
            took.push(self.train(model.as_slice(), key, encoding)?.took);
            took_in_all += took[took.len() - 1];
            if took_in_all > CALIBRATION_TIME {
                break;
            }
        }
        if took.len() > 1 {
            took.remove(0);
        }
        took.sort();
        Ok(Calibrated { compute_secs: took[took.len() / 2].as_secs_f64(), took_in_all })
    }
}

/// Waits until the emulated, slower device would be done, if that is later than now.
pub(super) async fn emulated_until(moment: Instant) {
    // A timer that is due already may still take a millisecond.
    if moment > Instant::now() {
        tokio::time::sleep_until(moment).await;
    }
}
