//! Local SGD with a [`Network`] on [`Shards`]: the learner that all of the paper's tasks use.
//!
//! `settings` has what a user may choose, `batches` has the samples of a batch, `step` has one step of the parameters, and `own_loss` has the loss of a model on a
//! device's own samples.

mod batches;
mod own_loss;
mod settings;
mod step;

use std::ops::Range;

use fedflip_fleet::{ModelVector, Purpose, StreamKey};
use rand::RngExt;
use rand_distr::{Distribution, Normal};

use crate::error::LearnError;
use crate::layer::Init;
use crate::learner::{Learner, TrainKey};
use crate::metrics::{self, Metric, Sums};
use crate::network::{Buffers, Network};
use crate::shards::{SampleBuffer, Shards};

pub use batches::picks;
pub use settings::{LocalOptions, SgdSettings, Steps};
use step::{LocalRound, Stepper};

/// Local SGD on every device's own samples.
pub struct SgdLearner {
    network: Network<f32>,
    shards: Box<dyn Shards>,
    settings: SgdSettings,
    stepper: Stepper,
    metrics: Vec<Metric>,
    /// The names of each class's sums, in the order of [`SgdWorker::classes`].
    class_sums: Vec<[String; 3]>,
}

/// Buffers of one worker: a resident model and what a step needs.
pub struct SgdWorker {
    buffers: Buffers<f32>,
    params: Vec<f32>,
    /// What momentum remembers of earlier steps; empty without momentum.
    velocity: Vec<f32>,
    labels: Vec<f32>,
    /// The device's samples, where they are made and not just looked up.
    made: SampleBuffer,
    /// Which of the device's samples are in the batch.
    picks: Vec<u32>,
    /// The device's samples in the order of this pass through them.
    order: Vec<u32>,
    /// Test samples of each class that are classified correctly, classified as the class, and of the class.
    classes: Vec<[u32; 3]>,
}

impl SgdLearner {
    /// Trains `network` on `shards`, whose samples must fit it.
    pub fn new(
        network: Network<f32>,
        shards: Box<dyn Shards>,
        settings: SgdSettings,
    ) -> Result<Self, LearnError> {
        let stepper = Stepper::new(network.params().iter().map(|(_, spec)| (spec.len(), spec.trained)));
        let prefixes = [metrics::TRUE_POSITIVE, metrics::PREDICTED, metrics::ACTUAL];
        let class_sums = |class| prefixes.map(|prefix| format!("{prefix}{class}"));
        let loss = network.loss().row();
        let classes = if loss.classifies { network.classes() } else { 0 };
        let class_sums = (0..classes).map(class_sums).collect();
        let metrics = (loss.metrics)();
        Ok(Self { network, shards, settings: settings.checked()?, stepper, metrics, class_sums })
    }

    /// Evaluates by these metrics instead of those of the network's loss.
    #[must_use]
    pub fn with_metrics(self, metrics: Vec<Metric>) -> Self {
        Self { metrics, ..self }
    }

    /// The network that is trained.
    pub fn network(&self) -> &Network<f32> {
        &self.network
    }

    /// The samples of all devices, and those on which models are evaluated.
    pub fn shards(&self) -> &dyn Shards {
        &*self.shards
    }

    fn check_len(&self, model: &[f32]) -> Result<(), LearnError> {
        let want = self.network.params_len();
        if model.len() == want { Ok(()) } else { Err(LearnError::WrongLength { have: model.len(), want }) }
    }
}

impl Learner for SgdLearner {
    type Worker = SgdWorker;

    fn devices(&self) -> usize {
        self.shards.devices()
    }

    fn samples(&self, device: usize) -> usize {
        self.shards.samples(device)
    }

    fn relative_cost(&self, device: usize) -> u64 {
        match self.settings.steps {
            Steps::Iterations(_) => self.shards.cost_of_opening(device),
            Steps::Epochs(_) => self.shards.samples(device) as u64,
        }
    }

    fn params_len(&self) -> usize {
        self.network.params_len()
    }

    fn initial_model(&self, seed: u64) -> ModelVector {
        let mut params = Vec::with_capacity(self.params_len());
        for (array, (_, spec)) in (0_u64..).zip(self.network.params()) {
            // A stream per array: adding a layer does not change how the others start.
            let mut stream = StreamKey { seed, purpose: Purpose::ModelInit, round: 0 }.device(array);
            let mut draw = || match spec.init {
                Init::Constant(value) => value,
                Init::Uniform(bound) => bound * (2.0 * stream.random::<f64>() - 1.0),
                Init::Normal(std_dev) => {
                    Normal::new(0.0, std_dev).map_or(0.0, |normal| normal.sample(&mut stream))
                }
            };
            params.extend((0..spec.len()).map(|_| draw() as f32));
        }
        ModelVector::new(params)
    }

