//! The simulated world: the virtual clock, the coins, and what becomes of a round.

use std::collections::VecDeque;
use std::sync::Arc;

use fedflip_engine::{EngineError, Event, Order, Update, World};
use fedflip_fleet::bandwidth::{self, Entrant};
use fedflip_fleet::{CohortSampler, Fleet, ModelVector, Purpose, StreamKey};
use fedflip_learn::{Encoding, Learner, Metrics, TrainKey};
use fedflip_plan::{Plan, Schedule};

use crate::conditions::Conditions;
use crate::crew::{Crew, Trained, worker_died};

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
/// The fate of every device in a round follows from the seed, so it is settled when the round is dispatched,
/// and the clock moves then: nobody trains for nothing. Updates come as they are ready, not in the order of
/// virtual time; the engine adds them up in device order anyway.
pub struct SimWorld<'w, 'c, L: Learner> {
    crew: &'w mut Crew<'c, L>,
    fleet: &'w Fleet,
    coins: Box<dyn Coins + 'w>,
    conditions: Conditions,
    encoding: Encoding,
    seed: u64,
    secs: f64,
    cohort: Vec<usize>,
    /// Of the devices that are trained in this round, in device order: how long they take.
    took_secs: Vec<(usize, [f64; 2])>,
    schedule: &'w Schedule,
    /// Whether a device's learning rate has its weight as a factor.
    weighs_rates: bool,
    /// Losses, and at last the deadline, if it was needed.
    settled: VecDeque<Event>,
}

impl<'w, 'c, L: Learner> SimWorld<'w, 'c, L> {
    /// Who takes part is drawn by the schedule from the run's own streams; `secs` is the time at which the run
    /// begins, or goes on.
    pub fn new(
        crew: &'w mut Crew<'c, L>,
        fleet: &'w Fleet,
        schedule: &'w Schedule,
        conditions: Conditions,
        (seed, secs): (u64, f64),
    ) -> Self {
        let (cohort, took_secs, settled) = (Vec::new(), Vec::new(), VecDeque::new());
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
        }
    }

    /// With other coins, such as those that real devices would have flipped.
    pub fn with_coins(self, coins: impl Coins + 'w) -> Self {
        Self { coins: Box::new(coins), ..self }
    }

    /// Every device's learning rate is multiplied by its weight a/q, as in the code of the paper's authors.
    pub fn with_weighed_rates(self) -> Self {
        Self { weighs_rates: true, ..self }
    }

    /// With updates that are sent in another way than as they are.
    pub fn with_encoding(self, encoding: Encoding) -> Self {
        Self { encoding, ..self }
    }
}

impl<L: Learner> World for SimWorld<'_, '_, L> {
    fn now_secs(&self) -> f64 {
        self.secs
    }

    fn open(
        &mut self,
        round: u64,
        _model: &Arc<ModelVector>,
        entrants: &mut Vec<Entrant>,
    ) -> Result<(), EngineError> {
        self.coins.flip(round, &mut self.cohort);
        entrants.clear();
        entrants.extend(bandwidth::entrants(self.fleet, &self.cohort));
        for Entrant { device, job } in entrants {
            job.load_mbit *= self.conditions.fade(self.seed, round, *device);
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

        // The longest one first, so that none is left when the others are done; equals in device order. Only
        // among neighbours: an update waits in memory for those before it.
        let mut devices: Vec<usize> = self.took_secs.iter().map(|&(device, _)| device).collect();
        for neighbours in devices.chunks_mut(NEIGHBOURS) {
            neighbours.sort_by_key(|&device| std::cmp::Reverse(self.crew.learner().relative_cost(device)));
        }
        let weights = self.schedule.plan(round).aggregation_weights();
        let factor = |device: usize| if self.weighs_rates { weights[device] as f32 } else { 1.0 };
        let key = |device| TrainKey { rate_factor: factor(device), ..TrainKey::new(seed, round, device) };
        self.crew.train(model, self.encoding, devices.into_iter().map(key));
        Ok(())
    }

    fn next_event(&mut self) -> Result<Event, EngineError> {
        // The deadline comes after everybody who makes it.
        if matches!(self.settled.front(), Some(Event::Lost { .. }))
            && let Some(event) = self.settled.pop_front()
        {
            return Ok(event);
        }
        match self.crew.next_trained() {
            Some(Trained { device, delta, train_loss: Ok(train_loss) }) => {
                let found = self.took_secs.binary_search_by_key(&device, |&(device, _)| device);
                let took_secs = found.map_or([0.0; 2], |at| self.took_secs[at].1);
                Ok(Event::Update(Update { device, delta, train_loss, took_secs }))
            }
            Some(Trained { device, delta, train_loss: Err(error) }) => {
                self.crew.recycle(delta);
                Ok(Event::Failed { device, error })
            }
            None => self.settled.pop_front().ok_or_else(worker_died),
        }
    }

    fn recycle(&mut self, delta: Vec<f32>) {
        self.crew.recycle(delta);
    }

    fn evaluate(&mut self, model: &Arc<ModelVector>) -> Result<Metrics, EngineError> {
        self.crew.evaluate(model)
    }
}
