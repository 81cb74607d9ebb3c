//! What a run is between two rounds.

use std::sync::Arc;

use fedflip_fleet::ModelVector;
use fedflip_learn::Metrics;
use fedflip_record::Checkpoint;
use fedflip_record::checkpoint::Mark;

use crate::norms::NormHistory;
use crate::optimiser::{Memory, Optimiser};

/// All that the next round depends on, besides the settings of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Rounds done.
    pub round: u64,
    /// Time since the run began.
    pub secs: f64,
    /// x_r.
    pub model: Arc<ModelVector>,
    /// What else the server's optimiser needs.
    pub memory: Memory,
    /// How long updates were; empty unless the aggregation looks at it. It is kept in the records.
    pub norms: NormHistory,
    /// Of [`Self::result`], if it was evaluated.
    pub evaluated: Option<Metrics>,
}

impl State {
    /// Before the first round of a run whose server adds updates to the model, and that is all.
    pub fn new(model: ModelVector) -> Self {
        let (memory, norms) = (Memory::default(), NormHistory::default());
        Self { round: 0, secs: 0.0, model: Arc::new(model), memory, norms, evaluated: None }
    }

    /// With what an optimiser remembers before its first round.
    pub fn with_optimiser(self, optimiser: &Optimiser) -> Self {
        Self { memory: optimiser.memory(&self.model), ..self }
    }

    /// What the run has to show: the average where models are averaged, and else the model.
    pub fn result(&self) -> &Arc<ModelVector> {
        self.memory.average().unwrap_or(&self.model)
    }

    /// As it is kept; the folder fills in how far the records have come.
    pub fn checkpoint(&self) -> Checkpoint {
        let memory = self.memory.vectors().map(|(_, vector)| vector);
        Checkpoint {
            round: self.round,
            secs: self.secs,
            evaluated: self.evaluated.map(|metrics| [metrics.loss, metrics.accuracy]),
            records: Mark::default(),
            vectors: std::iter::once(self.model.as_slice()).chain(memory).map(<[f32]>::to_vec).collect(),
        }
    }

    /// From what was kept, but for the norms, which are in the records; none if it is of another model or another optimiser.
    pub fn resumed(checkpoint: Checkpoint, parameters: usize, optimiser: &Optimiser) -> Option<Self> {
        let Checkpoint { round, secs, evaluated, vectors, .. } = checkpoint;
        let mut vectors = vectors.into_iter();
        let model = vectors.next().filter(|model| model.len() == parameters)?;
        let memory = optimiser.restored(vectors.collect(), parameters)?;
        let evaluated = evaluated.map(|[loss, accuracy]| Metrics { loss, accuracy });
        let model = ModelVector::new(model);
        Some(Self { round, secs, memory, evaluated, ..Self::new(model) })
    }
}
