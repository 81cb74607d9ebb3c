//! The simulated world: the virtual clock, the coins, and the events of a round.

use std::collections::VecDeque;
use std::sync::Arc;

use fedflip_engine::{Cohort, EngineError, Event, Order, Update, World};
use fedflip_fleet::{CohortSampler, Fleet, Metrics, ModelVector, Purpose, StreamKey, bandwidth};
use fedflip_learn::{Crew, Encoding, LearnError, Metric, TrainKey, Trained};
use fedflip_plan::{Plan, Schedule};

use crate::conditions::Conditions;

/// Devices among which the longest is trained first.
const NEIGHBOURS: usize = 64;

/// The coins of all devices.
pub trait Coins {
    /// Writes who takes part in a round, ascending.
    fn flip(&mut self, round: u64, cohort: &mut Vec<usize>);
}

/// Drawn from the run's seed, at the cost of the cohort.
struct SeededCoins<'w> {
    schedule: &'w Schedule,
    usual: CohortSampler,
    quiet: Option<CohortSampler>,
    seed: u64,
}

impl<'w> SeededCoins<'w> {
    fn new(schedule: &'w Schedule, seed: u64) -> Self {
        let (usual, quiet) = (schedule.usual().sampler(), schedule.quiet().map(Plan::sampler));
        Self { schedule, usual, quiet, seed }
    }
}

impl Coins for SeededCoins<'_> {
    fn flip(&mut self, round: u64, cohort: &mut Vec<usize>) {
        let coins = StreamKey { seed: self.seed, purpose: Purpose::Cohort, round };
        let quiet = self.quiet.as_ref().filter(|_| self.schedule.is_quiet(round));
        quiet.unwrap_or(&self.usual).draw(&mut coins.shared(), cohort);
    }
}

/// A world whose devices are trained by a crew and timed by a fleet.
///
/// The fate of every device in a round follows from the seed, so it is settled when the round is dispatched, and the clock
/// moves then: devices whose update would be lost are not trained. Updates come as they are ready, not in the order of
/// virtual time; the engine adds them up in device order anyway.
pub struct SimWorld<'w> {
    crew: &'w mut dyn Crew,
    fleet: &'w Fleet,
    coins: Box<dyn Coins + 'w>,
    conditions: Conditions,
    encoding: Encoding,
    seed: u64,
    secs: f64,
    cohort: Vec<usize>,
    /// The devices that are trained in this round, in device order, with the seconds of computation and upload.
    took_secs: Vec<(usize, [f64; 2])>,
    schedule: &'w Schedule,
    /// Whether a device's learning rate has its weight as a factor.
    weighs_rates: bool,
    /// Lost devices, and at last the deadline if a device misses it.
    settled: VecDeque<Event>,
    /// The trainings of the round.
    keys: Vec<TrainKey>,
}

impl<'w> SimWorld<'w> {
    /// Draws cohorts by the schedule from the run's own random streams. The clock starts at `secs`.
    pub fn new(
        crew: &'w mut dyn Crew,
        fleet: &'w Fleet,
        schedule: &'w Schedule,
        conditions: Conditions,
        (seed, secs): (u64, f64),
    ) -> Self {
        let (cohort, took_secs, settled, keys) = (Vec::new(), Vec::new(), VecDeque::new(), Vec::new());
        let coins = Box::new(SeededCoins::new(schedule, seed));
        let (encoding, weighs_rates) = (Encoding::default(), false);
        Self {
            crew,
            fleet,
            coins,
            conditions,
            encoding,
            schedule,
            weighs_rates,
            seed,
            secs,
            cohort,
            took_secs,
            settled,
            keys,
        }
    }

    /// Uses other coins, such as those of real devices.
    pub fn with_coins(self, coins: impl Coins + 'w) -> Self {
        Self { coins: Box::new(coins), ..self }
    }

    /// Every device's learning rate is multiplied by its weight a/q, as in the code of the paper's authors.
    pub fn with_weighed_rates(self) -> Self {
        Self { weighs_rates: true, ..self }
    }

    /// Encodes updates before they are sent.
    pub fn with_encoding(self, encoding: Encoding) -> Self {
        Self { encoding, ..self }
    }
}

