//! Momentum, weight decay, FedProx's term and epochs: against PyTorch, and against what follows from their definitions.
//! `golden/options.py` made the stored values; `cargo xtask golden learn` makes them anew.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod pytorch;

use fedflip_learn::models::mlp::mlp;
use fedflip_learn::models::mobilenet::{Norm, mobilenet};
use fedflip_learn::models::{cnn, lstm};
use fedflip_learn::network::Network;
use fedflip_learn::sgd::{LocalOptions, SgdLearner, SgdSettings, Steps};
use fedflip_learn::shards::{SampleBuffer, Shards};
use fedflip_learn::{Learner, TrainKey};
use serde::Deserialize;

use pytorch::{Array, Off, SINGLE_FACTOR, compare_changes, fill_batch, start};

/// What nothing but the order of sums can change in f32, relative to the size of a change.
const ROUNDING: f64 = 1e-6;

/// One device with these samples.
struct OneDevice(SampleBuffer);

impl Shards for OneDevice {
    fn devices(&self) -> usize {
        1
    }

    fn samples(&self, _device: usize) -> usize {
        self.0.labels.len()
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
        0
    }

    fn write_test_batch(&self, _first: usize, _features: &mut [f32], _labels: &mut [f32]) {}
}

/// A device that holds the first samples of the generator.
fn learner(network: Network<f32>, samples: usize, symbols: bool, settings: SgdSettings) -> SgdLearner {
    let mut features = vec![0.0; samples * network.input_len()];
    let labels = fill_batch(0, samples, network.classes(), symbols, &mut features);
    SgdLearner::new(network, Box::new(OneDevice(SampleBuffer { features, labels })), settings).unwrap()
}

/// The loss and the update of a round that begins with the generator's parameters.
fn trained(learner: &SgdLearner) -> (f64, Vec<f32>) {
    let mut update = vec![0.0; learner.params_len()];
    let model = start(learner.network());
    let loss = learner.train(&mut learner.worker(), &model, TrainKey::new(1, 1, 0), &mut update).unwrap();
    (loss, update)
}

#[derive(Deserialize)]
struct Golden {
    model: String,
    learning_rate: f32,
    batch: usize,
    steps: usize,
    momentum: f32,
    weight_decay: f32,
    proximal: f32,
    single_off: Off,
    loss: f64,
    arrays: Vec<Array>,
}

#[test]
fn every_option_moves_parameters_as_in_pytorch_and_the_loss_is_that_of_the_data() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/options.json");
    let all: Vec<Golden> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(all.len(), 10);
    for golden in all {
        let Golden { momentum, weight_decay, proximal, .. } = golden;
        let options = LocalOptions { momentum, weight_decay, proximal };
        let settings =
            SgdSettings { options, ..SgdSettings::plain(golden.learning_rate, golden.batch, golden.steps) };
        let symbols = golden.model == "lstm";
        let network = if symbols { lstm::shakespeare_lstm() } else { cnn::cnn(10) };
        let learner = learner(network, golden.batch, symbols, settings);
        let (loss, update) = trained(&learner);
        let case = format!("{} with {options:?}", golden.model);
        let off = (loss / golden.loss - 1.0).abs();
        assert!(
            off < SINGLE_FACTOR * golden.single_off.loss.max(ROUNDING),
            "{case}: {loss} is off by {off:e}"
        );
        let changes: Vec<f64> = update.iter().map(|&change| f64::from(change)).collect();
        let tolerance = SINGLE_FACTOR * golden.single_off.change.max(ROUNDING);
        compare_changes(&case, learner.network(), &golden.arrays, &changes, tolerance);
    }
}

/// In one step from w = x, the proximal term and the momentum are nothing, and the weight decay is known.
#[test]
fn the_first_step_knows_only_weight_decay() {
    let (rate, decay) = (0.1, 0.25);
    let step = |options| {
        let settings = SgdSettings { options, ..SgdSettings::plain(rate, 8, 1) };
        trained(&learner(mlp(6, 5, 3), 8, false, settings)).1
    };
    let plain = step(LocalOptions::default());
    assert_eq!(step(LocalOptions { momentum: 0.9, proximal: 7.0, ..LocalOptions::default() }), plain);
    let decayed = step(LocalOptions { weight_decay: decay, ..LocalOptions::default() });
    let model: Vec<f32> = start(&mlp(6, 5, 3));
    for ((decayed, plain), w) in decayed.iter().zip(&plain).zip(model) {
        assert!((decayed - (plain - rate * decay * w)).abs() < 1e-6);
    }
}

/// A gradient of the penalised loss by finite differences: FedProx's term is (μ/2)‖w − x‖², the data loss is unchanged.
#[test]
fn the_second_step_follows_the_penalised_loss() {
    let (rate, proximal) = (0.1_f32, 2.0_f32);
    let after = |steps, proximal| {
        let options = LocalOptions { proximal, ..LocalOptions::default() };
        trained(&learner(
            mlp(6, 5, 3),
            8,
            false,
            SgdSettings { options, ..SgdSettings::plain(rate, 8, steps) },
        ))
        .1
    };
    let (first, second, without) = (after(1, proximal), after(2, proximal), after(2, 0.0));
    let penalty = |moved: &[f32]| -> f64 {
        moved.iter().map(|&x| f64::from(proximal) / 2.0 * f64::from(x).powi(2)).sum()
    };
    for n in 0..first.len() {
        let moved_by = |by: f32| {
            let mut moved = first.clone();
            moved[n] += by;
            penalty(&moved)
        };
        let slope = (moved_by(1e-2) - moved_by(-1e-2)) / 2e-2;
        let pulled = f64::from(without[n]) - f64::from(rate) * slope;
        assert!((f64::from(second[n]) - pulled).abs() < 1e-5, "{n}: {} is not {pulled}", second[n]);
    }
}

