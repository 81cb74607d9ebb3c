//! Synthetic(α, β), as in FedProx: data that every device makes for itself from the seed.
//!
//! Device n draws u ~ N(0, α) and B ~ N(0, β). Its true model is a softmax regression with weights and
//! biases ~ N(u, 1); its features are ~ N(v, Σ) with v ~ N(B, 1) and Σ diagonal, Σ_jj = j^−1.2. α makes the
//! devices' models differ, β their data. It holds 50 samples and a log-normal number (of mean 4 and
//! standard deviation 1, in logarithms) more, cut at 5,000. FedProx has a standard deviation of 2: one device
//! of a hundred then holds a seventh of all samples, and a uniform pilot learns little through its sampling variance.
//!
//! Each device has streams of its own, so one device's data can be made without the others'. Those of a small
//! federation are made once and held; of a large one nothing is held but a count per device, and a device's
//! samples are made when its turn comes. The test set is drawn from the devices in proportion to their
//! samples, so that its loss estimates the federation's objective.

use fedflip_fleet::{Purpose, StreamKey};
use rand_distr::{Distribution, LogNormal, StandardNormal};

use crate::error::LearnError;
use crate::shards::{SampleBuffer, Shards};

/// The number of values per sample.
pub const FEATURES: usize = 60;
/// The number of classes.
pub const CLASSES: usize = 10;
/// The fewest and the most samples of a device.
pub const SAMPLES_RANGE: [u32; 2] = [50, 5_000];

/// Samples that are held in memory, all devices together: 48 MB.
const HELD_MAX: usize = 200_000;

/// Of what a stream is: of the device's true model, its samples, their number.
#[derive(Clone, Copy)]
enum Part {
    Model = 0,
    Train = 1,
    Test = 2,
    Count = 3,
}

/// How different the devices are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// α: of the devices' true models.
    pub model: f64,
    /// β: of the devices' data.
    pub data: f64,
}

/// The synthetic data of a federation.
#[derive(Clone, Debug)]
pub struct Synthetic {
    spread: Spread,
    seed: u64,
    /// Samples of each device.
    counts: Vec<u32>,
    test: SampleBuffer,
    /// The samples of all devices, one device after the other, and where each one's start; none if they are
    /// too many.
    held: Option<(SampleBuffer, Vec<usize>)>,
}

impl Synthetic {
    /// Data for this number of devices, and test samples drawn from them.
    pub fn new(spread: Spread, devices: usize, test_samples: usize, seed: u64) -> Result<Self, LearnError> {
        for (name, value) in [("model_spread", spread.model), ("data_spread", spread.data)] {
            if !(0.0..=1e6).contains(&value) {
                return Err(LearnError::BadSetting { name, value, wanted: "a number from 0 to 1e6" });
            }
        }
        let (counts, test, held) = (Vec::new(), SampleBuffer::default(), None);
        let mut synthetic = Self { spread, seed, counts, test, held };
        synthetic.counts = (0..devices).map(|device| synthetic.count(device)).collect();
        synthetic.draw_test(test_samples);
        if synthetic.counts.iter().map(|&count| count as usize).sum::<usize>() <= HELD_MAX {
            synthetic.hold();
        }
        Ok(synthetic)
    }

    fn stream(&self, part: Part, device: usize) -> impl rand::Rng + use<> {
        StreamKey { seed: self.seed, purpose: Purpose::SyntheticData, round: part as u64 }
            .device(device as u64)
    }

    fn count(&self, device: usize) -> u32 {
        let [least, most] = SAMPLES_RANGE;
        let more = LogNormal::new(4.0, 1.0)
            .map_or(0.0, |log_normal| log_normal.sample(&mut self.stream(Part::Count, device)));
        least + (more as u32).min(most - least)
    }

    fn hold(&mut self) {
        let (mut samples, mut starts) = (SampleBuffer::default(), Vec::with_capacity(self.counts.len()));
        for device in 0..self.counts.len() {
            starts.push(samples.labels.len());
            self.append(device, Part::Train, self.samples(device), &mut samples);
        }
        self.held = Some((samples, starts));
    }

