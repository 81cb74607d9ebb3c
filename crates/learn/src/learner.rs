//! The seam to the rest: what the round engine asks of whoever trains.

use std::ops::Range;

use fedflip_fleet::{ModelVector, Purpose, StreamKey};
use rand::Rng;

use crate::error::LearnError;
pub use crate::network::Score;

/// Test samples that are scored in one go. An evaluation adds up the scores of such pieces in order, so its
/// bytes do not depend on who scored which.
pub const SCORED_TOGETHER: usize = 256;

/// Which local training this is: together with model and device it determines the update to the byte.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrainKey {
    /// Of the run.
    pub seed: u64,
    /// Of the run.
    pub round: u64,
    /// Position in the fleet.
    pub device: usize,
    /// By what this device's learning rate is multiplied: 1, but for rules of aggregation that weigh there.
    pub rate_factor: f32,
}

impl TrainKey {
    /// With the learning rate of everybody.
    pub fn new(seed: u64, round: u64, device: usize) -> Self {
        Self { seed, round, device, rate_factor: 1.0 }
    }

    /// With what chance the update is rounded when it is sent: see [`Encoding`](crate::Encoding).
    pub fn rounding(self) -> impl Rng {
        let Self { seed, round, device, .. } = self;
        StreamKey { seed, purpose: Purpose::UpdateRounding, round }.device(device as u64)
    }
}

/// How a model does on the test data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metrics {
    /// Mean cross-entropy.
    pub loss: f64,
    /// Share classified correctly.
    pub accuracy: f64,
}

/// Local training and evaluation as pure functions of their arguments: no state between calls but buffers.
///
/// `examples/own_model.rs` implements it from the outside.
pub trait Learner: Sync {
    /// Buffers of one worker; nothing in them outlives a call.
    type Worker: Send;

    /// Devices that hold data.
    fn devices(&self) -> usize;
    /// How many samples a device holds.
    fn samples(&self, device: usize) -> usize;
    /// How long training on a device takes, in units of its own: the longest is begun first.
    fn relative_cost(&self, _device: usize) -> u64 {
        1
    }
    /// Parameters of the model.
    fn params_len(&self) -> usize;
    /// The model before the first round.
    fn initial_model(&self, seed: u64) -> ModelVector;
    /// Makes buffers for one worker.
    fn worker(&self) -> Self::Worker;
    /// Trains on one device, starting from `model`; writes local model − `model` to `update`, and returns
    /// the mean loss over the iterations.
    fn train(
        &self,
        worker: &mut Self::Worker,
        model: &[f32],
        key: TrainKey,
        update: &mut [f32],
    ) -> Result<f64, LearnError>;
    /// How many test samples there are.
    fn test_samples(&self) -> usize;
    /// Scores `model` on some of the test samples.
    fn score(
        &self,
        worker: &mut Self::Worker,
        model: &[f32],
        samples: Range<usize>,
    ) -> Result<Score, LearnError>;
    /// Scores `model` on all of them.
    fn evaluate(&self, worker: &mut Self::Worker, model: &[f32]) -> Result<Metrics, LearnError> {
        let mut total = Score::default();
        for piece in pieces(self.test_samples()) {
            total += self.score(worker, model, piece)?;
        }
        total.metrics(self.test_samples())
    }
}

/// The pieces of an evaluation, in order.
pub fn pieces(test_samples: usize) -> impl Iterator<Item = Range<usize>> {
    (0..test_samples)
        .step_by(SCORED_TOGETHER)
        .map(move |first| first..(first + SCORED_TOGETHER).min(test_samples))
}

impl std::ops::AddAssign for Score {
    fn add_assign(&mut self, other: Self) {
        self.loss_sum += other.loss_sum;
        self.correct += other.correct;
    }
}

impl Score {
    /// Per sample, if the loss is a number.
    pub fn metrics(self, samples: usize) -> Result<Metrics, LearnError> {
        let count = samples.max(1) as f64;
        let loss = self.loss_sum / count;
        if !loss.is_finite() {
            return Err(LearnError::NotFinite { what: "model's loss", value: loss });
        }
        Ok(Metrics { loss, accuracy: self.correct as f64 / count })
    }
}
