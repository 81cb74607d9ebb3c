//! P3, the paper's convex surrogate, in closed form.
//!
//! P3 is A(q)·B(q) up to a constant, with A = Σ q/(q − lo) and B = o + Σ q c, where the paper has no overhead o. In
//! log(q − lo) both are log-convex, so again a KKT point is the global optimum: (q_n − lo_n)² = s² lo_n/c_n below the
//! cap, with s² = B/A. Over the devices below (U) and at (V) their cap that is
//!
//! ```text
//! s² (N + Σ_V lo/(cap − lo)) = o + Σ_U lo·c + Σ_V cap·c
//! ```
//!
//! so the paper's line search over M, with a convex program for each M, comes down to one sort.

use super::break_points::{self, BreakPoint, Sums};
use super::kkt;
use crate::error::PlanError;
use crate::plan::{Plan, PlanStatus};
use crate::problem::RoundModel;

/// The global optimum of P3, in O(N log N); refused where lo_n ≥ cap_n for some device.
pub(crate) fn plan(model: &RoundModel<'_, '_>) -> Result<Plan, PlanError> {
    let problem = model.problem();
    let caps = problem.fleet().availability();
    let costs = problem.cost_secs();
    let floors = surrogate_floors(model)?;
    let (devices, overhead_secs) = (floors.len() as f64, problem.overhead_secs());

    let points = floors.iter().zip(caps).zip(costs).map(|((&floor, &cap), &cost)| BreakPoint {
        at: (cap - floor) * (cost / floor).sqrt(),
        below: floor * cost,
        capped: [cap * cost, floor / (cap - floor)],
    });
    let s =
        break_points::solve(&mut points.collect::<Vec<_>>(), |Sums { below, capped: [cost, stretch] }| {
            ((below + cost + overhead_secs) / (devices + stretch)).sqrt()
        });
    let q: Vec<f64> = (0..floors.len()).map(|n| clipped(floors[n], caps[n], costs[n], s)).collect();

    let residual = surrogate_residual(model, &floors, &q);
    Ok(Plan::new(problem.fleet(), PlanStatus::Optimal, q).with_kkt_residual(residual))
}

/// lo_n for every device, if P3 has a feasible point.
pub(crate) fn surrogate_floors(model: &RoundModel<'_, '_>) -> Result<Vec<f64>, PlanError> {
    let fleet = model.problem().fleet();
    let floors: Vec<f64> = fleet.weights().iter().map(|&weight| model.surrogate_floor(weight)).collect();
    let excess = |n: &usize| floors[*n] / fleet.availability()[*n];
    // Of several devices, name the one that is furthest from fitting.
    let worst = (0..fleet.len()).max_by(|a, b| excess(a).total_cmp(&excess(b)));
    match worst {
        Some(position) if excess(&position) >= 1.0 => Err(PlanError::SurrogateInfeasible {
            name: fleet.name(position).to_owned(),
            position,
            floor: floors[position],
            cap: fleet.availability()[position],
        }),
        _ => Ok(floors),
    }
}

/// The distance of `q`, above its floors, from (q − lo)² = s² lo/c with s² = B/A.
pub(crate) fn surrogate_residual(model: &RoundModel<'_, '_>, floors: &[f64], q: &[f64]) -> f64 {
    let problem = model.problem();
    let (caps, costs) = (problem.fleet().availability(), problem.cost_secs());
    if q.iter().zip(floors).any(|(q, floor)| q <= floor) {
        return f64::INFINITY;
    }
    let stretch: f64 = q.iter().zip(floors).map(|(q, floor)| q / (q - floor)).sum();
    let s = (problem.linear_bound_secs(q) / stretch).sqrt();
    kkt::residual(q, |n| clipped(floors[n], caps[n], costs[n], s))
}

/// min(cap, lo + s √(lo/c)), also where c = 0.
fn clipped(floor: f64, cap: f64, cost_secs: f64, s: f64) -> f64 {
    let step = s * (floor / cost_secs).sqrt();
    // NaN (0·∞) where both s and the cost are 0: nothing is at stake, and the cap is as good as any.
    if floor + step < cap { floor + step } else { cap }
}
