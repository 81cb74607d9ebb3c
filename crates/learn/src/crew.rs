//! The seam between a run and the workers that train for it.

use std::sync::Arc;

use fedflip_fleet::{Metrics, ModelVector};

use crate::encoding::Encoding;
use crate::error::LearnError;
use crate::learner::TrainKey;
use crate::metrics::Metric;

pub mod contract;

/// Workers that train devices and evaluate models: threads, processes or machines.
///
/// A crew may finish trainings in any order; an update depends on its model, its key and its encoding alone.
/// [`contract::check`] tests an implementation.
pub trait Crew {
    /// The number of devices that hold data.
    fn devices(&self) -> usize;

    /// The number of parameters of the model.
    fn params_len(&self) -> usize;

    /// The metrics of an evaluation; the first one is the headline.
    fn metrics(&self) -> &[Metric];

    /// How long training on a device takes, in arbitrary units. Callers begin long trainings first.
    fn relative_cost(&self, _device: usize) -> u64 {
        1
    }

    /// Begins one training for each key, in the order of the keys. Updates are as a receiver decodes them. Trainings of other
    /// devices, from this or another model, may be outstanding.
    fn train(
        &mut self,
        model: &Arc<ModelVector>,
        encoding: Encoding,
        keys: &[TrainKey],
    ) -> Result<(), LearnError>;

    /// Waits until one more training is over; none if no training is outstanding. An error means that the outstanding
    /// trainings will not end.
    fn next_trained(&mut self) -> Result<Option<Trained>, LearnError>;

    /// Takes back the memory of an update that the caller no longer needs.
    fn recycle(&mut self, _delta: Vec<f32>) {}

    /// The mean loss of a model over the training samples of each of these devices, in their order. No training may be
    /// outstanding. The error is that of the first device without a loss.
    fn losses(&mut self, _model: &Arc<ModelVector>, _devices: &[usize]) -> Result<Vec<f64>, LearnError> {
        Err(LearnError::NoOwnLoss)
    }

    /// The time that the loss of a device takes, in units of its training of a round.
    fn relative_loss_time(&self, _device: usize) -> f64 {
        1.0 / 3.0
    }

    /// Evaluates a model on all test samples.
    fn evaluate(&mut self, model: &Arc<ModelVector>) -> Result<Metrics, LearnError>;
}

/// The result of one training.
#[derive(Clone, Debug, PartialEq)]
pub struct Trained {
    /// The position of the device in the fleet.
    pub device: usize,
    /// Local model − global model, decoded. Its content means nothing if the training failed.
    pub delta: Vec<f32>,
    /// The mean loss of the local iterations, or why the training failed.
    pub train_loss: Result<f64, LearnError>,
}
