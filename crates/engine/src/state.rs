//! What a run is between two rounds.

use std::sync::Arc;

use fedflip_fleet::ModelVector;
use fedflip_learn::Metrics;
use fedflip_record::Checkpoint;
use fedflip_record::checkpoint::Mark;

/// All that the next round depends on, besides the settings of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Rounds done.
    pub round: u64,
    /// Time since the run began.
    pub secs: f64,
    /// x_r.
    pub model: Arc<ModelVector>,
    /// Of this model, if it was evaluated.
    pub evaluated: Option<Metrics>,
}

impl State {
    /// Before the first round.
    pub fn new(model: ModelVector) -> Self {
        Self { round: 0, secs: 0.0, model: Arc::new(model), evaluated: None }
    }

    /// As it is kept; the folder fills in how far the records have come.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            round: self.round,
            secs: self.secs,
            evaluated: self.evaluated.map(|metrics| [metrics.loss, metrics.accuracy]),
            records: Mark::default(),
            vectors: vec![self.model.as_slice().to_vec()],
        }
    }

    /// From what was kept; none if it is of another model.
    pub fn resumed(checkpoint: Checkpoint, parameters: usize) -> Option<Self> {
        let Checkpoint { round, secs, evaluated, mut vectors, .. } = checkpoint;
        let model = vectors.pop().filter(|model| vectors.is_empty() && model.len() == parameters)?;
        let evaluated = evaluated.map(|[loss, accuracy]| Metrics { loss, accuracy });
        Some(Self { round, secs, model: Arc::new(ModelVector::new(model)), evaluated })
    }
}
