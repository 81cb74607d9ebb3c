//! The simulated world without rounds: a round of the engine is a step of the server, and devices work across steps.

use std::collections::BTreeMap;
use std::sync::Arc;

use fedflip_engine::{Cohort, EngineError, Event, Order, State, Update, World};
use fedflip_fleet::{Metrics, ModelVector};
use fedflip_learn::{Crew, Encoding, LearnError, Metric, TrainKey, Trained};
use fedflip_plan::Buffered;

use crate::received::received;
use crate::timeline::{Ended, Step, Timeline};

/// A world whose devices work without rounds, are trained by a crew and timed by a [`Timeline`].
///
/// A device trains when its update is part of a step, from the model that it began with. So no update waits in memory, and
/// devices that vanish are not trained; the old models that are still in use are kept.
pub struct BufferedWorld<'w> {
    crew: &'w mut dyn Crew,
    timeline: Timeline<'w>,
    buffered: Buffered,
    encoding: Encoding,
    download_encoding: Encoding,
    seed: u64,
    /// The models as devices received them, by version: those from which updates are still to come.
    models: BTreeMap<u64, Arc<ModelVector>>,
    step: Step,
    /// How many devices of the step have been reported as lost.
    lost_reported: usize,
}

impl<'w> BufferedWorld<'w> {
    /// The world of a timeline, whose seed is `seed`.
    pub fn new(crew: &'w mut dyn Crew, timeline: Timeline<'w>, buffered: Buffered, seed: u64) -> Self {
        let (encoding, download_encoding) = (Encoding::default(), Encoding::default());
        let (models, step, lost_reported) = (BTreeMap::new(), Step::default(), 0);
        Self { crew, timeline, buffered, encoding, download_encoding, seed, models, step, lost_reported }
    }

    /// Encodes updates before they are sent.
    pub fn with_encoding(self, encoding: Encoding) -> Self {
        Self { encoding, ..self }
    }

    /// Encodes the model before devices download it.
    pub fn with_download_encoding(self, download_encoding: Encoding) -> Self {
        Self { download_encoding, ..self }
    }

    /// The events of the timeline so far; see [`Timeline::events`].
    pub fn events(&self) -> u64 {
        self.timeline.events()
    }

    /// Replays the timeline up to a state, and takes over its stale models; none if the state is not of this timeline.
    pub fn resumed(mut self, state: &State) -> Option<Self> {
        while self.timeline.steps() < state.round {
            self.timeline.next_step(&mut self.step);
        }
        let versions: Vec<u64> = self.timeline.versions().collect();
        let same = self.timeline.secs() == state.secs && versions.len() == state.stale.len();
        self.models = versions.into_iter().zip(state.stale.iter().cloned()).collect();
        same.then_some(self)
    }

    /// Begins the trainings of a step. Devices that began with the same model go to the crew together.
    fn train(&mut self) -> Result<(), EngineError> {
        let mut delivered: Vec<&Ended> = self.step.ended.iter().filter(|ended| ended.delivered).collect();
        // Long trainings begin first, so that none is left when the others are done; equals stay in device order.
        let cost = |ended: &Ended| self.crew.relative_cost(ended.device_job.device);
        delivered.sort_by_cached_key(|ended| (ended.version, std::cmp::Reverse(cost(ended))));
        for same_model in delivered.chunk_by(|a, b| a.version == b.version) {
            let Some(model) = same_model.first().and_then(|ended| self.models.get(&ended.version)) else {
                return Err(EngineError::World("a device began with a model that is gone".into()));
            };
            let key = |ended: &&Ended| TrainKey::new(self.seed, ended.task, ended.device_job.device);
            let keys: Vec<TrainKey> = same_model.iter().map(key).collect();
            self.crew.train(model, self.encoding, &keys)?;
        }
        Ok(())
    }
}

impl World for BufferedWorld<'_> {
    type Receipt = ();

    fn now_secs(&self) -> f64 {
        self.timeline.secs()
    }

    fn metrics(&self) -> &[Metric] {
        self.crew.metrics()
    }

    fn open(&mut self, round: u64, model: &Arc<ModelVector>, cohort: &mut Cohort) -> Result<(), EngineError> {
        let version = round - 1;
        let received = received(self.download_encoding, (self.seed, round), model);
        self.models.insert(version, received.unwrap_or_else(|| Arc::clone(model)));
        self.timeline.next_step(&mut self.step);
        self.lost_reported = 0;
        cohort.clear();
        for ended in &self.step.ended {
            let lag = version - ended.version;
            cohort.push_worked(ended.device_job, self.buffered.weight(lag), ended.share, lag);
        }
        Ok(())
    }

    fn dispatch(&mut self, _: Order<'_>) -> Result<(), EngineError> {
        self.train()?;
        // The crew has the models of this step; the others are kept for updates that are still to come.
        let mut versions = self.timeline.versions().peekable();
        self.models.retain(|version, _| {
            while versions.next_if(|used| used < version).is_some() {}
            versions.peek() == Some(version)
        });
        Ok(())
    }

    fn next_event(&mut self) -> Result<Event, EngineError> {
        let mut lost = self.step.ended.iter().filter(|ended| !ended.delivered);
        if let Some(ended) = lost.nth(self.lost_reported) {
            self.lost_reported += 1;
            return Ok(Event::Lost { device: ended.device_job.device, reason: "vanished" });
        }
        match self.crew.next_trained()? {
            Some(Trained { device, delta, train_loss: Ok(train_loss) }) => {
                let ended = &self.step.ended;
                let found = ended.binary_search_by_key(&device, |ended| ended.device_job.device);
                let share = found.ok().map(|at| ended[at].share);
                let took_secs = share.map_or([0.0; 2], |share| [share.compute_secs, share.upload_secs]);
                Ok(Event::Update(Update { device, delta, train_loss, took_secs }))
            }
            Some(Trained { device, delta, train_loss: Err(error) }) => {
                self.crew.recycle(delta);
                Ok(Event::Failed { device, error })
            }
            None => Err(EngineError::World("a device of the step was not trained".into())),
        }
    }

    fn recycle(&mut self, delta: Vec<f32>) {
        self.crew.recycle(delta);
    }

    fn evaluate(&mut self, model: &Arc<ModelVector>) -> Result<Metrics, LearnError> {
        self.crew.evaluate(model)
    }

    fn stale_models(&self) -> Vec<Arc<ModelVector>> {
        self.models.values().cloned().collect()
    }

    fn close(&mut self, _round: u64, _secs: f64) -> Result<(), EngineError> {
        Ok(())
    }
}
