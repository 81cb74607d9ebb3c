//! How long planning takes, from a hundred devices to a million.
//!
//! `cargo bench -p fedflip-plan --bench solvers` plots time against N under target/criterion; the last
//! group is what `paper` gains on Algorithm 2 as printed.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark")]

mod fleets;

use std::hint::black_box;

use criterion::{
    AxisScale, BenchmarkId, Criterion, PlotConfiguration, Throughput, criterion_group, criterion_main,
};
use fedflip_plan::{Planning, Scheme, solve};

fn growth(c: &mut Criterion) {
    for scheme in [Scheme::Exact, Scheme::Paper] {
        let mut group = c.benchmark_group(scheme.to_string());
        group.plot_config(PlotConfiguration::default().summary_scale(AxisScale::Logarithmic));
        for devices in [100, 1_000, 10_000, 100_000, 1_000_000] {
            let fleet = fleets::fleet(devices);
            let (problem, constants) = fleets::problem(&fleet);
            let planning = Planning { constants: Some(constants), ..Planning::new(scheme.clone()) };
            group.throughput(Throughput::Elements(devices as u64));
            group.sample_size(if devices > 10_000 { 10 } else { 50 });
            group.bench_function(BenchmarkId::from_parameter(devices), |b| {
                b.iter(|| solve(black_box(&problem), &planning).unwrap());
            });
        }
    }
}

fn hundred_devices(c: &mut Criterion) {
    let fleet = fleets::fleet(100);
    let (problem, constants) = fleets::problem(&fleet);
    let mut group = c.benchmark_group("100 devices");
    group.sample_size(10);
    for scheme in [Scheme::Paper, Scheme::PaperLinesearch, Scheme::Exact, Scheme::Tight, Scheme::Sampled] {
        let planning = Planning { constants: Some(constants), ..Planning::new(scheme.clone()) };
        group.bench_function(scheme.to_string(), |b| {
            b.iter(|| solve(black_box(&problem), &planning).unwrap());
        });
    }
}

criterion_group!(benches, growth, hundred_devices);
criterion_main!(benches);
