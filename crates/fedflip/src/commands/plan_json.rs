//! A plan as JSON: one object, the same from `plan` and, per scheme, from `plan --compare`.

use fedflip_plan::{Evaluation, Plan, Problem};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct PlanJson<'a> {
    scheme: String,
    status: &'static str,
    devices: usize,
    bandwidth_mbps: f64,
    alpha: f64,
    beta: f64,
    q: &'a [f64],
    expected_participants: f64,
    empty_round_probability: f64,
    sampling_noise: f64,
    largest_weight: f64,
    rounds: Option<f64>,
    objective_p2: Option<f64>,
    objective_p3: Option<f64>,
    round_secs: RoundSecsJson,
    total_secs: Option<f64>,
    kkt_residual: Option<f64>,
    convex_programs: usize,
    solve_secs: f64,
    seed: u64,
    warnings: &'a [String],
}

#[derive(Serialize)]
struct RoundSecsJson {
    linear_bound: f64,
    theorem2_bound: f64,
    expected_bandwidth: f64,
    mean: f64,
    std_error: f64,
    draws: u64,
}

impl<'a> PlanJson<'a> {
    pub(super) fn new(
        problem: &Problem<'_>,
        plan: &'a Plan,
        evaluation: &Evaluation,
        solve_secs: f64,
        seed: u64,
        warnings: &'a [String],
    ) -> Self {
        let round = evaluation.round_secs;
        Self {
            scheme: plan.scheme().to_string(),
            status: plan.status().name(),
            devices: plan.q().len(),
            bandwidth_mbps: problem.band().get(),
            alpha: problem.constants().alpha(),
            beta: problem.constants().beta(),
            q: plan.q(),
            expected_participants: evaluation.expected_participants,
            empty_round_probability: evaluation.empty_round_probability,
            sampling_noise: evaluation.sampling_noise,
            largest_weight: evaluation.largest_weight,
            rounds: evaluation.rounds,
            objective_p2: evaluation.objective_p2,
            objective_p3: evaluation.objective_p3,
            round_secs: RoundSecsJson {
                linear_bound: round.linear_bound,
                theorem2_bound: round.theorem2_bound,
                expected_bandwidth: round.expected_bandwidth,
                mean: round.mean.mean,
                std_error: round.mean.std_error,
                draws: round.mean.draws,
            },
            total_secs: evaluation.total_secs,
            kkt_residual: plan.kkt_residual(),
            convex_programs: plan.convex_programs(),
            solve_secs,
            seed,
            warnings,
        }
    }
}
