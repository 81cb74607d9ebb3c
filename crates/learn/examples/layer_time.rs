//! How long each layer of the CNNs takes for a batch of 32, on one thread:
//! `cargo run --release --example layer_time`.
#![allow(clippy::disallowed_methods, reason = "it measures time")]

use std::time::Instant;

use fedflip_learn::layer::{Backward, Forward, Layer};
use fedflip_learn::nn::conv::Conv;
use fedflip_learn::nn::linear::Linear;
use fedflip_learn::nn::pool::{Flatten, MaxPoolRelu};

fn main() {
    println!("{:<22} {:>10} {:>10}", "layer", "forward", "backward");
    time("conv 1→10, 28", &Conv::new("conv", (1, 10), 28, 5, 0), false);
    time("pool 10, 24", &MaxPoolRelu::new(10, 24), true);
    time("conv 10→20, 12", &Conv::new("conv", (10, 20), 12, 5, 0), true);
    time("pool 20, 8", &MaxPoolRelu::new(20, 8), true);
    time("flatten 20·16", &Flatten::new(20, 16), true);
    time("linear 320→50", &Linear::relu("fc", 320, 50), true);
    time("linear 50→10", &Linear::new("fc", 50, 10), true);
    println!();
    time("conv 1→32, 28 padded", &Conv::new("conv", (1, 32), 28, 5, 2), false);
    time("pool 32, 28", &MaxPoolRelu::new(32, 28), true);
    time("conv 32→64, 14 padded", &Conv::new("conv", (32, 64), 14, 5, 2), true);
    time("pool 64, 14", &MaxPoolRelu::new(64, 14), true);
    time("linear 3136→512", &Linear::relu("fc", 3136, 512), true);
}

/// The best of many passes; `inner` layers also hand a gradient on.
fn time(name: &str, layer: &dyn Layer<f32>, inner: bool) {
    let batch = 32;
    let noise =
        |len: usize| -> Vec<f32> { (0..len).map(|n| (n * 7919 % 1009) as f32 / 504.0 - 1.0).collect() };
    let params = noise(layer.params().iter().map(fedflip_learn::layer::ParamSpec::len).sum());
    let input = noise(batch * layer.input_len());
    let mut output = noise(batch * layer.output_len());
    let mut scratch = noise(layer.scratch_len(batch));
    let mut input_grad = noise(if inner { input.len() } else { 0 });
    let mut params_grad = params.clone();
    let (mut forward_secs, mut backward_secs) = (f64::INFINITY, f64::INFINITY);
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < 0.5 {
        let mut output_grad = noise(output.len());
        let began = Instant::now();
        let training = true;
        layer.forward(Forward {
            batch,
            params: &params,
            input: &input,
            output: &mut output,
            scratch: &mut scratch,
            training,
        });
        let between = Instant::now();
        layer.backward(Backward {
            batch,
            params: &params,
            input: &input,
            output: &output,
            output_grad: &mut output_grad,
            input_grad: &mut input_grad,
            params_grad: &mut params_grad,
            scratch: &mut scratch,
        });
        forward_secs = forward_secs.min((between - began).as_secs_f64());
        backward_secs = backward_secs.min(between.elapsed().as_secs_f64());
    }
    println!("{name:<22} {:>7.3} ms {:>7.3} ms", forward_secs * 1e3, backward_secs * 1e3);
}
