//! The predicted outcome of a plan.

use crate::monte_carlo::{self, Estimate};
use crate::plan::Plan;
use crate::planning::{Planning, drawn_round_secs};
use crate::problem::{Problem, RoundModel};
use crate::round_time;
use crate::schedule::Schedule;

/// Four models of the mean round time, with the download and the overhead of a round.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct RoundSecs {
    /// o + Σ q c: the bound that P2 and P3 minimise.
    pub linear_bound: f64,
    /// o + Σ q t/f + E[max τ]: Theorem 2's first bound.
    pub theorem2_bound: f64,
    /// T(q), the paper's approximation under the expected bandwidth; none on a band of spectrum.
    pub expected_bandwidth: Option<f64>,
    /// o: the part that every round takes, whoever takes part.
    pub overhead: f64,
    /// The mean itself, estimated by Monte Carlo.
    #[serde(flatten)]
    pub mean: Estimate,
}

/// What a plan is expected to do.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Evaluation {
    /// Σ q: the mean size of a cohort.
    pub expected_participants: f64,
    /// Π (1 − q): the probability that a cohort is empty; none if cohorts depend on what devices report.
    pub empty_round_probability: Option<f64>,
    /// The sampling variance C(q) = Σ a²/q of a round.
    pub sampling_variance: f64,
    /// max a/q: the largest factor that multiplies an update.
    pub largest_weight: f64,
    /// R(q); none if the sampling variance reaches β, or if α and β are unknown.
    pub rounds: Option<f64>,
    /// P2's objective in seconds; none where there are no rounds.
    pub objective_p2: Option<f64>,
    /// P3's objective in seconds; none outside its domain, or if α and β are unknown.
    pub objective_p3: Option<f64>,
    /// The mean length of a round; none if cohorts depend on what devices report.
    pub round_secs: Option<RoundSecs>,
    /// R(q) times the mean round time; none where there are no rounds.
    pub total_secs: Option<f64>,
}

impl Evaluation {
    /// Evaluates a plan of `planning`. Without `draws`, the number of cohorts drawn follows from the expected participants.
    pub fn new(problem: &Problem<'_>, plan: &Plan, planning: &Planning, draws: Option<u64>) -> Self {
        let q = plan.q();
        let expected_participants = q.iter().sum();
        let draws =
            draws.unwrap_or_else(|| monte_carlo::default_draws(problem.costs().band, expected_participants));
        if !planning.scheme.method().flips_coins() {
            return Self::of_draws(problem, plan, planning, draws);
        }
        let constants = planning.constants;
        let mean = monte_carlo::round_secs(problem, q, planning.seed, draws);
        let model = constants.map(|constants| RoundModel::new(problem, constants));
        let rounds = model.and_then(|model| model.rounds(q));
        Self {
            expected_participants,
            empty_round_probability: Some(q.iter().map(|&q| (-q).ln_1p()).sum::<f64>().exp()),
            sampling_variance: problem.sampling_variance(q),
            largest_weight: plan.aggregation_weights().iter().copied().fold(0.0, f64::max),
            rounds,
            objective_p2: model.and_then(|model| model.objective_p2(q)),
            objective_p3: model.and_then(|model| model.objective_p3(q)),
            round_secs: Some(RoundSecs {
                linear_bound: problem.linear_bound_secs(q),
                theorem2_bound: round_time::theorem2_bound_secs(problem, q),
                expected_bandwidth: round_time::expected_bandwidth_secs(problem, q),
                overhead: problem.overhead_secs(),
                mean,
            }),
            total_secs: rounds.map(|rounds| rounds * mean.mean),
        }
    }

    /// Cohorts that are not independent coins: the round model and Theorem 2 say nothing about them, and the mean round time
    /// comes from the cohorts themselves. Σ q c bounds it for any way of drawing.
    fn of_draws(problem: &Problem<'_>, plan: &Plan, planning: &Planning, draws: u64) -> Self {
        let mean = drawn_round_secs(problem, planning, &Schedule::new(plan.clone(), 1), draws);
        let linear_bound = problem.linear_bound_secs(plan.q());
        Self {
            expected_participants: plan.q().iter().sum(),
            empty_round_probability: mean.map(|_| 0.0),
            sampling_variance: problem.sampling_variance(plan.q()),
            largest_weight: plan.aggregation_weights().iter().copied().fold(0.0, f64::max),
            rounds: None,
            objective_p2: None,
            objective_p3: None,
            round_secs: mean.map(|mean| RoundSecs {
                linear_bound,
                theorem2_bound: linear_bound,
                expected_bandwidth: None,
                overhead: problem.overhead_secs(),
                mean,
            }),
            total_secs: None,
        }
    }
}
