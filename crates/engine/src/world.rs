//! The seam between the round loop and where devices live.

use std::sync::Arc;

use fedflip_fleet::ModelVector;
use fedflip_fleet::bandwidth::{Allocation, Entrant};
use fedflip_learn::{LearnError, Metrics};

use crate::error::EngineError;

/// Where devices live: a simulation on a virtual clock, or a server with devices at the other end.
///
/// For each round the engine calls [`World::open`], [`World::dispatch`] and then [`World::next_event`] until
/// everybody who takes part is accounted for. An empty round is opened and dispatched too.
pub trait World {
    /// The time, in seconds since the run began.
    fn now_secs(&self) -> f64;

    /// Opens a round that starts from `model`: writes who takes part by their own coins, in device order, each
    /// with what it has to do as far as is known now.
    fn open(
        &mut self,
        round: u64,
        model: &Arc<ModelVector>,
        entrants: &mut Vec<Entrant>,
    ) -> Result<(), EngineError>;

    /// A deadline of the world's own for a round of these entrants, where the settings of the run have none.
    fn deadline_secs(&self, _entrants: &[Entrant]) -> Option<f64> {
        None
    }

    /// Hands out the work of the round.
    fn dispatch(&mut self, order: Order<'_>) -> Result<(), EngineError>;

    /// Waits for what happens next in the round. Events may come in any order; time has passed when they do.
    fn next_event(&mut self) -> Result<Event, EngineError>;

    /// Takes back the memory of an update that has been used.
    fn recycle(&mut self, _delta: Vec<f32>) {}

    /// Scores a model on the test samples.
    fn evaluate(&mut self, model: &Arc<ModelVector>) -> Result<Metrics, EngineError>;
}

/// The work of a round.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    /// Counted from 1.
    pub round: u64,
    /// x_r, from which everybody starts.
    pub model: &'a Arc<ModelVector>,
    /// Who takes part, and with which share of the band.
    pub allocation: &'a Allocation,
    /// After so long the round is over for those who have not reported.
    pub deadline_secs: Option<f64>,
}

/// What happens in a round.
#[derive(Debug)]
pub enum Event {
    /// A device has reported.
    Update(Update),
    /// A device will not report.
    Lost {
        /// Position in the fleet.
        device: usize,
        /// Such as `vanished`.
        reason: &'static str,
    },
    /// A device could not train.
    Failed {
        /// Position in the fleet.
        device: usize,
        /// Why.
        error: LearnError,
    },
    /// Nobody who has not reported so far will be heard.
    Deadline,
}

/// What a device reports.
#[derive(Clone, Debug)]
pub struct Update {
    /// Position in the fleet.
    pub device: usize,
    /// Δ_n: its model less x_r.
    pub delta: Vec<f32>,
    /// Mean loss of its training.
    pub train_loss: f64,
    /// How long it took until its upload began, and how long that took, in seconds.
    pub took_secs: [f64; 2],
}
