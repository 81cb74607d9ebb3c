//! A round, its steps numbered as in the paper's Algorithm 1.

use std::sync::Arc;

use fedflip_fleet::ModelVector;
use fedflip_fleet::bandwidth::{self, Allocation, Entrant};
use fedflip_fleet::deadline::{self, Deadline};
use fedflip_learn::LearnError;
use fedflip_record::{Lost, Round};

use crate::aggregate::{Aggregator, Rule};
use crate::aggregation::Aggregation;
use crate::error::EngineError;
use crate::optimiser::{Memory, Optimiser};
use crate::run::Engine;
use crate::state::State;
use crate::world::{Event, Order, Update, World};

/// Memory that rounds use again.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    entrants: Vec<Entrant>,
    aggregator: Aggregator,
    /// Of the places of the cohort.
    reports: Vec<Report>,
    spare: Spare,
}

/// The model, and what the server remembers with it.
#[derive(Debug)]
struct Turn {
    model: Arc<ModelVector>,
    memory: Memory,
}

impl Turn {
    fn result(&self) -> &Arc<ModelVector> {
        self.memory.average().unwrap_or(&self.model)
    }
}

/// The memory of the turn before last: models take turns, so that the last good one is never overwritten.
#[derive(Debug, Default)]
struct Spare(Option<Turn>);

impl Spare {
    /// What comes of the state and the sum of the updates, in memory of its own, and whether all of it are
    /// finite numbers.
    fn turn(&mut self, optimiser: &Optimiser, state: &State, step: Option<&[f32]>) -> (Turn, bool) {
        let mut next = self.0.take().unwrap_or_else(|| Turn {
            model: Arc::new(ModelVector::clone(&state.model)),
            memory: state.memory.room(),
        });
        // A copy only if somebody still looks at it.
        let to = (Arc::make_mut(&mut next.model), &mut next.memory);
        let finite = optimiser.advance(state.round + 1, (&state.model, &state.memory), step, to);
        (next, finite)
    }

