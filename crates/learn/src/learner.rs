//! The seam between fedflip and anything that trains a model.

use std::ops::Range;

use fedflip_fleet::{Metrics, ModelVector, Purpose, StreamKey};
use rand::Rng;

use crate::error::LearnError;
use crate::metrics::{self, Metric, Sums};

/// Test samples that are scored in one go. An evaluation merges the sums of such pieces in order, so its bytes do not
/// depend on which worker scored which piece.
pub const SCORED_TOGETHER: usize = 256;

/// The key of one local training: together with the model it determines the update to the byte.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrainKey {
    /// The seed of the run.
    pub seed: u64,
    /// The round, counted from 1.
    pub round: u64,
    /// The position of the device in the fleet.
    pub device: usize,
    /// The factor of this device's learning rate: 1, except under aggregation rules that put the weight there.
    pub rate_factor: f32,
}

impl TrainKey {
    /// The key of a training whose learning rate has the factor 1.
    pub fn new(seed: u64, round: u64, device: usize) -> Self {
        Self { seed, round, device, rate_factor: 1.0 }
    }

    /// The random stream that rounds the update when it is encoded; see [`Encoding`](crate::Encoding).
    pub fn rounding(self) -> impl Rng {
        let Self { seed, round, device, .. } = self;
        StreamKey { seed, purpose: Purpose::UpdateRounding, round }.device(device as u64)
    }
}

/// Local training and evaluation as pure functions of their arguments: only buffers stay between calls.
///
/// `examples/own_model.rs` implements it from the outside.
pub trait Learner: Sync {
    /// Buffers of one worker; nothing in them outlives a call.
    type Worker: Send;

    /// The number of devices that hold data.
    fn devices(&self) -> usize;
    /// The number of samples that a device holds.
    fn samples(&self, device: usize) -> usize;
    /// How long training on a device takes, in arbitrary units. Long trainings begin first.
    fn relative_cost(&self, _device: usize) -> u64 {
        1
    }
    /// The number of parameters of the model.
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
    /// The mean loss of `model` over all training samples of a device, without training. Schemes that choose devices by
    /// their loss ask for it.
    fn loss(&self, _worker: &mut Self::Worker, _model: &[f32], _device: usize) -> Result<f64, LearnError> {
        Err(LearnError::NoOwnLoss)
    }
    /// The time of [`Learner::loss`] in units of the device's training of a round. By default a forward pass over as many
    /// samples, which is about a third of a step of training.
    fn relative_loss_time(&self, _device: usize) -> f64 {
        1.0 / 3.0
    }
    /// The number of test samples. A learner that only trains, as on a device, has none.
    fn test_samples(&self) -> usize {
        0
    }
    /// The metrics of an evaluation; the first one is the headline.
    fn metrics(&self) -> &[Metric] {
        &[]
    }
    /// Scores `model` on some of the test samples, and adds to `sums` what the metrics need.
    fn score(
        &self,
        _worker: &mut Self::Worker,
        _model: &[f32],
        _samples: Range<usize>,
        _sums: &mut Sums,
    ) -> Result<(), LearnError> {
        Ok(())
    }
    /// Evaluates `model` on all test samples.
    fn evaluate(&self, worker: &mut Self::Worker, model: &[f32]) -> Result<Metrics, LearnError> {
        let (mut total, mut sums) = (Sums::default(), Sums::default());
        for piece in pieces(self.test_samples()) {
            sums.reset();
            self.score(worker, model, piece, &mut sums)?;
            total.merge(&sums);
        }
        metrics::evaluated(self.metrics(), &total)
    }
}

/// The pieces of an evaluation, in order.
pub fn pieces(test_samples: usize) -> impl Iterator<Item = Range<usize>> {
    (0..test_samples)
        .step_by(SCORED_TOGETHER)
        .map(move |first| first..(first + SCORED_TOGETHER).min(test_samples))
}
