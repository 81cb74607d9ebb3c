//! The draw probabilities of Luo et al. against CVXPY and L-BFGS (`tests/golden/luo.py`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "other tests use the rest of what they share")]

mod common;

use common::{Columns, assert_close, golden, mbps};
use fedflip_fleet::{RoundCosts, Secs};
use fedflip_plan::{CohortSize, GradientBounds, PlanStatus, Planning, Problem, Scheme, solve};
use serde::Deserialize;

#[derive(Deserialize)]
struct LuoCase {
    fleet: Columns,
    bandwidth_mbps: f64,
    draws: usize,
    norms: Vec<f64>,
    offset: f64,
    overhead_secs: f64,
    q: Vec<f64>,
    objective: f64,
}

impl LuoCase {
    /// (Σ a² G²/q + B)·Σ q c, written out anew.
    fn objective_at(&self, q: &[f64]) -> f64 {
        let total: f64 = self.fleet.samples.iter().sum();
        let (mut spread, mut round_secs) = (self.offset, 0.0);
        for (n, q) in q.iter().enumerate() {
            spread += (self.fleet.samples[n] / total * self.norms[n]).powi(2) / q;
            let upload_secs = self.draws as f64 * self.fleet.comm_secs[n] / self.bandwidth_mbps;
            round_secs += q * (self.overhead_secs + self.fleet.compute_secs[n] + upload_secs);
        }
        spread * round_secs
    }
}

#[test]
fn draw_probabilities_are_the_optima_of_two_other_solvers() {
    let cases = golden::<Vec<LuoCase>>("luo.json");
    assert!(cases.len() >= 50);
    let mut with_offset = 0;
    for case in &cases {
        let fleet = case.fleet.fleet();
        let overhead = Secs::new(case.overhead_secs).unwrap();
        let costs = RoundCosts::from(mbps(case.bandwidth_mbps)).with_overhead(overhead);
        let scheme = Scheme::Luo(CohortSize::new(case.draws).unwrap());
        let gradient_bounds = GradientBounds::new(&case.norms, case.offset).unwrap();
        let planning = Planning { gradient_bounds, ..Planning::new(scheme) };
        let plan = solve(&Problem::new(&fleet, costs), &planning).unwrap();
        let q = plan.draw_probabilities().unwrap();
        assert_close("the objective at its q", case.objective_at(&case.q), case.objective, 1e-9);
        assert_close("luo", case.objective_at(q), case.objective, 1e-6);
        assert!(case.objective_at(q) <= case.objective * (1.0 + 1e-12), "at least as good");
        assert!(plan.kkt_residual().unwrap() < 1e-10, "{:?}", plan.kkt_residual());
        assert_eq!(plan.status(), PlanStatus::Optimal);
        for (ours, theirs) in q.iter().zip(&case.q) {
            assert!((ours - theirs).abs() < 1e-4, "{ours} is not {theirs}");
        }
        with_offset += usize::from(case.offset > 0.0);
    }
    assert!(with_offset > 30);
}
