//! The paper's four baselines, whose q follows a fixed rule, and q from a file.

use fedflip_fleet::Fleet;

use crate::error::PlanError;
use crate::plan::{Plan, PlanStatus};
use crate::scheme::Scheme;

/// The plan of a baseline, capped at each device's availability. A scheme that optimises is refused.
pub(crate) fn plan(fleet: &Fleet, scheme: &Scheme) -> Result<Plan, PlanError> {
    let mut q = match scheme {
        Scheme::Full => vec![1.0; fleet.len()],
        Scheme::Fixed(q) => vec![q.get(); fleet.len()],
        Scheme::Uniform => vec![1.0 / fleet.len() as f64; fleet.len()],
        Scheme::Weighted => fleet.weights().to_vec(),
        Scheme::File(given) => given.for_fleet(fleet)?,
        Scheme::Auto
        | Scheme::AutoLinear
        | Scheme::Exact
        | Scheme::Paper
        | Scheme::PaperLinesearch
        | Scheme::Tight
        | Scheme::Sampled => return Err(PlanError::NotABaseline { scheme: scheme.clone() }),
    };
    let mut capped = 0;
    for (q, &cap) in q.iter_mut().zip(fleet.availability()) {
        if *q > cap {
            *q = cap;
            capped += 1;
        }
    }
    Ok(Plan::new(fleet, PlanStatus::Given, q).with_capped(capped))
}