/// v begins with zero in each round: a worker that has trained before gives the same update.
#[test]
fn momentum_is_not_kept_between_rounds() {
    let options = LocalOptions { momentum: 0.9, ..LocalOptions::default() };
    let settings = SgdSettings { options, ..SgdSettings::plain(0.1, 8, 5) };
    let learner = learner(mlp(6, 5, 3), 8, false, settings);
    let (loss, update) = trained(&learner);
    let (model, mut worker, mut again) = (start(learner.network()), learner.worker(), update.clone());
    learner.train(&mut worker, &model, TrainKey::new(1, 9, 0), &mut again).unwrap();
    assert_eq!(learner.train(&mut worker, &model, TrainKey::new(1, 1, 0), &mut again).unwrap(), loss);
    assert_eq!(again, update);
}

/// Running means and variances are what the data make of them: after one step they do not depend on the options.
#[test]
fn running_statistics_know_none_of_the_options() {
    let network = || mobilenet(0.25, Norm::Batch, 10);
    let step = |options| {
        let settings = SgdSettings { options, ..SgdSettings::plain(0.001, 8, 1) };
        trained(&learner(network(), 8, false, settings)).1
    };
    let plain = step(LocalOptions::default());
    let other = step(LocalOptions { momentum: 0.9, weight_decay: 0.5, proximal: 3.0 });
    let mut at = 0;
    for (name, spec) in network().params() {
        let range = at..at + spec.len();
        at += spec.len();
        assert_eq!(plain[range.clone()] == other[range], !spec.trained, "{name}");
    }
}

/// An epoch of a device with less than a batch is one step with all of its samples, whatever buffers are there.
#[test]
fn a_smaller_last_batch_is_a_step_with_just_its_samples() {
    type Make = fn() -> Network<f32>;
    let cases: [(Make, bool); 6] = [
        (|| mlp(6, 5, 3), false),
        (|| cnn::cnn(10), false),
        (|| cnn::wide_cnn(10), false),
        (|| mobilenet(0.25, Norm::Group, 10), false),
        (|| mobilenet(0.25, Norm::Batch, 10), false),
        (lstm::shakespeare_lstm, true),
    ];
    for (network, symbols) in cases {
        let epochs = SgdSettings { steps: Steps::Epochs(1), ..SgdSettings::plain(0.01, 8, 0) };
        let exact = SgdSettings::plain(0.01, 3, 1);
        let (loss, update) = trained(&learner(network(), 3, symbols, epochs));
        let (expected_loss, expected) = trained(&learner(network(), 3, symbols, exact));
        assert!((loss / expected_loss - 1.0).abs() < 1e-5, "{loss} is not {expected_loss}");
        let size = expected.iter().map(|x| x.abs()).fold(0.0, f32::max);
        let off = update.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(off <= 1e-4 * size, "off by {off:e} of {size:e}");
    }
}

/// Whole batches of an epoch are those of as many iterations.
#[test]
fn epochs_that_fill_their_batches_are_iterations() {
    let after = |steps| {
        trained(&learner(mlp(6, 5, 3), 24, false, SgdSettings { steps, ..SgdSettings::plain(0.1, 8, 0) }))
    };
    assert_eq!(after(Steps::Epochs(2)), after(Steps::Iterations(6)));
    assert_ne!(after(Steps::Epochs(2)), after(Steps::Iterations(5)));
}

/// A device sees each of its samples as often as there are epochs. With zero weights and one feature per sample, the gradient
/// of a softmax regression tells which samples a step saw.
#[test]
fn an_epoch_sees_every_sample_once() {
    const SAMPLES: usize = 11;
    let mut features = vec![0.0; SAMPLES * SAMPLES];
    (0..SAMPLES).for_each(|n| features[n * SAMPLES + n] = 1.0);
    let buffer = SampleBuffer { features, labels: vec![0.0; SAMPLES] };
    // So small a rate that the gradient of a sample is the same at every step.
    let settings = SgdSettings { steps: Steps::Epochs(3), ..SgdSettings::plain(1e-3, 4, 0) };
    let learner = SgdLearner::new(mlp(SAMPLES, 0, 2), Box::new(OneDevice(buffer)), settings).unwrap();
    let model = vec![0.0; learner.params_len()];
    let mut update = vec![0.0; learner.params_len()];
    learner.train(&mut learner.worker(), &model, TrainKey::new(1, 1, 0), &mut update).unwrap();
    // 8 batches of 4 samples and one of a single one, each sample with half its batch's share of the rate.
    let total: f32 = update[..SAMPLES].iter().sum();
    assert!((total / (9.0 * 1e-3 * 0.5) - 1.0).abs() < 0.01, "nine steps: {total}");
    let once = 1e-3 * 0.5 / 4.0;
    for &moved in &update[..SAMPLES] {
        let times = moved / once;
        assert!((times - 3.0).abs() < 0.05 || (times - 6.0).abs() < 0.05, "{times} quarters of a step");
    }
}
