//! The state of a run between two rounds.

use std::sync::Arc;

use fedflip_fleet::{Metrics, ModelVector};
use fedflip_record::Checkpoint;
use fedflip_record::checkpoint::Mark;

use crate::norms::NormHistory;
use crate::optimiser::{Memory, Optimiser};

/// Everything that the next round depends on, besides the settings of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// The number of rounds that are over.
    pub round: u64,
    /// The time in seconds since the run began.
    pub secs: f64,
    /// The global model x_r.
    pub model: Arc<ModelVector>,
    /// The vectors of the server's optimiser.
    pub memory: Memory,
    /// The norms of past updates; empty unless the aggregation needs them. The records hold them.
    pub norms: NormHistory,
    /// The models that devices still train from although the server has stepped since, oldest first; none where there are
    /// rounds.
    pub stale: Vec<Arc<ModelVector>>,
    /// The metrics of [`Self::result`], if that model was evaluated. Of estimates these are the confidence limits on the
    /// safe side: a lucky estimate does not end a run.
    pub evaluated: Option<Metrics>,
}

impl State {
    /// The state before the first round, for a server that adds the sum of the updates to the model.
    pub fn new(model: ModelVector) -> Self {
        let (memory, norms, stale) = (Memory::default(), NormHistory::default(), Vec::new());
        Self { round: 0, secs: 0.0, model: Arc::new(model), memory, norms, stale, evaluated: None }
    }

    /// The same state with the vectors of an optimiser before its first round.
    pub fn with_optimiser(self, optimiser: &Optimiser) -> Self {
        Self { memory: optimiser.memory(&self.model), ..self }
    }

    /// The result of the run: the average if models are averaged, and otherwise the model.
    pub fn result(&self) -> &Arc<ModelVector> {
        self.memory.average().unwrap_or(&self.model)
    }

    /// The state as a checkpoint; the folder fills in the length of the records.
    pub fn checkpoint(&self) -> Checkpoint {
        let memory = self.memory.vectors().map(|(_, vector)| vector);
        let stale = self.stale.iter().map(|model| model.as_slice());
        Checkpoint {
            round: self.round,
            secs: self.secs,
            evaluated: self.evaluated.clone(),
            records: Mark::default(),
            vectors: std::iter::once(self.model.as_slice())
                .chain(memory)
                .chain(stale)
                .map(<[f32]>::to_vec)
                .collect(),
        }
    }

    /// The state of a checkpoint, without the norms, which are in the records; none if the checkpoint belongs to another
    /// model or another optimiser. Vectors beyond those of the optimiser are stale models: the world knows how many there
    /// should be.
    pub fn resumed(checkpoint: Checkpoint, parameters: usize, optimiser: &Optimiser) -> Option<Self> {
        let Checkpoint { round, secs, evaluated, vectors, .. } = checkpoint;
        let mut vectors = vectors.into_iter();
        let model = vectors.next().filter(|model| model.len() == parameters)?;
        let remembered = vectors.by_ref().take(optimiser.names().len()).collect();
        let memory = optimiser.restored(remembered, parameters)?;
        let stale: Vec<Vec<f32>> = vectors.collect();
        if stale.iter().any(|model| model.len() != parameters) {
            return None;
        }
        let stale = stale.into_iter().map(|model| Arc::new(ModelVector::new(model))).collect();
        let model = ModelVector::new(model);
        Some(Self { round, secs, memory, stale, evaluated, ..Self::new(model) })
    }
}