    fn keep(&mut self, turn: Turn) {
        self.0 = Some(turn);
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Report {
    Awaited,
    Arrived { train_loss: f64, took_secs: [f64; 2] },
    Lost(&'static str),
}

/// How a round went.
#[derive(Debug)]
pub(crate) enum Went {
    /// The state is that of the next one.
    Well(Round),
    /// A device, or the model, left the numbers; the state is as before the round.
    Diverged(LearnError),
}

impl Engine<'_> {
    /// One round of Algorithm 1: from x_r to x_{r+1}.
    pub(crate) fn round<W: World>(
        &self,
        world: &mut W,
        state: &mut State,
        desk: &mut Desk,
    ) -> Result<Went, EngineError> {
        let round = state.round + 1;
        let start_secs = world.now_secs();

        // Lines 2–3, sampling: every device flips its own coin; whoever takes part says so.
        world.open(round, &state.model, &mut desk.entrants)?;
        let deadline_secs = self.deadline_secs.or_else(|| world.deadline_secs(&desk.entrants));
        let deadline = deadline_secs.map(|secs| Deadline { secs, margin: self.deadline_margin });
        let mut allocation = deadline::divide_by(&desk.entrants, self.band, self.division, deadline);

        // Line 4, computation, and line 5, communication: all at once, each with its share of the band.
        world.dispatch(Order { round, model: &state.model, allocation: &allocation, deadline_secs })?;
        if let Some(error) = self.collect(world, &mut allocation, state, desk)? {
            return Ok(Went::Diverged(error));
        }
        let secs = world.now_secs();

        // Line 7, aggregation: x_{r+1} = x_r + Σ (a_n/q_n) Δ_n, over those who took part and reported; or what
        // else the server makes of that sum, or another sum.
        let step = desk.aggregator.step();
        let moved = if step.is_none() && self.optimiser.is_plain() {
            None
        } else {
            match desk.spare.turn(&self.optimiser, state, step) {
                (_, false) => {
                    return Ok(Went::Diverged(LearnError::NotFinite { what: "model", value: f64::NAN }));
                }
                (turn, true) => Some(turn),
            }
        };

        // Line 8, synchronisation, is the model of the next order. What remains is to look at it.
        let evaluated = if !self.schedule.evaluates(round) {
            None
        } else if moved.is_none() && state.evaluated.is_some() {
            // Nothing has changed since.
            state.evaluated
        } else {
            match world.evaluate(moved.as_ref().map_or_else(|| state.result(), Turn::result)) {
                Ok(metrics) => Some(metrics),
                Err(EngineError::Learn(error @ LearnError::NotFinite { .. })) => {
                    return Ok(Went::Diverged(error));
                }
                Err(error) => return Err(error),
            }
        };
        let record = self.record(round, [start_secs, secs], &allocation, desk);
        let (loss, accuracy) = evaluated.map(|metrics| (metrics.loss, metrics.accuracy)).unzip();
        state.norms.take(&record);
        (state.round, state.secs) = (round, secs);
        if let Some(Turn { model, memory }) = moved {
            let model = std::mem::replace(&mut state.model, model);
            let memory = std::mem::replace(&mut state.memory, memory);
            desk.spare.keep(Turn { model, memory });
            // An evaluation is of one model: that of the last one says nothing about this one.
            state.evaluated = None;
        }
        state.evaluated = evaluated.or(state.evaluated);
        Ok(Went::Well(Round { loss, accuracy, ..record }))
    }

    /// Waits until everybody who takes part is accounted for, adding up updates in device order. Gives the
    /// first device's reason, in that order, if any could not train.
    fn collect<W: World>(
        &self,
        world: &mut W,
        allocation: &mut Allocation,
        state: &State,
        desk: &mut Desk,
    ) -> Result<Option<LearnError>, EngineError> {
        let Desk { aggregator, reports, .. } = desk;
        let shares = &allocation.shares;
        reports.clear();
        reports.resize(shares.len(), Report::Awaited);
        aggregator.begin(state.model.as_slice().len(), Rule::of(self.aggregation, &state.norms));
        let mut failed: Option<(usize, LearnError)> = None;
        let weights = self.schedule.plan(state.round + 1).aggregation_weights();
        let weight = |place: usize| match self.aggregation {
            Aggregation::CohortMean => 1.0 / shares.len() as f32,
            _ => weights[shares[place].device] as f32,
        };
        while aggregator.settled() < shares.len() {
            let (device, report, delta) = match world.next_event()? {
                Event::Update(Update { device, delta, train_loss, took_secs }) => {
                    (device, Report::Arrived { train_loss, took_secs }, Some(delta))
                }
                Event::Lost { device, reason } => (device, Report::Lost(reason), None),
                Event::Failed { device, error } => {
                    if failed.as_ref().is_none_or(|(other, _)| device < *other) {
                        failed = Some((device, error));
                    }
                    (device, Report::Lost("failed"), None)
                }
                Event::Deadline => {
                    // Whoever is awaited still will not be heard.
                    let late =
                        reports.iter_mut().enumerate().filter(|(_, report)| **report == Report::Awaited);
                    for (place, report) in late {
                        *report = Report::Lost("deadline");
                        aggregator.take(place, None, weight, |delta| world.recycle(delta));
                    }
                    continue;
                }
            };
            // Whoever is not awaited (no longer, or never was) is not heard.
            let Ok(place) = shares.binary_search_by_key(&device, |share| share.device) else { continue };
            if reports[place] == Report::Awaited {
                reports[place] = report;
                aggregator.take(place, delta, weight, |delta| world.recycle(delta));
            }
        }
        aggregator.finish(|delta| world.recycle(delta));
        for (share, report) in allocation.shares.iter_mut().zip(reports) {
            if let Report::Arrived { took_secs, .. } = report {
                [share.compute_secs, share.upload_secs] = *took_secs;
            }
        }
        Ok(failed.map(|(_, error)| error))
    }

    fn record(
        &self,
        round: u64,
        [start_secs, end_secs]: [f64; 2],
        allocation: &Allocation,
        desk: &Desk,
    ) -> Round {
        let shares = &allocation.shares;
        let losses = || {
            desk.reports.iter().filter_map(|report| match report {
                Report::Arrived { train_loss, .. } => Some(*train_loss),
                _ => None,
            })
        };
        let reported = losses().count();
        let lost = shares.iter().zip(&desk.reports).filter_map(|(share, report)| match report {
            Report::Lost(reason) => Some(Lost { device: share.device, reason: (*reason).to_owned() }),
            _ => None,
        });
        // What the fleet and the shares say already needs no second place.
        let usual = shares.iter().zip(&desk.entrants).all(|(share, entrant)| {
            let nominal = bandwidth::entrants(self.fleet, &[share.device]).next();
            nominal == Some(*entrant) && share.compute_secs.to_bits() == entrant.job.compute_secs.to_bits()
        });
        let unusual = |secs: fn(&bandwidth::Share) -> f64| {
            if usual { Vec::new() } else { shares.iter().map(|share| secs(share) as f32).collect() }
        };
        Round {
            round,
            start_secs,
            round_secs: end_secs - start_secs,
            cohort: shares.iter().map(|share| share.device).collect(),
            mbps: shares.iter().map(|share| share.mbps as f32).collect(),
            compute_secs: unusual(|share| share.compute_secs),
            upload_secs: unusual(|share| share.upload_secs),
            lost: lost.collect(),
            update_norm: self.aggregation.remembers_norms().then(|| desk.aggregator.median_norm()).flatten(),
            train_loss: (reported > 0).then(|| losses().sum::<f64>() / reported as f64),
            loss: None,
            accuracy: None,
        }
    }
}
