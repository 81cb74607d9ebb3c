//! A round, its steps numbered as in the paper's Algorithm 1.

use std::sync::Arc;

use fedflip_fleet::bandwidth::{self, Allocation, DeviceJob};
use fedflip_fleet::{Metrics, ModelVector};
use fedflip_learn::LearnError;
use fedflip_record::{Estimated, Lost, Round};

use crate::aggregate::{Aggregator, Rule};
use crate::aggregation::Aggregation;
use crate::divided::Divided;
use crate::error::EngineError;
use crate::lead::Lead;
use crate::optimiser::{Memory, Optimiser};
use crate::run::{Engine, believed};
use crate::state::State;
use crate::world::{Cohort, Event, Order, Update, World};

/// Memory that rounds use again.
#[derive(Debug, Default)]
pub(crate) struct RoundBuffers {
    cohort: Cohort,
    /// The work of the cohort, counted from the start of the round, if downloads or answers come first.
    delayed: Vec<DeviceJob>,
    aggregator: Aggregator,
    /// One for each device of the cohort.
    reports: Vec<Report>,
    spare: SpareBuffers,
}

/// A model and the optimiser's vectors that belong to it.
#[derive(Debug)]
struct ModelBuffers {
    model: Arc<ModelVector>,
    memory: Memory,
}

impl ModelBuffers {
    fn result(&self) -> &Arc<ModelVector> {
        self.memory.average().unwrap_or(&self.model)
    }
}

/// The buffers of the model before the last one: two sets take turns, so that the last good model is never overwritten.
#[derive(Debug, Default)]
struct SpareBuffers(Option<ModelBuffers>);

