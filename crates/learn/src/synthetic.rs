//! Synthetic(α, β), as in FedProx: data that every device makes for itself from the seed.
//!
//! Device n draws u ~ N(0, α) and B ~ N(0, β). Its true model is a softmax regression with weights and
//! biases ~ N(u, 1); its features are ~ N(v, Σ) with v ~ N(B, 1) and Σ diagonal, Σ_jj = j^−1.2. α makes the
//! devices' models differ, β their data. Each device has a stream of its own, so one device's data can be
//! made without the others', also out of a million.

use fedflip_fleet::{Purpose, StreamKey};
use rand_distr::{Distribution, StandardNormal};

use crate::sgd::Samples;

/// Numbers per sample.
pub const FEATURES: usize = 60;
/// Labels.
pub const CLASSES: usize = 10;

/// How different the devices are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Synthetic {
    /// α: of the devices' true models.
    pub model_spread: f64,
    /// β: of the devices' data.
    pub data_spread: f64,
    /// Of everything.
    pub seed: u64,
}

/// Samples in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SyntheticSamples {
    features: Vec<f32>,
    labels: Vec<u8>,
}

impl Synthetic {
    /// Appends `count` samples of one device; `part` 0 is for training, 1 for testing: other samples of the
    /// same true model.
    pub fn append(&self, device: u64, part: u64, count: usize, to: &mut SyntheticSamples) {
        let mut model =
            StreamKey { seed: self.seed, purpose: Purpose::SyntheticData, round: 0 }.device(device);
        let mut data =
            StreamKey { seed: self.seed, purpose: Purpose::SyntheticData, round: 1 + part }.device(device);
        let mut normal = |mean: f64, std_dev: f64| {
            let z: f64 = StandardNormal.sample(&mut model);
            mean + std_dev * z
        };
        let model_mean = normal(0.0, self.model_spread.sqrt());
        let data_mean = normal(0.0, self.data_spread.sqrt());
        let weights: Vec<f64> = (0..CLASSES * FEATURES).map(|_| normal(model_mean, 1.0)).collect();
        let biases: Vec<f64> = (0..CLASSES).map(|_| normal(model_mean, 1.0)).collect();
        let means: Vec<f64> = (0..FEATURES).map(|_| normal(data_mean, 1.0)).collect();
        let spreads: Vec<f64> = (1..=FEATURES).map(|j| (j as f64).powf(-0.6)).collect();
        for _ in 0..count {
            let start = to.features.len();
            for (mean, spread) in means.iter().zip(&spreads) {
                let z: f64 = StandardNormal.sample(&mut data);
                to.features.push((mean + spread * z) as f32);
            }
            let sample = &to.features[start..];
            let score = |class: usize| -> f64 {
                let row = &weights[class * FEATURES..][..FEATURES];
                biases[class] + row.iter().zip(sample).map(|(w, &x)| w * f64::from(x)).sum::<f64>()
            };
            let label = (0..CLASSES).max_by(|&a, &b| score(a).total_cmp(&score(b))).unwrap_or(0);
            to.labels.push(label as u8);
        }
    }
}

impl Samples for SyntheticSamples {
    fn len(&self) -> usize {
        self.labels.len()
    }

    fn write_batch(&self, positions: &[u32], features: &mut [f32], labels: &mut [u8]) {
        for ((&position, row), label) in positions.iter().zip(features.chunks_exact_mut(FEATURES)).zip(labels)
        {
            let position = position as usize;
            row.copy_from_slice(&self.features[position * FEATURES..][..FEATURES]);
            *label = self.labels[position];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::{Learner, TrainKey};
    use crate::network::Network;
    use crate::nn::linear::Linear;
    use crate::sgd::{SgdLearner, SgdSettings};

    fn learner() -> SgdLearner<SyntheticSamples> {
        let synthetic = Synthetic { model_spread: 0.0, data_spread: 0.0, seed: 5 };
        let (mut train, mut test) = (SyntheticSamples::default(), SyntheticSamples::default());
        let mut partition = Vec::new();
        for device in 0..4 {
            let first = train.len() as u32;
            synthetic.append(device, 0, 7 + 40 * device as usize, &mut train);
            synthetic.append(device, 1, 50, &mut test);
            partition.push((first..train.len() as u32).collect());
        }
        let network = Network::new(vec![
            Box::new(Linear::relu("fc1", FEATURES, 32)),
            Box::new(Linear::new("fc2", 32, CLASSES)),
        ]);
        let settings = SgdSettings { learning_rate: 0.05, batch: 32, iterations: 10 };
        SgdLearner::new(network, (train, test), partition, settings).unwrap()
    }

    #[test]
    fn a_devices_data_is_its_own_and_repeats() {
        let synthetic = Synthetic { model_spread: 1.0, data_spread: 1.0, seed: 5 };
        let make = |device, part| {
            let mut samples = SyntheticSamples::default();
            synthetic.append(device, part, 20, &mut samples);
            samples
        };
        assert_eq!(make(999_999, 0), make(999_999, 0));
        assert_ne!(make(0, 0), make(1, 0));
        assert_ne!(make(0, 0), make(0, 1));
    }

    /// The update is a function of model, key and nothing else: not of what the worker did before.
    #[test]
    fn updates_repeat_to_the_byte_on_any_worker() {
        let learner = learner();
        let model = learner.initial_model(3);
        let (mut used, mut fresh) = (learner.worker(), learner.worker());
        let update = |worker: &mut _, device, round| {
            let mut update = vec![0.0; learner.params_len()];
            let key = TrainKey { seed: 3, round, device };
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
                let key = TrainKey { seed: 1, round, device };
                learner.train(&mut worker, global.as_slice(), key, &mut update).unwrap();
                model.add_scaled(0.25, &update).unwrap();
            }
        }
        let end = learner.evaluate(&mut worker, model.as_slice()).unwrap();
        assert!(end.loss < 0.7 * start.loss && end.accuracy > 0.4, "{start:?} {end:?}");
    }

    #[test]
    fn divergence_and_misfits_are_said_to_be_so() {
        let learner = learner();
        let mut worker = learner.worker();
        let mut update = vec![0.0; learner.params_len()];
        let key = TrainKey { seed: 1, round: 0, device: 1 };
        let wild = vec![1e30_f32; learner.params_len()];
        assert!(learner.train(&mut worker, &wild, key, &mut update).is_err());
        assert!(learner.evaluate(&mut worker, &vec![f32::NAN; learner.params_len()]).is_err());
        assert!(learner.train(&mut worker, &[0.0], key, &mut update).is_err());
        let nobody = TrainKey { device: 9, ..key };
        let model = learner.initial_model(1);
        assert!(learner.train(&mut worker, model.as_slice(), nobody, &mut update).is_err());
    }
}
