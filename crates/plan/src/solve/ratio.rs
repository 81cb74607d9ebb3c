//! The kernel: minimise (offset + Σ q_n m_n) / (β − Σ a_n²/q_n) over 0 < q_n ≤ cap_n.
//!
//! A linear function over a concave positive one is quasi-convex, so the KKT point is the global optimum.
//! With ρ the value at the optimum, q_n = min(cap_n, a_n √(ρ/m_n)). In s = √ρ, device n is below its cap
//! while s < cap_n √m_n/a_n, and the value ρ satisfies, over the devices below (U) and at (V) their cap,
//!
//! ```text
//! ρ (β − Σ_V a²/cap − Σ_U a√m/s) = offset + Σ_V cap·m + s Σ_U a√m
//! ```
//!
//! which is a quadratic equation in s with one positive root.

use super::break_points::{self, BreakPoint, Sums};
use crate::variance::sampling_variance;

/// Solves many such problems without allocating again.
#[derive(Debug, Default)]
pub(crate) struct RatioSolver {
    points: Vec<BreakPoint>,
}

/// The data of one such problem.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ratio<'a> {
    pub weights: &'a [f64],
    pub caps: &'a [f64],
    /// m: the cost of a unit of q.
    pub cost_secs: &'a [f64],
    pub offset_secs: f64,
    pub beta: f64,
}

impl RatioSolver {
    /// Writes the optimal q. Requires β > Σ a²/cap.
    pub(crate) fn solve(&mut self, problem: Ratio<'_>, q: &mut [f64]) {
        let Ratio { weights, caps, cost_secs, offset_secs, beta } = problem;
        let devices = weights.iter().zip(caps).zip(cost_secs);
        self.points.clear();
        self.points.extend(devices.map(|((&a, &cap), &cost)| {
            let root_cost = cost.sqrt();
            BreakPoint { at: cap * root_cost / a, below: a * root_cost, capped: [cap * cost, a * a / cap] }
        }));
        let s = break_points::solve(&mut self.points, |Sums { below, capped: [cost, variance] }| {
            // β > Σ a²/cap, but another order of summation may round the other way: then only caps will do.
            let headroom = beta - variance;
            if headroom <= 0.0 {
                return f64::INFINITY;
            }
            (below + (below * below + (offset_secs + cost) * headroom).sqrt()) / headroom
        });
        for (n, q) in q.iter_mut().enumerate() {
            *q = clipped(weights[n], caps[n], cost_secs[n], s);
        }
        if sampling_variance(weights, q) >= beta {
            q.copy_from_slice(caps);
        }
    }
}

/// min(cap, a s/√m), also where m = 0: a device that costs nothing takes part as often as it can.
pub(crate) fn clipped(weight: f64, cap: f64, cost_secs: f64, root_value: f64) -> f64 {
    let root_cost = cost_secs.sqrt();
    if root_value * weight < cap * root_cost { weight * root_value / root_cost } else { cap }
}
