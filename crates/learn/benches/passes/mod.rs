//! What the benchmarks count, with everything made and run once before: caches and lazily made buffers of
//! dependencies are no part of a step.

use fedflip_learn::layer::{Backward, Forward, Layer, ParamSpec};
use fedflip_learn::network::{Buffers, Network};
use fedflip_learn::nn::linear::Linear;
use fedflip_learn::sgd::{SgdLearner, SgdSettings, SgdWorker};
use fedflip_learn::shards::{SampleBuffer, Shards};
use fedflip_learn::{Learner, TrainKey};

/// Few, because callgrind takes fifty times as long; but as many as fill a vector of AVX2, because some
/// layers run samples innermost.
const BATCH: usize = 8;

/// Numbers in [−1, 1], the same every time; rounded down they are codes of symbols too.
fn numbers(len: usize) -> Vec<f32> {
    (0..len).map(|n| (n * 7919 % 1009) as f32 / 504.0 - 1.0).collect()
}

/// A layer with its buffers.
pub(crate) struct Pass {
    layer: Box<dyn Layer<f32>>,
    params: Vec<f32>,
    input: Vec<f32>,
    output: Vec<f32>,
    output_grad: Vec<f32>,
    input_grad: Vec<f32>,
    params_grad: Vec<f32>,
    scratch: Vec<f32>,
}

impl Pass {
    pub(crate) fn new(layer: Box<dyn Layer<f32>>, inner: bool) -> Self {
        let params = numbers(layer.params().iter().map(ParamSpec::len).sum());
        let input = numbers(BATCH * layer.input_len());
        let mut pass = Self {
            params_grad: params.clone(),
            params,
            output: numbers(BATCH * layer.output_len()),
            output_grad: numbers(BATCH * layer.output_len()),
            input_grad: numbers(if inner { input.len() } else { 0 }),
            input,
            scratch: numbers(layer.scratch_len(BATCH)),
            layer,
        };
        pass.run();
        pass
    }

    /// Forward and backward.
    pub(crate) fn run(&mut self) {
        self.layer.forward(Forward {
            batch: BATCH,
            params: &self.params,
            input: &self.input,
            output: &mut self.output,
            scratch: &mut self.scratch,
            training: true,
        });
        self.layer.backward(Backward {
            batch: BATCH,
            params: &self.params,
            input: &self.input,
            output: &self.output,
            output_grad: &mut self.output_grad,
            input_grad: &mut self.input_grad,
            params_grad: &mut self.params_grad,
            scratch: &mut self.scratch,
        });
    }
}

/// One linear layer of one input, and the loss of its scores.
pub(crate) struct Scores {
    network: Network<f32>,
    params: Vec<f32>,
    buffers: Buffers<f32>,
    labels: Vec<f32>,
}

impl Scores {
    pub(crate) fn new(batch: usize, classes: usize) -> Self {
        let network = Network::new(vec![Box::new(Linear::new("linear", 1, classes))]);
        let mut buffers = network.buffers(batch);
        buffers.input().copy_from_slice(&numbers(batch));
        let labels = (0..batch).map(|n| (n % classes) as f32).collect();
        let mut scores = Self { params: numbers(network.params_len()), network, buffers, labels };
        scores.gradient();
        scores
    }

    pub(crate) fn gradient(&mut self) {
        self.network.gradient(&self.params, &mut self.buffers, &self.labels);
    }
}

/// A device of five samples that trains a linear layer of 78,500 parameters for ten steps of one sample.
pub(crate) struct LocalUpdate {
    learner: SgdLearner,
    worker: SgdWorker,
    model: Vec<f32>,
    update: Vec<f32>,
}

/// The same image for every sample.
struct Grey;

impl Shards for Grey {
    fn devices(&self) -> usize {
        1
    }

    fn samples(&self, _device: usize) -> usize {
        5
    }

    fn write_batch(
        &self,
        _device: usize,
        _made: &SampleBuffer,
        _picks: &[u32],
        features: &mut [f32],
        labels: &mut [f32],
    ) {
        features.fill(0.5);
        labels.fill(3.0);
    }

    fn test_samples(&self) -> usize {
        0
    }

    fn write_test_batch(&self, _first: usize, _features: &mut [f32], _labels: &mut [f32]) {}
}

impl LocalUpdate {
    pub(crate) fn new() -> Self {
        let network = Network::new(vec![Box::new(Linear::new("linear", 784, 100))]);
        let settings = SgdSettings::plain(0.01, 1, 10);
        let learner = SgdLearner::new(network, Box::new(Grey), settings).unwrap();
        let model = numbers(learner.params_len());
        let mut update = Self { worker: learner.worker(), update: model.clone(), model, learner };
        update.train();
        update
    }

    pub(crate) fn train(&mut self) {
        let key = TrainKey::new(1, 0, 0);
        self.learner.train(&mut self.worker, &self.model, key, &mut self.update).unwrap();
    }
}
