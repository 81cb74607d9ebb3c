//! The paper's four baselines, whose q follows a fixed rule, and q from a file.

use fedflip_fleet::{Fleet, Probability};

use crate::error::PlanError;
use crate::given::GivenQ;
use crate::method::Method;
use crate::parameter::Factor;
use crate::plan::{Plan, PlanStatus};
use crate::scheme::Scheme;

/// Every device takes part in every round: q = 1.
pub(crate) struct Full;
/// The same q for every device.
pub(crate) struct Fixed(pub Probability);
/// One device takes part on average: q = 1/N.
pub(crate) struct Uniform;
/// The paper's weighted sampling: q is the share of the data.
pub(crate) struct Weighted;
/// M times the share of the data, up to 1.
pub(crate) struct WeightedBy(pub Factor);
/// Probabilities that a person chose, from a file.
pub(crate) struct File(pub GivenQ);

type Rule = Option<Result<Vec<f64>, PlanError>>;

impl Method for Full {
    fn rule(&self, fleet: &Fleet) -> Rule {
        Some(Ok(vec![1.0; fleet.len()]))
    }
}

impl Method for Fixed {
    fn rule(&self, fleet: &Fleet) -> Rule {
        Some(Ok(vec![self.0.get(); fleet.len()]))
    }
}

impl Method for Uniform {
    fn rule(&self, fleet: &Fleet) -> Rule {
        Some(Ok(vec![1.0 / fleet.len() as f64; fleet.len()]))
    }
}

impl Method for Weighted {
    fn rule(&self, fleet: &Fleet) -> Rule {
        Some(Ok(fleet.weights().to_vec()))
    }
}

impl Method for WeightedBy {
    fn rule(&self, fleet: &Fleet) -> Rule {
        // No cap is counted where the rule itself ends at 1.
        Some(Ok(fleet.weights().iter().map(|weight| (self.0.get() * weight).min(1.0)).collect()))
    }
}

impl Method for File {
    fn rule(&self, fleet: &Fleet) -> Rule {
        Some(self.0.for_fleet(fleet))
    }
}

/// The plan of a scheme that needs nothing but the fleet. A scheme that optimises is refused.
pub(crate) fn plan(fleet: &Fleet, scheme: &Scheme) -> Result<Plan, PlanError> {
    capped(fleet, scheme.method().rule(fleet), scheme)
}

/// The plan of a rule, capped at each device's availability.
pub(crate) fn capped(fleet: &Fleet, rule: Rule, scheme: &Scheme) -> Result<Plan, PlanError> {
    let mut q = rule.unwrap_or_else(|| Err(PlanError::NotABaseline { scheme: scheme.clone() }))?;
    let mut capped = 0;
    for (q, &cap) in q.iter_mut().zip(fleet.availability()) {
        if *q > cap {
            *q = cap;
            capped += 1;
        }
    }
    Ok(Plan::new(fleet, PlanStatus::Given, q).with_capped(capped))
}
