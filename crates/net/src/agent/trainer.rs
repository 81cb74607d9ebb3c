//! Local training: the server's task on the device's own share of the data.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fedflip_learn::sgd::{SgdLearner, SgdWorker};
use fedflip_learn::task::TaskSettings;
use fedflip_learn::{Encoding, LearnError, Learner, TrainKey};
use prost::bytes::Bytes;
use tokio::time::Instant;

use crate::error::NetError;
use crate::wire::numbers::{VectorDigest, digest_of_bytes};

/// The most trainings of a calibration. A slow device has fewer: they end after [`CALIBRATION_TIME`].
const CALIBRATIONS: usize = 5;
const CALIBRATION_TIME: Duration = Duration::from_secs(5);

/// An encoded update.
#[derive(Clone, Debug)]
pub(super) struct Trained {
    pub bytes: Bytes,
    pub digest: VectorDigest,
    pub train_loss: f64,
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
    learner: SgdLearner,
    /// One training at a time, with buffers that are kept.
    worker: Mutex<SgdWorker>,
    /// To emulate a slower device.
    at_least: Duration,
}

impl Trainer {
    pub(super) fn new(
        settings: &TaskSettings,
        data_dir: &Path,
        at_least: Duration,
    ) -> Result<Self, NetError> {
        let (learner, _) = settings.learner(data_dir)?;
        let worker = Mutex::new(learner.worker());
        Ok(Self { learner, worker, at_least })
    }

    /// The number of samples of a slot; an error without any.
    pub(super) fn samples(&self, slot: usize) -> Result<usize, LearnError> {
        let samples = if slot < self.learner.devices() { self.learner.samples(slot) } else { 0 };
        if samples == 0 { Err(LearnError::NoSamples { device: slot }) } else { Ok(samples) }
    }

    pub(super) fn parameters(&self) -> usize {
        self.learner.params_len()
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
        let mut delta = vec![0.0; self.learner.params_len()];
        let train_loss = {
            // Buffers hold nothing between calls, so a panic leaves nothing behind.
            let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
            self.learner.train(&mut worker, model, key, &mut delta)?
        };
        let mut bytes = Vec::new();
        encoding.encode(&delta, &mut key.rounding(), &mut bytes);
        let digest = digest_of_bytes(&bytes);
        let took = start.elapsed().max(self.at_least);
        Ok(Trained { bytes: bytes.into(), digest, train_loss, took })
    }

    /// Times a round's training: the median of some trainings, after one that warms up.
    pub(super) fn calibrate(
        &self,
        slot: usize,
        seed: u64,
        encoding: Encoding,
    ) -> Result<Calibrated, LearnError> {
        let model = self.learner.initial_model(seed);
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
