//! The paper's four benchmarks: q given, not optimised.

use fedflip_fleet::Fleet;

use crate::plan::{Plan, PlanStatus};
use crate::problem::Problem;
use crate::scheme::Scheme;

/// q by rule, capped at each device's availability, and how many devices were capped; none for a scheme
/// that is not a baseline.
pub fn participation(fleet: &Fleet, scheme: Scheme) -> Option<(Vec<f64>, usize)> {
    let mut q = match scheme {
        Scheme::Full => vec![1.0; fleet.len()],
        Scheme::Fixed(q) => vec![q.get(); fleet.len()],
        Scheme::Uniform => vec![1.0 / fleet.len() as f64; fleet.len()],
        Scheme::Weighted => fleet.weights().to_vec(),
        _ => return None,
    };
    let mut capped = 0;
    for (q, &cap) in q.iter_mut().zip(fleet.availability()) {
        if *q > cap {
            *q = cap;
            capped += 1;
        }
    }
    Some((q, capped))
}

/// The plan of a baseline; whether it can reach the target is its status. None as above.
pub fn plan(problem: &Problem<'_>, scheme: Scheme) -> Option<Plan> {
    let (q, capped) = participation(problem.fleet(), scheme)?;
    let reachable = problem.headroom(&q).is_some();
    let status = if reachable { PlanStatus::Given } else { PlanStatus::Unreachable };
    Some(Plan::new(problem.fleet(), scheme, status, q).with_capped(capped))
}

/// The plan of a baseline while nobody knows what it takes to reach the target: that of a pilot. None as above.
pub fn unjudged(fleet: &Fleet, scheme: Scheme) -> Option<Plan> {
    let (q, capped) = participation(fleet, scheme)?;
    Some(Plan::new(fleet, scheme, PlanStatus::Given, q).with_capped(capped))
}
