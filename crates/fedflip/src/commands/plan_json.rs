//! A plan as JSON: one object, the same from `plan` and, per scheme, from `plan --compare`.

use fedflip_plan::{Constants, Interval, Problem, Scheme};
use serde::Serialize;

use super::plan::Planned;
use crate::settings::{ConstantsSource, PlanSettings};

#[derive(Serialize)]
pub(super) struct PlanJson<'a> {
    scheme: String,
    status: &'static str,
    devices: usize,
    bandwidth_mbps: f64,
    /// Null, with β, rounds and what they take, where nobody gave them.
    alpha: Option<f64>,
    beta: Option<f64>,
    /// Where α and β come from; null unless it is pilots.
    pilots: Option<PilotsJson>,
    q: &'a [f64],
    expected_participants: f64,
    empty_round_probability: f64,
    sampling_noise: f64,
    /// What `auto` was allowed, which caps may exceed; null under other schemes.
    sampling_noise_allowed: Option<f64>,
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

/// 95 % confidence intervals; null with two pilots, which always fit. An open end is null.
#[derive(Serialize)]
struct PilotsJson {
    count: usize,
    alpha_interval: Option<[Option<f64>; 2]>,
    beta_interval: Option<[Option<f64>; 2]>,
}

impl PilotsJson {
    fn new(source: &ConstantsSource) -> Option<Self> {
        let ConstantsSource::Pilots { fit, count } = source else { return None };
        let ends = |interval: Interval| {
            [interval.low, interval.high].map(|end| Some(end).filter(|end| end.is_finite()))
        };
        Some(Self {
            count: *count,
            alpha_interval: fit.alpha_interval.map(ends),
            beta_interval: fit.beta_interval.map(ends),
        })
    }
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
    pub(super) fn new(problem: &Problem<'_>, settings: &PlanSettings, planned: &'a Planned) -> Self {
        let Planned { plan, evaluation, solve_secs, warnings } = planned;
        let round = evaluation.round_secs;
        Self {
            scheme: plan.scheme().to_string(),
            status: plan.status().name(),
            devices: plan.q().len(),
            bandwidth_mbps: problem.band().get(),
            alpha: settings.constants.known().map(Constants::alpha),
            beta: settings.constants.known().map(Constants::beta),
            pilots: PilotsJson::new(&settings.constants),
            q: plan.q(),
            expected_participants: evaluation.expected_participants,
            empty_round_probability: evaluation.empty_round_probability,
            sampling_noise: evaluation.sampling_noise,
            sampling_noise_allowed: (plan.scheme() == Scheme::Auto).then_some(settings.solver.noise),
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
            solve_secs: *solve_secs,
            seed: settings.solver.seed,
            warnings,
        }
    }
}
