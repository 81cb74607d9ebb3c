//! The simulated world: the virtual clock, the coins, and the events of a round.

use std::collections::VecDeque;
use std::sync::Arc;

use fedflip_engine::{Cohort, EngineError, Event, Order, Update, World};
use fedflip_fleet::bandwidth::{self, DeviceJob};
use fedflip_fleet::{Conditions, Fleet, Metrics, ModelVector, RoundCosts};
use fedflip_learn::{Crew, Encoding, LearnError, Metric, TrainKey, Trained};
use fedflip_plan::Schedule;
use fedflip_plan::sampler::{Coins, Draw, Observed, Sampler};
use fedflip_record::Round;

mod feedback;
mod question;

use crate::fates::{Fates, Timing, VANISHED};
use crate::received::received;

/// Devices among which the longest is trained first.
const NEIGHBOURS: usize = 64;

/// A world whose devices are trained by a crew and timed by a fleet.
///
/// The fate of every device in a round follows from the seed, so it is settled when the round is dispatched, and the clock
/// moves then: devices whose update would be lost are not trained. Updates come as they are ready, not in the order of
/// virtual time; the engine adds them up in device order anyway.
pub struct SimWorld<'w> {
    crew: &'w mut dyn Crew,
    fleet: &'w Fleet,
    sampler: Box<dyn Sampler + 'w>,
    conditions: Conditions,
    encoding: Encoding,
    download_encoding: Encoding,
    seed: u64,
    secs: f64,
    draws: Vec<Draw>,
    /// The positions of `draws`.
    cohort: Vec<usize>,
    /// The devices that are trained in this round, in device order, with the seconds of computation and upload.
    took_secs: Vec<(usize, [f64; 2])>,
    /// Whether a device's learning rate has its weight as a factor.
    weighs_rates: bool,
    /// Lost devices, and at last the deadline if a device misses it.
    settled: VecDeque<Event>,
    /// The trainings of the round.
    keys: Vec<TrainKey>,
    /// The costs of rounds, where the sampler compares the times of devices.
    costs: Option<RoundCosts>,
    /// The devices that were asked in this round, and their answers.
    asked: Vec<usize>,
    answers: Vec<f64>,
    /// Whether the devices of the cohort have trained already, for their answers.
    has_trained: bool,
    /// The time of each device alone, if the sampler compares them.
    alone_secs: Vec<f64>,
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
        let (sampler, draws) = (Box::new(Coins::new(schedule)), Vec::new());
        let (encoding, download_encoding, weighs_rates) = (Encoding::default(), Encoding::default(), false);
        let (asked, answers, alone_secs) = (Vec::new(), Vec::new(), Vec::new());
        let (costs, has_trained) = (None, false);
        Self {
            crew,
            fleet,
            sampler,
            draws,
            conditions,
            encoding,
            download_encoding,
            weighs_rates,
            seed,
            secs,
            cohort,
            took_secs,
            settled,
            keys,
            costs,
            asked,
            answers,
            has_trained,
            alone_secs,
        }
    }

    /// Draws cohorts in another way, such as by the coins of real devices.
    pub fn with_sampler(self, sampler: impl Sampler + 'w) -> Self {
        Self { sampler: Box::new(sampler), ..self }
    }

    /// The costs of rounds, for samplers that compare the times of devices. Without them only compute times are compared.
    pub fn with_costs(self, costs: RoundCosts) -> Self {
        Self { costs: Some(costs), ..self }
    }

    /// Every device's learning rate is multiplied by its weight a/q, as in the code of the paper's authors.
    pub fn with_weighed_rates(self) -> Self {
        Self { weighs_rates: true, ..self }
    }

    /// Encodes updates before they are sent.
    pub fn with_encoding(self, encoding: Encoding) -> Self {
        Self { encoding, ..self }
    }

    /// Encodes the model before devices download it.
    pub fn with_download_encoding(self, download_encoding: Encoding) -> Self {
        Self { download_encoding, ..self }
    }

    /// The model as devices receive it, if that is not the model itself.
    fn received(&self, round: u64, model: &Arc<ModelVector>) -> Option<Arc<ModelVector>> {
        received(self.download_encoding, (self.seed, round), model)
    }

    /// The work of devices in a round, as far as the server knows it.
    fn device_jobs<'a>(&'a self, round: u64, devices: &'a [usize]) -> impl Iterator<Item = DeviceJob> + 'a {
        bandwidth::device_jobs(self.fleet, devices).map(move |mut device_job| {
            device_job.job.load_mbit *= self.conditions.fade(self.seed, round, device_job.device);
            device_job
        })
    }

    /// Begins the trainings of `self.keys`.
    fn train(&mut self, round: u64, model: &Arc<ModelVector>) -> Result<(), LearnError> {
        // Long trainings begin first, so that none is left when the others are done; equals stay in device order. Only
        // neighbours change places: an update waits in memory for those before it.
        for neighbours in self.keys.chunks_mut(NEIGHBOURS) {
            neighbours.sort_by_key(|key| std::cmp::Reverse(self.crew.relative_cost(key.device)));
        }
        let received = if self.keys.is_empty() { None } else { self.received(round, model) };
        self.crew.train(received.as_ref().unwrap_or(model), self.encoding, &self.keys)
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

    fn open(&mut self, round: u64, model: &Arc<ModelVector>, cohort: &mut Cohort) -> Result<(), EngineError> {
        cohort.clear();
        self.ask(round, model, cohort)?;
        self.compare_times();
        let observed = Observed { answers: &self.answers, alone_secs: &self.alone_secs };
        let drawn = self.sampler.try_draw(round, self.seed, &observed, &mut self.draws);
        drawn.map_err(|error| EngineError::World(error.into()))?;
        self.dismiss_surplus(round, cohort);
        self.cohort.clear();
        self.cohort.extend(self.draws.iter().map(|draw| draw.device));
        for (mut device_job, draw) in self.device_jobs(round, &self.cohort).zip(&self.draws) {
            if self.has_trained {
                device_job.job.compute_secs = 0.0;
            }
            cohort.push(device_job, draw.weight);
        }
        Ok(())
    }

    fn dispatch(&mut self, order: Order<'_>) -> Result<(), EngineError> {
        let Order { round, model, allocation, deadline_secs, lead, overhead_secs } = order;
        let seed = self.seed;
        let timing = Timing { round, allocation, deadline_secs, lead };
        let Fates { arrived, vanished, late, round_secs } = timing.fates(self.conditions, seed);
        self.took_secs = arrived;
        self.settled.clear();
        let lost = vanished.into_iter().map(|device| Event::Lost { device, reason: VANISHED });
        self.settled.extend(lost);
        self.settled.extend((!late.is_empty()).then_some(Event::Deadline));
        self.secs += timing.taken_secs(round_secs, overhead_secs);

        let weight = |device: usize| {
            let found = self.draws.binary_search_by_key(&device, |draw| draw.device);
            found.map_or(1.0, |at| self.draws[at].weight as f32)
        };
        let factor = |device: usize| if self.weighs_rates { weight(device) } else { 1.0 };
        let key = |device| TrainKey { rate_factor: factor(device), ..TrainKey::new(seed, round, device) };
        self.keys.clear();
        self.keys.extend(self.took_secs.iter().map(|&(device, _)| key(device)));
        Ok(self.train(round, model)?)
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

    fn observes(&self) -> bool {
        self.sampler.observes()
    }

    fn observe(&mut self, record: &Round) {
        if self.sampler.observes() {
            let reports = self.reports(record);
            self.sampler.observe(record.round, &reports);
        }
    }

    fn close(&mut self, _round: u64, _secs: f64) -> Result<(), EngineError> {
        Ok(())
    }
}
