//! A plan as JSON: one object, the same from `plan` and, per scheme, from `plan --compare`.

use fedflip_plan::{Constants, Evaluation, Interval};
use fedflip_record::RecordedCosts;
use serde::Serialize;

use super::settings::{ConstantsSource, PlanSettings};
use super::solved::{Outlook, SolvedPlan};

/// What `plan --json` prints.
#[derive(Serialize)]
pub struct PlanJson<'a> {
    scheme: String,
    status: &'static str,
    devices: usize,
    /// Null where devices share spectrum.
    bandwidth_mbps: Option<f64>,
    costs: RecordedCosts,
    /// Null where the constants are unknown, as are β, the rounds and the total time.
    alpha: Option<f64>,
    beta: Option<f64>,
    /// The pilots from which α and β were estimated, or null.
    pilots: Option<PilotsJson>,
    names: Vec<&'a str>,
    q: &'a [f64],
    /// The aggregation weight a/q of each device.
    weights: &'a [f64],
    #[serde(flatten)]
    evaluation: &'a Evaluation,
    /// The variance that `auto` was asked for, which caps may exceed; null under other schemes.
    sampling_variance_asked: Option<f64>,
    kkt_residual: Option<f64>,
    /// The proven largest distance of the plan's objective from the optimum, as a share; null where none is known.
    optimality_gap: Option<f64>,
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

impl<'a> PlanJson<'a> {
    /// All that is known of a plan.
    pub fn new(settings: &'a PlanSettings, solved: &'a SolvedPlan<'_>) -> Self {
        let Outlook { evaluation, optimality_gap } = &*solved.outlook;
        let (fleet, planning, plan) = (&settings.fleet, &settings.planning, &*solved.plan);
        let is_asked = !solved.given && solved.scheme.needs_variance();
        Self {
            scheme: solved.title(),
            status: plan.status().name(),
            devices: plan.q().len(),
            bandwidth_mbps: settings.bandwidth_mbps(),
            costs: settings.costs.into(),
            alpha: planning.constants.map(Constants::alpha),
            beta: planning.constants.map(Constants::beta),
            pilots: PilotsJson::new(settings.constants),
            names: (0..fleet.len()).map(|position| fleet.name(position)).collect(),
            q: plan.q(),
            weights: plan.aggregation_weights(),
            evaluation,
            sampling_variance_asked: is_asked.then_some(planning.variance),
            kkt_residual: plan.kkt_residual(),
            optimality_gap: *optimality_gap,
            convex_programs: plan.convex_programs(),
            solve_secs: solved.solve_secs,
            seed: planning.seed,
            warnings: &solved.warnings,
        }
    }
}
