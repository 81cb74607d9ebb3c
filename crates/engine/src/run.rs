//! Rounds until the target, a cap, or whoever watches says stop.

use fedflip_fleet::bandwidth::Division;
use fedflip_fleet::{Fleet, Mbps};
use fedflip_learn::{LearnError, Metrics};
use fedflip_plan::Schedule;
use fedflip_record::{End, EndReason, RecordError, Round};

use crate::aggregation::Aggregation;
use crate::error::EngineError;
use crate::optimiser::Optimiser;
use crate::round::{Desk, Went};
use crate::state::State;
use crate::trimmed;
use crate::world::World;

const GIB: f64 = (1_u64 << 30) as f64;

/// The settings of a run: with the world's, all that decides its rounds.
#[derive(Clone, Copy, Debug)]
pub struct Engine<'a> {
    /// Who there is.
    pub fleet: &'a Fleet,
    /// q and a/q of every round, and which of them are evaluated.
    pub schedule: &'a Schedule,
    /// What they share.
    pub band: Mbps,
    /// And how.
    pub division: Division,
    /// After so long a round is over for those who have not reported; with none, everybody is waited for.
    /// The world may have one of its own.
    pub deadline_secs: Option<f64>,
    /// The share of a deadline that is kept free when the bandwidth is divided, because compute times vary.
    pub deadline_margin: f64,
    /// How updates become one step.
    pub aggregation: Aggregation,
    /// What the server does with the sum of the updates.
    pub optimiser: Optimiser,
    /// When the run is over.
    pub stop: Stop,
}

/// When a run is over: whichever comes first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    /// An evaluation is at least so accurate.
    pub accuracy: Option<f64>,
    /// An evaluation's loss is at most this.
    pub loss: Option<f64>,
    /// So many rounds are done.
    pub rounds_max: u64,
    /// So much time has passed.
    pub secs_max: Option<f64>,
}

/// What whoever watches a run wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// The next round.
    GoOn,
    /// To stop after this one.
    Stop,
}

/// Whoever watches a run and keeps what it did.
pub trait Sink {
    /// A round is over and this is its record; `state` is what the next one starts from.
    fn round(&mut self, record: Round, state: &State) -> Result<Control, RecordError>;
}

/// How a run came back.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It is over.
    Ended(End),
    /// It can go on from the state it is in.
    Stopped,
}

impl Engine<'_> {
    /// Rounds from `state` on, until the run ends or `sink` wants it to stop. When a model diverges the state
    /// is that of the last good round.
    pub fn run<W: World>(
        &self,
        world: &mut W,
        state: &mut State,
        sink: &mut dyn Sink,
    ) -> Result<Outcome, EngineError> {
        let (planned, devices) = (self.schedule.usual().q().len(), self.fleet.len());
        if planned != devices {
            return Err(EngineError::OtherFleet { planned, devices });
        }
        if !self.optimiser.fits(&state.memory, state.model.as_slice().len()) {
            let remembered = state.memory.vectors().map(|(name, _)| name).collect();
            return Err(EngineError::OtherOptimiser { remembered, needed: self.optimiser.names() });
        }
        self.check_room(state.model.as_slice().len())?;
        let mut desk = Desk::default();
        loop {
            // Before the round and not after it: a resumed run ends where the first one did.
            if let Some(reason) = self.stop.reason(state) {
                return self.end(reason, world, state);
            }
            match self.round(world, state, &mut desk)? {
                Went::Well(record) => {
                    if sink.round(record, state)? == Control::Stop {
                        return Ok(Outcome::Stopped);
                    }
                }
                Went::Diverged(error) => return diverged(error, state),
            }
        }
    }
}

impl Engine<'_> {
    /// A trimmed sum holds all updates of a round: whether they fit is known before the first one.
    fn check_room(&self, parameters: usize) -> Result<(), EngineError> {
        let Aggregation::Trimmed { .. } = self.aggregation else { return Ok(()) };
        let plans = std::iter::once(self.schedule.usual()).chain(self.schedule.quiet());
        let bytes = plans.map(|plan| trimmed::bytes_expected(plan, parameters)).fold(0.0, f64::max);
        if bytes > trimmed::BYTES_MAX {
            return Err(EngineError::TooLargeToTrim { gib: bytes / GIB, gib_max: trimmed::BYTES_MAX / GIB });
        }
        Ok(())
    }

    /// Ends a run; a last model that nobody has looked at is evaluated.
    fn end<W: World>(&self, reason: EndReason, world: &mut W, state: &State) -> Result<Outcome, EngineError> {
        if state.evaluated.is_some() || state.round == 0 {
            return Ok(Outcome::Ended(ended(reason, state, None)));
        }
        match world.evaluate(state.result()) {
            Ok(Metrics { loss, accuracy }) => {
                let end = ended(reason, state, None);
                Ok(Outcome::Ended(End { loss: Some(loss), accuracy: Some(accuracy), ..end }))
            }
            Err(EngineError::Learn(error)) => diverged(error, state),
            Err(error) => Err(error),
        }
    }
}

impl Stop {
    fn reason(&self, state: &State) -> Option<EndReason> {
        if let Some(metrics) = state.evaluated {
            if self.accuracy.is_some_and(|target| metrics.accuracy >= target) {
                return Some(EndReason::TargetAccuracy);
            }
            if self.loss.is_some_and(|target| metrics.loss <= target) {
                return Some(EndReason::TargetLoss);
            }
        }
        if state.round >= self.rounds_max {
            return Some(EndReason::RoundsMax);
        }
        self.secs_max.is_some_and(|most| state.secs >= most).then_some(EndReason::VirtualTimeMax)
    }
}

fn ended(reason: EndReason, state: &State, detail: Option<String>) -> End {
    End { reason, rounds: state.round, secs: state.secs, loss: None, accuracy: None, detail }
}

/// A model that left the numbers ends the run; anything else that keeps a device from training is a mistake.
fn diverged(error: LearnError, state: &State) -> Result<Outcome, EngineError> {
    match error {
        LearnError::Diverged { .. } | LearnError::NotFinite { .. } => {
            let detail = format!("in round {}: {error}", state.round + 1);
            Ok(Outcome::Ended(ended(EndReason::Diverged, state, Some(detail))))
        }
        error => Err(error.into()),
    }
}
