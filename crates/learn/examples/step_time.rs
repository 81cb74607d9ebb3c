//! How long one training step takes, per model, on one thread: `cargo run --release --example step_time`.
#![allow(clippy::disallowed_methods, reason = "it measures time")]

use std::time::Instant;

use fedflip_learn::models::cnn;
use fedflip_learn::network::Network;

fn main() {
    time("cnn", &cnn::cnn(10), 200);
    time("wide cnn", &cnn::wide_cnn(10), 20);
}

fn time(name: &str, network: &Network<f32>, steps: u32) {
    let batch = 32;
    let params: Vec<f32> = (0..network.params_len()).map(|n| ((n * 37 % 101) as f32 - 50.0) * 1e-3).collect();
    let mut buffers = network.buffers(batch);
    buffers.input().iter_mut().enumerate().for_each(|(n, x)| *x = (n * 31 % 97) as f32 * 0.01);
    let labels: Vec<f32> = (0..batch).map(|n| (n % 10) as f32).collect();
    let mut best = f64::INFINITY;
    for _ in 0..steps {
        let start = Instant::now();
        std::hint::black_box(network.gradient(&params, &mut buffers, &labels));
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("{name}: {:.3} ms a step, {:.1} client updates per second and core", best * 1e3, 0.1 / best);
}