impl World for SimWorld<'_> {
    type Receipt = ();

    fn now_secs(&self) -> f64 {
        self.secs
    }

    fn metrics(&self) -> &[Metric] {
        self.crew.metrics()
    }

    fn open(
        &mut self,
        round: u64,
        _model: &Arc<ModelVector>,
        cohort: &mut Cohort,
    ) -> Result<(), EngineError> {
        self.coins.flip(round, &mut self.cohort);
        let weights = self.schedule.plan(round).aggregation_weights();
        cohort.clear();
        for mut entrant in bandwidth::entrants(self.fleet, &self.cohort) {
            entrant.job.load_mbit *= self.conditions.fade(self.seed, round, entrant.device);
            let weight = weights[entrant.device];
            cohort.push(entrant, weight);
        }
        Ok(())
    }

    fn dispatch(&mut self, order: Order<'_>) -> Result<(), EngineError> {
        let Order { round, model, allocation, deadline_secs } = order;
        let (conditions, seed) = (self.conditions, self.seed);
        self.took_secs.clear();
        self.settled.clear();
        let (mut last_secs, mut late) = (0.0_f64, false);
        for share in &allocation.shares {
            let compute_secs = share.compute_secs * conditions.jitter(seed, round, share.device);
            let begin_secs = compute_secs.max(share.upload_from_secs);
            let finish_secs = begin_secs + share.upload_secs;
            match conditions.vanishes_after(seed, round, share.device) {
                Some(part) if deadline_secs.is_none_or(|deadline| part * finish_secs <= deadline) => {
                    last_secs = last_secs.max(part * finish_secs);
                    self.settled.push_back(Event::Lost { device: share.device, reason: "vanished" });
                }
                Some(_) => late = true,
                None if deadline_secs.is_some_and(|deadline| finish_secs > deadline) => late = true,
                None => {
                    last_secs = last_secs.max(finish_secs);
                    self.took_secs.push((share.device, [begin_secs, share.upload_secs]));
                }
            }
        }
        let as_planned = conditions.compute_jitter <= 0.0 && self.took_secs.len() == allocation.shares.len();
        let round_secs = match deadline_secs {
            Some(deadline_secs) if late => {
                self.settled.push_back(Event::Deadline);
                deadline_secs
            }
            _ if as_planned => allocation.round_secs,
            _ => last_secs,
        };
        self.secs += round_secs + conditions.overhead_secs;

        let weights = self.schedule.plan(round).aggregation_weights();
        let factor = |device: usize| if self.weighs_rates { weights[device] as f32 } else { 1.0 };
        let key = |device| TrainKey { rate_factor: factor(device), ..TrainKey::new(seed, round, device) };
        self.keys.clear();
        self.keys.extend(self.took_secs.iter().map(|&(device, _)| key(device)));
        // Long trainings begin first, so that none is left when the others are done; equals stay in device order. Only
        // neighbours change places: an update waits in memory for those before it.
        for neighbours in self.keys.chunks_mut(NEIGHBOURS) {
            neighbours.sort_by_key(|key| std::cmp::Reverse(self.crew.relative_cost(key.device)));
        }
        self.crew.train(model, self.encoding, &self.keys)?;
        Ok(())
    }

    fn next_event(&mut self) -> Result<Event, EngineError> {
        // The deadline comes after everybody who makes it.
        if matches!(self.settled.front(), Some(Event::Lost { .. }))
            && let Some(event) = self.settled.pop_front()
        {
            return Ok(event);
        }
        match self.crew.next_trained()? {
            Some(Trained { device, delta, train_loss: Ok(train_loss) }) => {
                let found = self.took_secs.binary_search_by_key(&device, |&(device, _)| device);
                let took_secs = found.map_or([0.0; 2], |at| self.took_secs[at].1);
                Ok(Event::Update(Update { device, delta, train_loss, took_secs }))
            }
            Some(Trained { device, delta, train_loss: Err(error) }) => {
                self.crew.recycle(delta);
                Ok(Event::Failed { device, error })
            }
            None => {
                let nothing = || EngineError::World("a device of the cohort was not trained".into());
                self.settled.pop_front().ok_or_else(nothing)
            }
        }
    }

    fn recycle(&mut self, delta: Vec<f32>) {
        self.crew.recycle(delta);
    }

    fn evaluate(&mut self, model: &Arc<ModelVector>) -> Result<Metrics, LearnError> {
        self.crew.evaluate(model)
    }

    fn close(&mut self, _round: u64, _secs: f64) -> Result<(), EngineError> {
        Ok(())
    }
}
