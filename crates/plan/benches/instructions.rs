//! Instructions, not seconds: the same on a busy machine, so a regression shows whatever else is running.
//!
//! `cargo bench -p fedflip-plan --bench instructions` needs valgrind and gungraun-runner (`cargo xtask
//! install`). The hard limits pin N = 100 and the growth to N = 10,000: they fail when a change makes
//! planning a tenth more expensive than it was when they were set.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark")]

mod fleets;

use std::hint::black_box;

use fedflip_fleet::Fleet;
use fedflip_plan::{Plan, Scheme, Settings, solve};
use gungraun::prelude::*;

fn plan(fleet: &Fleet, scheme: Scheme) -> Plan {
    solve(&fleets::problem(fleet), scheme, &Settings::default()).unwrap()
}

#[library_benchmark]
#[bench::devices_100(fleets::fleet(100))]
#[bench::devices_10000(fleets::fleet(10_000))]
fn exact(fleet: Fleet) -> Plan {
    black_box(plan(&fleet, Scheme::Exact))
}

library_benchmark_group!(name = solvers; benchmarks = exact);
main!(library_benchmark_groups = solvers);
