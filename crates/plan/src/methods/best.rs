//! The best member of a family of plans with one parameter: a constant q, or q in proportion to the data.
//!
//! A reviewer's first question to a planner: how much of the gain would a single well-chosen number give? Both families are
//! searched for the least time to the goal under Theorem 2's first bound, as `tight` and `auto` are.

use crate::error::PlanError;
use crate::method::Method;
use crate::plan::{Plan, PlanStatus};
use crate::planning::Planning;
use crate::problem::{Problem, RoundModel};
use crate::round_time::FirstBound;

/// The best constant q.
pub(crate) struct BestFixed;
/// The best multiple of the data shares.
pub(crate) struct BestWeighted;

impl Method for BestFixed {
    fn plan(&self, problem: &Problem<'_>, planning: &Planning) -> Result<Plan, PlanError> {
        best(problem, planning, &vec![1.0; problem.fleet().len()])
    }
}

impl Method for BestWeighted {
    fn plan(&self, problem: &Problem<'_>, planning: &Planning) -> Result<Plan, PlanError> {
        best(problem, planning, problem.fleet().weights())
    }
}

/// Values of the first pass, in equal steps of the logarithm.
const VALUES: usize = 200;
/// Each finer pass divides the step by five.
const FINER_PASSES: usize = 12;

/// The best q = min(cap, κ·shape) over κ.
fn best(problem: &Problem<'_>, planning: &Planning, shape: &[f64]) -> Result<Plan, PlanError> {
    let goal = planning.goal()?.ok_or_else(|| PlanError::NotABaseline { scheme: planning.scheme.clone() })?;
    let model = RoundModel::for_goal(problem, goal)?;
    let (fleet, bound) = (problem.fleet(), FirstBound::new(problem));
    let mut q = vec![0.0; fleet.len()];
    let value = |log_factor: f64, q: &mut [f64]| {
        let factor = log_factor.exp();
        let devices = q.iter_mut().zip(shape).zip(fleet.availability());
        devices.for_each(|((q, shape), cap)| *q = (factor * shape).min(*cap));
        model.headroom(q).map_or(f64::INFINITY, |headroom| bound.value(q) / headroom)
    };
    // From the factor that puts every device at its cap down to one with which no target is in reach: κ·shape has the
    // variance Σ a²/shape/κ at least.
    let at_cap = shape.iter().zip(fleet.availability()).map(|(shape, cap)| cap / shape).fold(0.0, f64::max);
    let variance: f64 = fleet.weights().iter().zip(shape).map(|(a, shape)| a * a / shape).sum();
    let (mut low, mut high) = ((variance / model.beta()).min(at_cap).ln(), at_cap.ln());
    let (mut best_at, mut least) = (high, value(high, &mut q));
    let mut step = (high - low) / VALUES as f64;
    for pass in 0..=FINER_PASSES {
        let values = if pass == 0 { VALUES } else { 10 };
        for place in 0..=values {
            let at = low + step * place as f64;
            let found = value(at.min(high), &mut q);
            if found < least {
                (best_at, least) = (at.min(high), found);
            }
        }
        (low, high) = (best_at - step, (best_at + step).min(at_cap.ln()));
        step /= 5.0;
    }
    value(best_at, &mut q);
    Ok(Plan::new(fleet, PlanStatus::Approximate, q))
}

#[cfg(test)]
mod tests {
    use fedflip_fleet::{Fleet, Mbps, csv_file};

    use super::*;
    use crate::constants::Constants;
    use crate::planning::solve;
    use crate::scheme::Scheme;

    fn fleet() -> Fleet {
        let rows = "a,1,2,100,1\nb,9,2,100,0.5\nc,3,1,50,1\nd,1,4,300,1\n";
        let text = format!("device,compute_secs,comm_secs,samples,availability\n{rows}");
        csv_file::read(text.as_bytes(), "fleet.csv").unwrap()
    }

    /// No other constant, and no other multiple of the shares, is better by the objective that both minimise.
    #[test]
    fn no_other_member_of_the_family_is_better() {
        let fleet = fleet();
        let problem = Problem::new(&fleet, Mbps::new(5.0).unwrap());
        for constants in [None, Some(Constants::new(10.0, 3.0).unwrap())] {
            let planning = |scheme| Planning { constants, ..Planning::new(scheme) };
            let goal = planning(Scheme::BestFixed).goal().unwrap().unwrap();
            let model = RoundModel::for_goal(&problem, goal).unwrap();
            let bound = FirstBound::new(&problem);
            let value = |q: &[f64]| bound.value(q) / model.headroom(q).unwrap_or(0.0);
            for (scheme, family) in [(Scheme::BestFixed, "fixed"), (Scheme::BestWeighted, "weighted")] {
                let best = value(solve(&problem, &planning(scheme)).unwrap().q());
                for step in 1..400 {
                    let parameter = f64::from(step) / 400.0 * if family == "fixed" { 1.0 } else { 12.0 };
                    let other: Scheme = format!("{family}={parameter}").parse().unwrap();
                    let other = solve(&problem, &planning(other)).unwrap();
                    assert!(best <= value(other.q()) * (1.0 + 1e-9), "{family}={parameter}");
                }
            }
        }
    }
}
