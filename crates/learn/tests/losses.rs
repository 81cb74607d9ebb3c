//! A learner of each loss: what it adds up in an evaluation, and that it learns.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fedflip_learn::loss::Loss;
use fedflip_learn::metrics::{self, metric};
use fedflip_learn::models::mlp::mlp;
use fedflip_learn::network::Network;
use fedflip_learn::sgd::{SgdLearner, SgdSettings};
use fedflip_learn::shards::{SampleBuffer, Shards};
use fedflip_learn::{LearnError, Learner, Metrics, Sums, TrainKey};

/// One device, which is tested on what it trains on.
struct Rows(SampleBuffer);

impl Shards for Rows {
    fn devices(&self) -> usize {
        1
    }

    fn samples(&self, device: usize) -> usize {
        if device == 0 { self.test_samples() } else { 0 }
    }

    fn write_batch(
        &self,
        _device: usize,
        _made: &SampleBuffer,
        picks: &[u32],
        features: &mut [f32],
        labels: &mut [f32],
    ) {
        self.0.write(picks.iter().map(|&pick| pick as usize), features, labels);
    }

    fn test_samples(&self) -> usize {
        self.0.labels.len()
    }

    fn write_test_batch(&self, first: usize, features: &mut [f32], labels: &mut [f32]) {
        self.0.write(first..first + labels.len(), features, labels);
    }
}

fn learner(network: Network<f32>, features: Vec<f32>, labels: Vec<f32>) -> SgdLearner {
    let settings = SgdSettings::plain(0.1, 16, 300);
    SgdLearner::new(network, Box::new(Rows(SampleBuffer { features, labels })), settings).unwrap()
}

/// The metrics after a round of training.
fn trained(learner: &SgdLearner) -> Metrics {
    let mut worker = learner.worker();
    let mut model = learner.initial_model(1);
    let mut update = vec![0.0; learner.params_len()];
    learner.train(&mut worker, model.as_slice(), TrainKey::new(1, 1, 0), &mut update).unwrap();
    model.add_scaled(1.0, &update).unwrap();
    learner.evaluate(&mut worker, model.as_slice()).unwrap()
}

fn sums(learner: &SgdLearner, model: &[f32]) -> Vec<(String, f64)> {
    let mut sums = Sums::default();
    learner.score(&mut learner.worker(), model, 0..learner.test_samples(), &mut sums).unwrap();
    sums.iter().map(|(name, sum)| (name.to_owned(), sum)).collect()
}

#[test]
fn a_regression_learns_and_reports_its_squared_error() {
    let points: Vec<[f32; 2]> =
        (0..40_u16).map(|n| [n % 7, n % 5].map(|x| f32::from(x) / 4.0 - 0.6)).collect();
    let labels = points.iter().map(|[a, b]| 2.0 * a - 3.0 * b + 0.5).collect();
    let network = mlp(2, 0, 1).with_loss(Loss::SquaredError).unwrap();
    let learner = learner(network, points.concat(), labels);
    let names: Vec<_> = learner.metrics().iter().map(|metric| &*metric.info.name).collect();
    assert_eq!(names, ["rmse", "loss"]);
    let zero = sums(&learner, &[0.0; 3]);
    let names: Vec<_> = zero.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, [metrics::COUNT, metrics::LOSS, metrics::SQUARED_ERROR]);
    let found = trained(&learner);
    assert!(found.get("rmse").unwrap() < 1e-3, "{found:?}");
}

#[test]
fn a_regression_has_one_output() {
    let refused = mlp::<f32>(2, 0, 3).with_loss(Loss::SquaredError).err();
    assert!(matches!(refused, Some(LearnError::BadSetting { name: "outputs", .. })), "{refused:?}");
}

/// More classes than a byte numbers: one feature per class tells it.
#[test]
fn three_hundred_classes_are_learnt() {
    let classes = 300;
    let feature = |n: usize| if n / classes == n % classes { 10.0 } else { 0.0 };
    let features = (0..classes * classes).map(feature).collect();
    let labels = (0..classes).map(|class| class as f32).collect();
    let learner = learner(mlp(classes, 0, classes), features, labels);
    assert!(trained(&learner).get("accuracy").unwrap() > 0.99);
}

/// The model's bias alone decides: scores are 6, 5, …, 0, whatever the sample is.
#[test]
fn ranks_are_counted_where_a_metric_asks_for_them() {
    let labels = vec![0.0, 4.0, 4.0, 5.0, 6.0, 1.0, 6.0, 6.0];
    let model: Vec<f32> = [0.0; 7].into_iter().chain((0..7_u8).rev().map(f32::from)).collect();
    let plain = learner(mlp(1, 0, 7), vec![1.0; 8], labels);
    assert!(sums(&plain, &model).iter().all(|(name, _)| name != metrics::CORRECT_AMONG_BEST));
    let asked =
        plain.with_metrics(vec![metric("top-5").unwrap().clone(), metric("accuracy").unwrap().clone()]);
    let found = asked.evaluate(&mut asked.worker(), &model).unwrap();
    assert_eq!((found.get("top-5"), found.get("accuracy")), (Some(0.5), Some(0.125)));
}
