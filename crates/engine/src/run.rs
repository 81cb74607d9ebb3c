//! Rounds until the target, a cap, or the sink's wish to stop.

use fedflip_fleet::bandwidth::Division;
use fedflip_fleet::{Fleet, Metrics, RoundCosts};
use fedflip_learn::LearnError;
use fedflip_plan::Schedule;
use fedflip_record::{End, EndReason, Estimated, Initial, Round};

use crate::aggregation::Aggregation;
use crate::error::{BoxedError, EngineError};
use crate::optimiser::Optimiser;
use crate::round::{RoundBuffers, RoundOutcome};
use crate::state::State;
use crate::stop::Stop;
use crate::trimmed;
use crate::world::World;

const GIB: f64 = (1_u64 << 30) as f64;

/// The settings of a run. Together with those of the world they decide its rounds.
#[derive(Clone, Debug)]
pub struct Engine<'a> {
    /// The fleet that the plan is for.
    pub fleet: &'a Fleet,
    /// q and a/q of every round, and the rounds that are evaluated.
    pub schedule: &'a Schedule,
    /// The bandwidth that uploads share, and what a round costs besides. Where devices are real, downloads and overhead happen
    /// by themselves, and are not set.
    pub costs: RoundCosts,
    /// How the devices share the bandwidth.
    pub division: Division,
    /// After this time a round is over for devices that have not reported; without one, the world's own deadline
    /// holds, if it has one.
    pub deadline_secs: Option<f64>,
    /// The share of a deadline that is kept free when the bandwidth is divided, because compute times vary.
    pub deadline_margin: f64,
    /// How updates become one step of the model.
    pub aggregation: Aggregation,
    /// How the server turns the sum of the updates into the next model.
    pub optimiser: Optimiser,
    /// When the run ends.
    pub stop: Stop,
}

/// What the sink of a run wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Run the next round.
    GoOn,
    /// Interrupt the run. It can be resumed.
    Stop,
}

/// Keeps what a run records. `R` is the [receipt](World::Receipt) of the world.
pub trait Sink<R = ()> {
    /// The first model was evaluated. A run that is resumed after this is not evaluated again.
    fn initial(&mut self, _initial: Initial, _state: &State) -> Result<Control, BoxedError> {
        Ok(Control::GoOn)
    }

    /// A round is over: its record, the world's receipt, and the state from which the next round starts.
    fn round(&mut self, record: Round, receipt: R, state: &State) -> Result<Control, BoxedError>;
}

/// How a run returned.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The run has ended.
    Ended(End),
    /// The run can be resumed from its state.
    Stopped,
}

impl Engine<'_> {
    /// Runs rounds from `state` on, until the run ends or `sink` stops it. When the model diverges, the state is that of
    /// the last good round.
    pub fn run<W: World>(
        &self,
        world: &mut W,
        state: &mut State,
        sink: &mut dyn Sink<W::Receipt>,
    ) -> Result<Outcome, EngineError> {
        self.check(world, state)?;
        if state.round == 0 && state.evaluated.is_none() {
            // Devices may be those who evaluate.
            world.await_devices()?;
            let evaluated = world.evaluate(state.result());
            world.check_evaluation()?;
            match evaluated {
                Ok(metrics) => {
                    let estimated = world.estimated();
                    state.evaluated = Some(believed(&metrics, estimated.as_ref()));
                    let initial = Initial { secs: state.secs, metrics, estimated };
                    if sink.initial(initial, state).map_err(EngineError::Sink)? == Control::Stop {
                        return Ok(Outcome::Stopped);
                    }
                }
                Err(error) => return diverged(error, state),
            }
        }
        let mut buffers = RoundBuffers::default();
        loop {
            // Before the round and not after it: a resumed run ends where the first one did.
            if let Some(reason) = self.stop.reason(state) {
                return self.end(reason, world, state);
            }
            match self.round(world, state, &mut buffers)? {
                RoundOutcome::Done(record) => {
                    let receipt = world.close(state.round, state.secs)?;
                    state.stale = world.stale_models();
                    if sink.round(record, receipt, state).map_err(EngineError::Sink)? == Control::Stop {
                        return Ok(Outcome::Stopped);
                    }
                }
                RoundOutcome::Diverged(error) => return diverged(error, state),
            }
        }
    }

    /// Refuses settings that do not fit the world or the state before anything is trained.
    fn check<W: World>(&self, world: &W, state: &State) -> Result<(), EngineError> {
        let (planned, devices) = (self.schedule.usual().q().len(), self.fleet.len());
        if planned != devices {
            return Err(EngineError::OtherFleet { planned, devices });
        }
        if !self.optimiser.fits(&state.memory, state.model.as_slice().len()) {
            let remembered = state.memory.vectors().map(|(name, _)| name).collect();
            return Err(EngineError::OtherOptimiser { remembered, needed: self.optimiser.names() });
        }
        self.stop.check_metric(world.metrics())?;
        self.check_room(state.model.as_slice().len())
    }

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

    /// Ends a run. A last model that was not evaluated is evaluated now.
    fn end<W: World>(&self, reason: EndReason, world: &mut W, state: &State) -> Result<Outcome, EngineError> {
        let end = ended(reason, state, None);
        if state.evaluated.is_some() {
            return Ok(Outcome::Ended(end));
        }
        let evaluated = world.evaluate(state.result());
        world.check_evaluation()?;
        match evaluated {
            Ok(metrics) => Ok(Outcome::Ended(End { metrics, estimated: world.estimated(), ..end })),
            Err(error) => diverged(error, state),
        }
    }
}

/// The values that a stop rule may rely on.
pub(crate) fn believed(metrics: &Metrics, estimated: Option<&Estimated>) -> Metrics {
    Estimated::believed(metrics, estimated).clone()
}

fn ended(reason: EndReason, state: &State, detail: Option<String>) -> End {
    End {
        reason,
        rounds: state.round,
        secs: state.secs,
        metrics: Metrics::default(),
        estimated: None,
        test: Metrics::default(),
        detail,
    }
}

/// A model that diverged ends the run. Any other failure is an error.
fn diverged(error: LearnError, state: &State) -> Result<Outcome, EngineError> {
    match error {
        LearnError::Diverged { .. } | LearnError::NotFinite { .. } => {
            let detail = format!("in round {}: {error}", state.round + 1);
            Ok(Outcome::Ended(ended(EndReason::Diverged, state, Some(detail))))
        }
        error => Err(error.into()),
    }
}
