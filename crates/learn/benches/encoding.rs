//! How long an update of 21,840 numbers takes through each encoding.
//!
//! `cargo bench -p fedflip-learn --bench encoding`; criterion says how many numbers that is a second.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fedflip_fleet::{Purpose, StreamKey};
use fedflip_learn::Encoding;

/// Those of the paper's CNN.
const NUMBERS: usize = 21_840;

fn update() -> Vec<f32> {
    (0..NUMBERS).map(|n| ((n * 7919 % 10_007) as f32 / 5_003.5 - 1.0).powi(3) * 1e-2).collect()
}

fn ways(c: &mut Criterion) {
    let stream = || StreamKey { seed: 1, purpose: Purpose::UpdateRounding, round: 1 }.device(0);
    for (name, encoding) in Encoding::ALL {
        let mut group = c.benchmark_group(name);
        group.throughput(Throughput::Elements(NUMBERS as u64));
        let (update, mut bytes) = (update(), Vec::new());
        group.bench_function("encode", |b| {
            b.iter(|| {
                bytes.clear();
                encoding.encode(black_box(&update), &mut stream(), &mut bytes);
            });
        });
        let mut numbers = vec![0.0; NUMBERS];
        group.bench_function("decode", |b| {
            b.iter(|| encoding.decode(black_box(&bytes), &mut numbers).unwrap());
        });
        group.bench_function("round trip", |b| {
            b.iter(|| {
                numbers.copy_from_slice(&update);
                encoding.round_trip(black_box(&mut numbers), &mut stream());
            });
        });
    }
}

criterion_group!(encodings, ways);
criterion_main!(encodings);