impl SpareBuffers {
    /// The next model, and whether all its numbers are finite.
    fn next_model(
        &mut self,
        optimiser: &Optimiser,
        state: &State,
        step: Option<&[f32]>,
    ) -> (ModelBuffers, bool) {
        let mut next = self.0.take().unwrap_or_else(|| ModelBuffers {
            model: Arc::new(ModelVector::clone(&state.model)),
            memory: state.memory.room(),
        });
        // A copy is made only if somebody still holds the model.
        let to = (Arc::make_mut(&mut next.model), &mut next.memory);
        let finite = optimiser.advance(state.round + 1, (&state.model, &state.memory), step, to);
        (next, finite)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Report {
    Awaited,
    Arrived { train_loss: f64, took_secs: [f64; 2] },
    Lost(&'static str),
}

/// How a round ended.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub(crate) enum RoundOutcome {
    /// The state is that of the next round.
    Done(Round),
    /// An update, the model or its loss became NaN or infinite; the state is as before the round.
    Diverged(LearnError),
}

impl Engine<'_> {
    /// One round of Algorithm 1: from x_r to x_{r+1}.
    pub(crate) fn round<W: World>(
        &self,
        world: &mut W,
        state: &mut State,
        buffers: &mut RoundBuffers,
    ) -> Result<RoundOutcome, EngineError> {
        let round = state.round + 1;
        world.await_devices()?;
        let start_secs = world.now_secs();

        // Lines 2–3, sampling: every device flips its own coin, and says so if it takes part.
        match world.open(round, &state.model, &mut buffers.cohort) {
            // A device that was asked could not train.
            Err(EngineError::Learn(error)) => return Ok(RoundOutcome::Diverged(error)),
            opened => opened?,
        }
        let Divided { mut allocation, deadline_secs, lead, overhead_secs } =
            self.divided(world, &buffers.cohort, &mut buffers.delayed);

        // Line 4, computation, and line 5, communication: all at once, each with its share of the bandwidth.
        let model = &state.model;
        let order = Order { round, model, allocation: &allocation, deadline_secs, lead, overhead_secs };
        world.dispatch(order)?;
        if let Some(error) = self.collect(world, &mut allocation, state, buffers)? {
            return Ok(RoundOutcome::Diverged(error));
        }
        let secs = world.now_secs();

        // Line 7, aggregation: x_{r+1} = x_r + Σ (a_n/q_n) Δ_n over the devices that reported; or what another optimiser
        // makes of this sum, or another sum.
        let moved = match self.moved(state, buffers) {
            Ok(moved) => moved,
            Err(error) => return Ok(RoundOutcome::Diverged(error)),
        };

        // Line 8, synchronisation, is the model of the next order. What remains is the evaluation.
        let evaluated = match self.evaluated(world, state, moved.as_ref()) {
            Ok(evaluated) => evaluated,
            Err(error @ LearnError::NotFinite { .. }) => return Ok(RoundOutcome::Diverged(error)),
            Err(error) => return Err(error.into()),
        };
        let times = ([start_secs, secs], lead);
        let record = self.record(round, times, &allocation, buffers, world.observes());
        state.norms.take(&record);
        world.observe(&record);
        (state.round, state.secs) = (round, secs);
        if let Some(ModelBuffers { model, memory }) = moved {
            let model = std::mem::replace(&mut state.model, model);
            let memory = std::mem::replace(&mut state.memory, memory);
            buffers.spare.0 = Some(ModelBuffers { model, memory });
            // An evaluation belongs to one model.
            state.evaluated = None;
        }
        let Some((metrics, estimated)) = evaluated else { return Ok(RoundOutcome::Done(record)) };
        state.evaluated = Some(believed(&metrics, estimated.as_ref()));
        Ok(RoundOutcome::Done(Round { metrics, estimated, ..record }))
    }

    /// The model after the step of a round; none if it is still the same. A model that is not finite is an error.
    fn moved(&self, state: &State, buffers: &mut RoundBuffers) -> Result<Option<ModelBuffers>, LearnError> {
        let step = buffers.aggregator.step();
        if step.is_none() && self.optimiser.is_plain() {
            return Ok(None);
        }
        match buffers.spare.next_model(&self.optimiser, state, step) {
            (next, true) => Ok(Some(next)),
            (_, false) => Err(LearnError::NotFinite { what: "model".into(), value: f64::NAN }),
        }
    }

    /// The evaluation after a round, if the schedule has one. A model that did not change is not evaluated again.
    fn evaluated<W: World>(
        &self,
        world: &mut W,
        state: &State,
        moved: Option<&ModelBuffers>,
    ) -> Result<Option<(Metrics, Option<Estimated>)>, LearnError> {
        if !self.schedule.evaluates(state.round + 1) {
            return Ok(None);
        }
        let metrics = match (moved, &state.evaluated) {
            // What is known of estimates are their limits, which are no metrics of the model.
            (None, Some(known)) if !world.estimates() => return Ok(Some((known.clone(), None))),
            (None, _) => world.evaluate(state.result())?,
            (Some(moved), _) => world.evaluate(moved.result())?,
        };
        Ok(Some((metrics, world.estimated())))
    }

    /// Waits until every device of the cohort is accounted for, and adds up updates in device order. Returns the error of
    /// the first device, in that order, that could not train.
    fn collect<W: World>(
        &self,
        world: &mut W,
        allocation: &mut Allocation,
        state: &State,
        buffers: &mut RoundBuffers,
    ) -> Result<Option<LearnError>, EngineError> {
        let RoundBuffers { cohort, aggregator, reports, .. } = buffers;
        let shares = &allocation.shares;
        reports.clear();
        reports.resize(shares.len(), Report::Awaited);
        aggregator.begin(state.model.as_slice().len(), Rule::of(self.aggregation, &state.norms));
        let mut failed: Option<(usize, LearnError)> = None;
        let weight = |place: usize| match self.aggregation {
            Aggregation::CohortMean => 1.0 / shares.len() as f32,
            _ => cohort.weights()[place] as f32,
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
                    // Devices that are still awaited are lost.
                    let late =
                        reports.iter_mut().enumerate().filter(|(_, report)| **report == Report::Awaited);
                    for (place, report) in late {
                        *report = Report::Lost("deadline");
                        aggregator.take(place, None, weight, |delta| world.recycle(delta));
                    }
                    continue;
                }
            };
            // A report that nobody waits for (no longer, or never) is ignored.
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
        ([start_secs, end_secs], lead): ([f64; 2], Lead),
        allocation: &Allocation,
        buffers: &RoundBuffers,
        with_losses: bool,
    ) -> Round {
        let shares = &allocation.shares;
        let losses = || {
            buffers.reports.iter().filter_map(|report| match report {
                Report::Arrived { train_loss, .. } => Some(*train_loss),
                _ => None,
            })
        };
        let reported = losses().count();
        let lost = shares.iter().zip(&buffers.reports).filter_map(|(share, report)| match report {
            Report::Lost(reason) => Some(Lost { device: share.device, reason: (*reason).to_owned() }),
            _ => None,
        });
        // The record leaves out times that follow from the fleet and the shares.
        let mut worked = shares.iter().zip(buffers.cohort.device_jobs());
        let usual = buffers.cohort.lags().is_empty()
            && worked.all(|(share, device_job)| {
                let nominal = bandwidth::device_jobs(self.fleet, &[share.device]).next();
                nominal == Some(*device_job)
                    && share.compute_secs.to_bits() == (lead.secs() + device_job.job.compute_secs).to_bits()
            });
        let unusual = |secs: fn(&bandwidth::Share) -> f64| {
            if usual { Vec::new() } else { shares.iter().map(|share| secs(share) as f32).collect() }
        };
        Round {
            round,
            start_secs,
            round_secs: end_secs - start_secs,
            download_secs: lead.download_secs,
            asked_secs: lead.asked_secs,
            cohort: shares.iter().map(|share| share.device).collect(),
            mbps: shares.iter().map(|share| share.mbps as f32).collect(),
            compute_secs: unusual(|share| share.compute_secs),
            upload_secs: unusual(|share| share.upload_secs),
            lags: buffers.cohort.lags().to_vec(),
            lost: lost.collect(),
            update_norm: self
                .aggregation
                .remembers_norms()
                .then(|| buffers.aggregator.median_norm())
                .flatten(),
            train_loss: (reported > 0).then(|| losses().sum::<f64>() / reported as f64),
            train_losses: if with_losses { losses().collect() } else { Vec::new() },
            metrics: Metrics::default(),
            estimated: None,
        }
    }
}
