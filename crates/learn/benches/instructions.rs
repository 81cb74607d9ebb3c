//! Instructions per layer, forward and backward: the same on a busy machine, so a regression shows whatever
//! else is running.
//!
//! `cargo bench -p fedflip-learn --bench instructions` needs valgrind and gungraun-runner (`cargo xtask
//! install`). Callgrind shows the program a processor with AVX2 and FMA and without AVX-512, whatever it
//! runs on: these are the counts of the kernels for that. `gemm` cuts its blocks by the caches of the real
//! machine, which moves the counts of products by a few per cent between machines.
//!
//! [`LIMITS`] are a tenth above what was measured when they were set: a change that makes a layer dearer than
//! that fails, and either mends it or moves the limit with its reason. `cargo xtask pin` counts and writes
//! the table anew.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark")]

mod passes;

use std::hint::black_box;

use fedflip_learn::layer::Layer;
use fedflip_learn::nn::batch_norm::BatchNorm;
use fedflip_learn::nn::conv::Conv;
use fedflip_learn::nn::depthwise::Depthwise;
use fedflip_learn::nn::embedding::Embedding;
use fedflip_learn::nn::group_norm::GroupNorm;
use fedflip_learn::nn::linear::Linear;
use fedflip_learn::nn::lstm::Lstm;
use fedflip_learn::nn::pointwise::Pointwise;
use fedflip_learn::nn::pool::MaxPoolRelu;
use fedflip_learn::nn::stem::Stem;
use gungraun::prelude::*;
use gungraun::{Callgrind, EventKind};
use passes::{LocalUpdate, Pass, Scores};

/// The most instructions of each benchmark, by its name.
const LIMITS: &[(&str, u64)] = &[
    ("cnn_conv1", 1_660_000),
    ("cnn_conv2", 6_460_000),
    ("wide_conv1", 6_540_000),
    ("wide_conv2", 84_500_000),
    ("pool", 691_000),
    ("linear", 261_000),
    ("stem", 8_220_000),
    ("depthwise", 4_230_000),
    ("depthwise_stride_2", 3_410_000),
    ("pointwise", 34_000_000),
    ("group_norm", 1_940_000),
    ("batch_norm", 1_750_000),
    ("embedding", 112_000),
    ("lstm", 41_500_000),
    ("cross_entropy", 243_000),
    ("local_update", 3_370_000),
];

fn limit(name: &str) -> LibraryBenchmarkConfig {
    let (_, instructions) = LIMITS.iter().find(|(own, _)| *own == name).unwrap();
    let mut config = LibraryBenchmarkConfig::default();
    // Only instructions are pinned, and simulating caches would double the time.
    let mut callgrind = Callgrind::with_args(["--cache-sim=no"]);
    config.tool(callgrind.hard_limits([(EventKind::Ir, *instructions)]).clone());
    config
}

/// With the gradient of its input, as every layer has but the first.
fn inner(layer: impl Layer<f32> + 'static) -> Pass {
    Pass::new(Box::new(layer), true)
}

fn first(layer: impl Layer<f32> + 'static) -> Pass {
    Pass::new(Box::new(layer), false)
}

#[library_benchmark]
#[bench::cnn_conv1(
    args = (first(Conv::new("conv", (1, 10), 28, 5, 0).samples_first())),
    config = limit("cnn_conv1"),
)]
#[bench::cnn_conv2(args = (inner(Conv::new("conv", (10, 20), 12, 5, 0))), config = limit("cnn_conv2"))]
#[bench::wide_conv1(
    args = (first(Conv::new("conv", (1, 32), 28, 5, 2).samples_first())),
    config = limit("wide_conv1"),
)]
#[bench::wide_conv2(args = (inner(Conv::new("conv", (32, 64), 14, 5, 2))), config = limit("wide_conv2"))]
#[bench::pool(args = (inner(MaxPoolRelu::new(10, 24))), config = limit("pool"))]
#[bench::linear(args = (inner(Linear::relu("linear", 320, 50))), config = limit("linear"))]
#[bench::stem(args = (first(Stem::new("stem", [32, 32], 3, 32))), config = limit("stem"))]
#[bench::depthwise(args = (inner(Depthwise::new("depthwise", [8, 8], 256, 1))), config = limit("depthwise"))]
#[bench::depthwise_stride_2(
    args = (inner(Depthwise::new("depthwise", [16, 16], 128, 2))),
    config = limit("depthwise_stride_2"),
)]
#[bench::pointwise(args = (inner(Pointwise::new("pointwise", 64, 256, 256))), config = limit("pointwise"))]
#[bench::group_norm(args = (inner(GroupNorm::relu("norm", 64, 256, 16))), config = limit("group_norm"))]
#[bench::batch_norm(args = (inner(BatchNorm::relu("norm", 64, 256))), config = limit("batch_norm"))]
#[bench::embedding(args = (first(Embedding::new("embedding", 80, 80, 8))), config = limit("embedding"))]
#[bench::lstm(args = (inner(Lstm::new("lstm", 0, 8, 256, 256))), config = limit("lstm"))]
fn layer(mut pass: Pass) -> Pass {
    black_box(&mut pass).run();
    pass
}

// Softmax and cross-entropy of 32 samples and 80 classes, after the smallest layer that gives them.
#[library_benchmark]
#[bench::cross_entropy(args = (Scores::new(32, 80)), config = limit("cross_entropy"))]
fn network(mut scores: Scores) -> Scores {
    black_box(&mut scores).gradient();
    scores
}

// All that is not the network's gradient: drawing batches, the steps of SGD, the update. One sample a step
// keeps the gradient small.
#[library_benchmark]
#[bench::local_update(args = (LocalUpdate::new()), config = limit("local_update"))]
fn learner(mut update: LocalUpdate) -> LocalUpdate {
    black_box(&mut update).train();
    update
}

library_benchmark_group!(name = learn, benchmarks = [layer, network, learner]);
main!(library_benchmark_groups = learn);