    /// Test sample k of K belongs to the device that holds training sample ⌊(k + ½)/K · total⌋.
    fn draw_test(&mut self, test_samples: usize) {
        let total: u64 = self.counts.iter().copied().map(u64::from).sum();
        let mut test = SampleBuffer::default();
        let (mut drawn, mut before) = (0, 0);
        for (device, &count) in self.counts.iter().enumerate() {
            before += u64::from(count);
            let wanted = (before as f64 / total as f64 * test_samples as f64 + 0.5) as usize;
            self.append(device, Part::Test, wanted - drawn, &mut test);
            drawn = wanted;
        }
        self.test = test;
    }

    /// Appends `count` samples of one device.
    fn append(&self, device: usize, part: Part, count: usize, to: &mut SampleBuffer) {
        if count == 0 {
            return;
        }
        let (mut model, mut data) = (self.stream(Part::Model, device), self.stream(part, device));
        let mut normal = |mean: f64, std_dev: f64| {
            let z: f64 = StandardNormal.sample(&mut model);
            mean + std_dev * z
        };
        let model_mean = normal(0.0, self.spread.model.sqrt());
        let data_mean = normal(0.0, self.spread.data.sqrt());
        let weights: [[f64; FEATURES]; CLASSES] =
            std::array::from_fn(|_| std::array::from_fn(|_| normal(model_mean, 1.0)));
        let biases: [f64; CLASSES] = std::array::from_fn(|_| normal(model_mean, 1.0));
        let means: [f64; FEATURES] = std::array::from_fn(|_| normal(data_mean, 1.0));
        let spreads: [f64; FEATURES] = std::array::from_fn(|j| ((j + 1) as f64).powf(-0.6));
        for _ in 0..count {
            let sample: [f64; FEATURES] = std::array::from_fn(|j| {
                let z: f64 = StandardNormal.sample(&mut data);
                means[j] + spreads[j] * z
            });
            to.features.extend(sample.iter().map(|&x| x as f32));
            let score = |class: usize| {
                biases[class] + weights[class].iter().zip(&sample).map(|(w, x)| w * x).sum::<f64>()
            };
            let scores: [f64; CLASSES] = std::array::from_fn(score);
            let label = (0..CLASSES).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap_or(0);
            to.labels.push(label as f32);
        }
    }
}

impl Shards for Synthetic {
    fn devices(&self) -> usize {
        self.counts.len()
    }

    fn samples(&self, device: usize) -> usize {
        self.counts.get(device).map_or(0, |&count| count as usize)
    }

    fn open(&self, device: usize, made: &mut SampleBuffer) {
        if self.held.is_none() {
            made.clear();
            self.append(device, Part::Train, self.samples(device), made);
        }
    }

    fn cost_of_opening(&self, device: usize) -> u64 {
        if self.held.is_some() { 1 } else { self.samples(device) as u64 }
    }

    fn write_batch(
        &self,
        device: usize,
        made: &SampleBuffer,
        picks: &[u32],
        features: &mut [f32],
        labels: &mut [f32],
    ) {
        let (samples, first) = match &self.held {
            Some((held, starts)) => (held, starts[device]),
            None => (made, 0),
        };
        samples.write(picks.iter().map(|&pick| first + pick as usize), features, labels);
    }

    fn test_samples(&self) -> usize {
        self.test.labels.len()
    }

