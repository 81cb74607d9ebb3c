//! The paper's four baselines, whose q follows a fixed rule.

use fedflip_fleet::Fleet;

use crate::plan::{Plan, PlanStatus};
use crate::scheme::Scheme;

/// The plan of a baseline, capped at each device's availability; none for a scheme that optimises.
pub(crate) fn plan(fleet: &Fleet, scheme: Scheme) -> Option<Plan> {
    let mut q = match scheme {
        Scheme::Full => vec![1.0; fleet.len()],
        Scheme::Fixed(q) => vec![q.get(); fleet.len()],
        Scheme::Uniform => vec![1.0 / fleet.len() as f64; fleet.len()],
        Scheme::Weighted => fleet.weights().to_vec(),
        Scheme::Auto
        | Scheme::Exact
        | Scheme::Paper
        | Scheme::PaperLinesearch
        | Scheme::Tight
        | Scheme::Sampled => return None,
    };
    let mut capped = 0;
    for (q, &cap) in q.iter_mut().zip(fleet.availability()) {
        if *q > cap {
            *q = cap;
            capped += 1;
        }
    }
    Some(Plan::new(fleet, PlanStatus::Given, q).with_capped(capped))
}
