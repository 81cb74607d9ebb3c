//! Instructions, not seconds: the same on a busy machine, so a regression shows whatever else is running.
//!
//! `cargo bench -p fedflip-plan --bench instructions` needs valgrind and gungraun-runner (`cargo xtask
//! install`). The limits are a tenth above what was measured when they were set: a change that makes
//! planning dearer than that fails, and either mends it or moves the limit with its reason. From 100 to
//! 10,000 devices N log N grows 200 fold, and so do the limits.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark")]

mod fleets;

use std::hint::black_box;

use fedflip_plan::{Constants, Plan, Planning, Problem, Scheme, solve};
use gungraun::prelude::*;
use gungraun::{Callgrind, EventKind};

/// Built before counting starts; the fleet lives as long as the process.
fn problem(devices: usize) -> (Problem<'static>, Constants) {
    fleets::problem(Box::leak(Box::new(fleets::fleet(devices))))
}

fn at_most(instructions: u64) -> LibraryBenchmarkConfig {
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(Callgrind::default().hard_limits([(EventKind::Ir, instructions)]).clone());
    config
}

#[library_benchmark]
#[bench::devices_100(args = (problem(100)), config = at_most(27_600))]
#[bench::devices_10000(args = (problem(10_000)), config = at_most(4_790_000))]
fn exact((problem, constants): (Problem<'static>, Constants)) -> Plan {
    let constants = Some(constants);
    solve(black_box(&problem), &Planning { constants, ..Planning::new(Scheme::Exact) }).unwrap()
}

#[library_benchmark]
#[bench::devices_100(args = (problem(100)), config = at_most(31_300))]
#[bench::devices_10000(args = (problem(10_000)), config = at_most(5_080_000))]
fn paper((problem, constants): (Problem<'static>, Constants)) -> Plan {
    let constants = Some(constants);
    solve(black_box(&problem), &Planning { constants, ..Planning::new(Scheme::Paper) }).unwrap()
}

library_benchmark_group!(name = solvers, benchmarks = [exact, paper]);
main!(library_benchmark_groups = solvers);