    fn write_test_batch(&self, first: usize, features: &mut [f32], labels: &mut [f32]) {
        self.test.write(first..first + labels.len(), features, labels);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::{Learner, TrainKey};
    use crate::models::mlp::mlp;
    use crate::sgd::{SgdLearner, SgdSettings};

    const ALIKE: Spread = Spread { model: 0.0, data: 0.0 };

    fn learner() -> SgdLearner {
        let data = Synthetic::new(ALIKE, 4, 200, 5).unwrap();
        let settings = SgdSettings::plain(0.05, 32, 10);
        SgdLearner::new(mlp(FEATURES, 32, CLASSES), Box::new(data), settings).unwrap()
    }

    #[test]
    fn a_devices_data_is_its_own_and_repeats() {
        let synthetic = Synthetic::new(Spread { model: 1.0, data: 1.0 }, 3, 0, 5).unwrap();
        let make = |device, part| {
            let mut samples = SampleBuffer::default();
            synthetic.append(device, part, 20, &mut samples);
            samples
        };
        assert_eq!(make(999_999, Part::Train), make(999_999, Part::Train));
        assert_ne!(make(0, Part::Train), make(1, Part::Train));
        assert_ne!(make(0, Part::Train), make(0, Part::Test));
        // Held or made when its turn comes, and whatever a worker made before: the same batch.
        let unheld = Synthetic { held: None, ..synthetic.clone() };
        let batch = |data: &Synthetic, device, mut made| {
            let (mut features, mut labels) = (vec![0.0; 4 * FEATURES], vec![0.0; 4]);
            data.open(device, &mut made);
            data.write_batch(device, &made, &[7, 0, 19, 7], &mut features, &mut labels);
            (features, labels)
        };
        assert!(synthetic.held.is_some());
        for device in 0..3 {
            let expected = batch(&synthetic, device, SampleBuffer::default());
            assert_eq!(batch(&unheld, device, make(1, Part::Train)), expected);
            assert_eq!(expected.0[FEATURES..2 * FEATURES], make(device, Part::Train).features[..FEATURES]);
        }
    }

    /// Test samples come from devices in proportion to what they hold, and as many as asked.
    #[test]
    fn a_million_devices_cost_a_count_each() {
        let synthetic = Synthetic::new(ALIKE, 1_000_000, 500, 1).unwrap();
        assert_eq!((synthetic.devices(), synthetic.test_samples()), (1_000_000, 500));
        assert_eq!((synthetic.test.features.len(), synthetic.held.is_none()), (500 * FEATURES, true));
        let [least, most] = SAMPLES_RANGE.map(|count| count as usize);
        assert!((0..1_000_000).all(|device| (least..=most).contains(&synthetic.samples(device))));
        let mean = (0..1_000_000).map(|device| synthetic.samples(device)).sum::<usize>() as f64 / 1e6;
        // E[min(⌊L⌋, 4950)] + 50 for L log-normal(4, 1), by numerical integration: 139.5.
        assert!((mean - 139.5).abs() < 0.5, "{mean}");
        assert_eq!(synthetic.samples(1_000_000), 0);
        assert!(synthetic.samples_max() > 1_000);
        assert!(Synthetic::new(Spread { model: -1.0, data: 0.0 }, 1, 1, 1).is_err());
    }

    /// The update is a function of model, key and nothing else: not of what the worker did before.
    #[test]
    fn updates_repeat_to_the_byte_on_any_worker() {
        let learner = learner();
        let model = learner.initial_model(3);
        let (mut used, mut fresh) = (learner.worker(), learner.worker());
        let update = |worker: &mut _, device, round| {
            let mut update = vec![0.0; learner.params_len()];
            let key = TrainKey::new(3, round, device);
            learner.train(worker, model.as_slice(), key, &mut update).unwrap();
            update
        };
        let first = update(&mut used, 0, 1);
        let other_round = update(&mut used, 0, 2);
        update(&mut used, 3, 1);
        assert_eq!(update(&mut used, 0, 1), first);
        assert_eq!(update(&mut fresh, 0, 1), first);
        assert_ne!(other_round, first);
    }

    #[test]
    fn federated_averaging_learns() {
        let learner = learner();
        let mut worker = learner.worker();
        let mut model = learner.initial_model(1);
        let start = learner.evaluate(&mut worker, model.as_slice()).unwrap();
        let mut update = vec![0.0; learner.params_len()];
        for round in 0..60 {
            let global = model.clone();
            for device in 0..4 {
                let key = TrainKey::new(1, round, device);
                learner.train(&mut worker, global.as_slice(), key, &mut update).unwrap();
                model.add_scaled(0.25, &update).unwrap();
            }
        }
        let end = learner.evaluate(&mut worker, model.as_slice()).unwrap();
        assert!(end.get("loss") < start.get("loss").map(|loss| 0.7 * loss), "{start:?} {end:?}");
        assert!(end.get("accuracy") > Some(0.4), "{end:?}");
    }

    #[test]
    fn divergence_and_misfits_are_said_to_be_so() {
        let learner = learner();
        let mut worker = learner.worker();
        let mut update = vec![0.0; learner.params_len()];
        let key = TrainKey::new(1, 0, 1);
        let wild = vec![1e30_f32; learner.params_len()];
        assert!(learner.train(&mut worker, &wild, key, &mut update).is_err());
        assert!(learner.evaluate(&mut worker, &vec![f32::NAN; learner.params_len()]).is_err());
        assert!(learner.train(&mut worker, &[0.0], key, &mut update).is_err());
        let nobody = TrainKey { device: 9, ..key };
        let model = learner.initial_model(1);
        assert!(learner.train(&mut worker, model.as_slice(), nobody, &mut update).is_err());
    }
}
