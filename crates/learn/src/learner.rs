//! The seam to the rest: what the round engine asks of whoever trains.

use fedflip_fleet::ModelVector;

use crate::error::LearnError;

/// Which local training this is: together with model and device it determines the update to the byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainKey {
    /// Of the run.
    pub seed: u64,
    /// Of the run.
    pub round: u64,
    /// Position in the fleet.
    pub device: usize,
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
    /// Scores `model` on the test data.
    fn evaluate(&self, worker: &mut Self::Worker, model: &[f32]) -> Result<Metrics, LearnError>;
}
