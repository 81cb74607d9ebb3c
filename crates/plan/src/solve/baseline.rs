//! The paper's four benchmarks: q given, not optimised.

use fedflip_fleet::Fleet;

use crate::plan::{Plan, PlanStatus};
use crate::problem::Problem;
use crate::scheme::Scheme;

/// q by rule, capped at each device's availability; and how many devices were capped.
///
/// A scheme that is not a baseline has no rule: it gets full participation.
pub fn participation(fleet: &Fleet, scheme: Scheme) -> (Vec<f64>, usize) {
    let devices = fleet.len() as f64;
    let asked = |n: usize| match scheme {
        Scheme::Fixed(q) => q.get(),
        Scheme::Uniform => 1.0 / devices,
        Scheme::Weighted => fleet.weights()[n],
        _ => 1.0,
    };
    let caps = fleet.availability();
    let capped = (0..fleet.len()).filter(|&n| asked(n) > caps[n]).count();
    ((0..fleet.len()).map(|n| asked(n).min(caps[n])).collect(), capped)
}

/// The plan of a baseline; whether it can reach the target is its status.
pub fn plan(problem: &Problem<'_>, scheme: Scheme) -> Plan {
    let (q, capped) = participation(problem.fleet(), scheme);
    let reachable = problem.headroom(&q).is_some();
    let status = if reachable { PlanStatus::Given } else { PlanStatus::Unreachable };
    Plan::new(problem, scheme, status, q).with_capped(capped)
}