    fn worker(&self) -> SgdWorker {
        let batch = self.settings.batch;
        SgdWorker {
            buffers: self.network.buffers(batch),
            params: vec![0.0; self.params_len()],
            velocity: vec![0.0; if self.settings.options.momentum > 0.0 { self.params_len() } else { 0 }],
            labels: vec![0.0; batch],
            made: SampleBuffer::default(),
            picks: vec![0; batch],
            order: Vec::with_capacity(self.shards.samples_max()),
            classes: vec![[0; 3]; self.class_sums.len()],
        }
    }

    fn train(
        &self,
        worker: &mut SgdWorker,
        model: &[f32],
        key: TrainKey,
        update: &mut [f32],
    ) -> Result<f64, LearnError> {
        self.check_len(model)?;
        self.check_len(update)?;
        let TrainKey { device, rate_factor, .. } = key;
        let samples = self.shards.samples(device);
        if samples == 0 {
            return Err(LearnError::NoSamples { device });
        }
        let (steps, last_batch) = self.settings.steps.of(samples, self.settings.batch);
        if steps == 0 {
            update.fill(0.0);
            return Ok(0.0);
        }
        let SgdWorker { buffers, params, velocity, labels, made, picks, order, .. } = worker;
        params.copy_from_slice(model);
        velocity.fill(0.0);
        let of_round = LocalRound { settings: self.settings, rate_factor, model };
        self.shards.open(device, made);
        let mut batches = batches::of(key, samples, order);
        let mut loss_sum = 0.0;
        for iteration in 1..=steps {
            let size = if iteration == steps { last_batch } else { self.settings.batch };
            let (picks, labels) = (&mut picks[..size], &mut labels[..size]);
            batches.fill(picks);
            let features = &mut buffers.input()[..picks.len() * self.network.input_len()];
            self.shards.write_batch(device, made, picks, features, labels);
            let loss = self.network.gradient(params, buffers, labels).loss_sum / labels.len() as f64;
            if !loss.is_finite() {
                return Err(LearnError::Diverged { device, iteration, what: "the loss", value: loss });
            }
            loss_sum += loss;
            self.stepper.step(of_round, params, velocity, &buffers.params_grad);
        }
        if !write_change(params, model, update) {
            return Err(LearnError::Diverged {
                device,
                iteration: steps,
                what: "the model",
                value: f64::NAN,
            });
        }
        Ok(loss_sum / steps as f64)
    }

    fn loss(&self, worker: &mut SgdWorker, model: &[f32], device: usize) -> Result<f64, LearnError> {
        self.own_loss(worker, model, device)
    }

    fn relative_loss_time(&self, device: usize) -> f64 {
        self.own_loss_time(device)
    }

    fn test_samples(&self) -> usize {
        self.shards.test_samples()
    }

    fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    fn score(
        &self,
        worker: &mut SgdWorker,
        model: &[f32],
        samples: Range<usize>,
        sums: &mut Sums,
    ) -> Result<(), LearnError> {
        self.check_len(model)?;
        let SgdWorker { buffers, labels, classes, .. } = worker;
        classes.fill([0; 3]);
        // Ranks take time, and few ask for them.
        let ranks = self.metrics.iter().any(|metric| metric.is_mean_of(metrics::CORRECT_AMONG_BEST));
        let (mut loss_sum, mut correct, mut among_best) = (0.0, 0, 0);
        for first in samples.clone().step_by(labels.len()) {
            let batch = labels.len().min(samples.end - first);
            let labels = &mut labels[..batch];
            let features = &mut buffers.input()[..batch * self.network.input_len()];
            self.shards.write_test_batch(first, features, labels);
            let score = self.network.evaluate(model, buffers, labels, |guess| {
                let mut count = |class: usize, at: usize| {
                    classes.get_mut(class).into_iter().for_each(|counts| counts[at] += 1);
                };
                count(guess.predicted, 1);
                count(guess.actual, 2);
                if guess.predicted == guess.actual {
                    count(guess.actual, 0);
                }
                among_best += usize::from(ranks && guess.is_among_best(metrics::BEST));
            });
            loss_sum += score.loss_sum;
            correct += score.correct;
        }
        sums.add(metrics::COUNT, samples.len() as f64);
        sums.add(metrics::LOSS, loss_sum);
        if !self.network.loss().row().classifies {
            sums.add(metrics::SQUARED_ERROR, loss_sum);
            return Ok(());
        }
        sums.add(metrics::CORRECT, correct as f64);
        for (names, counts) in self.class_sums.iter().zip(classes) {
            for (name, count) in names.iter().zip(counts) {
                sums.add(name, f64::from(*count));
            }
        }
        if ranks {
            sums.add(metrics::CORRECT_AMONG_BEST, among_best as f64);
        }
        Ok(())
    }
}

/// Writes `local` − `global` to `update`; whether all of it is finite.
fn write_change(local: &[f32], global: &[f32], update: &mut [f32]) -> bool {
    let mut finite = true;
    for ((update, local), global) in update.iter_mut().zip(local).zip(global) {
        *update = local - global;
        finite &= update.is_finite();
    }
    finite
}
