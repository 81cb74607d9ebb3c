//! A plan as JSON: one object, the same from `plan` and, per scheme, from `plan --compare`.

use fedflip_plan::{Constants, Interval};
use serde::Serialize;

use super::plan::SolvedPlan;
use crate::settings::{ConstantsSource, PlanSettings};

#[derive(Serialize)]
pub(super) struct PlanJson<'a> {
    scheme: String,
    status: &'static str,
    devices: usize,
    bandwidth_mbps: f64,
    /// Null where the constants are unknown, as are β, the rounds and the total time.
    alpha: Option<f64>,
    beta: Option<f64>,
    /// The pilots from which α and β were estimated, or null.
    pilots: Option<PilotsJson>,
    names: Vec<&'a str>,
    q: &'a [f64],
    /// a/q.
    weights: &'a [f64],
    expected_participants: f64,
    empty_round_probability: f64,
    sampling_variance: f64,
    /// The variance that `auto` was asked for, which caps may exceed; null under other schemes.
    sampling_variance_asked: Option<f64>,
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
    fn new(source: Option<ConstantsSource>) -> Option<Self> {
        let Some(ConstantsSource::Pilots { fit, count }) = source else { return None };
        let ends = |interval: Interval| {
            [interval.low, interval.high].map(|end| Some(end).filter(|end| end.is_finite()))
        };
        Some(Self {
            count,
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
    pub(super) fn new(settings: &'a PlanSettings, solved: &'a SolvedPlan) -> Self {
        let SolvedPlan { scheme, plan, evaluation, solve_secs, warnings } = solved;
        let (fleet, planning) = (&settings.fleet, settings.planning);
        let round = evaluation.round_secs;
        Self {
            scheme: scheme.to_string(),
            status: plan.status().name(),
            devices: plan.q().len(),
            bandwidth_mbps: settings.bandwidth.get(),
            alpha: planning.constants.map(Constants::alpha),
            beta: planning.constants.map(Constants::beta),
            pilots: PilotsJson::new(settings.constants),
            names: (0..fleet.len()).map(|position| fleet.name(position)).collect(),
            q: plan.q(),
            weights: plan.aggregation_weights(),
            expected_participants: evaluation.expected_participants,
            empty_round_probability: evaluation.empty_round_probability,
            sampling_variance: evaluation.sampling_variance,
            sampling_variance_asked: scheme.needs_variance().then_some(planning.variance),
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
            seed: planning.seed,
            warnings,
        }
    }
}
