//! Everything worth knowing about a plan before it is run.

use crate::monte_carlo::{self, Estimate};
use crate::plan::Plan;
use crate::problem::Problem;
use crate::round_time;

/// The models of the round time, side by side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundSecs {
    /// Σ q c: what P2 and P3 minimise with.
    pub linear_bound: f64,
    /// Σ q t/f + E[max τ].
    pub theorem2_bound: f64,
    /// T(q), the paper's approximation under the expected bandwidth.
    pub expected_bandwidth: f64,
    /// E[T̂].
    pub mean: Estimate,
}

/// What a plan leads to.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Σ q.
    pub expected_participants: f64,
    /// Π (1 − q): how often a round has nobody in it.
    pub empty_round_probability: f64,
    /// C(q) = Σ a²/q.
    pub sampling_noise: f64,
    /// max a/q: how far one update can move the model.
    pub largest_weight: f64,
    /// R(q); none if the noise reaches β, or if α and β are not known.
    pub rounds: Option<f64>,
    /// P2's objective, in seconds; none where there are no rounds.
    pub objective_p2: Option<f64>,
    /// P3's objective, in seconds; none outside its domain, or if α and β are not known.
    pub objective_p3: Option<f64>,
    /// How long a round takes.
    pub round_secs: RoundSecs,
    /// R(q) · E[T̂]; none where there are no rounds.
    pub total_secs: Option<f64>,
}

impl Evaluation {
    /// Evaluates `plan`; `draws` of the Monte Carlo estimate, or as many as the fleet's size suggests.
    pub fn new(problem: &Problem<'_>, plan: &Plan, seed: u64, draws: Option<u64>) -> Self {
        let (fleet, band, q) = (problem.fleet(), problem.band(), plan.q());
        let expected_participants = q.iter().sum();
        let draws = draws.unwrap_or_else(|| monte_carlo::default_draws(expected_participants));
        let mean = monte_carlo::round_secs(fleet, q, band, seed, draws);
        let rounds = problem.rounds(q);
        Self {
            expected_participants,
            empty_round_probability: q.iter().map(|&q| (-q).ln_1p()).sum::<f64>().exp(),
            sampling_noise: problem.sampling_noise(q),
            largest_weight: plan.aggregation_weights().iter().copied().fold(0.0, f64::max),
            rounds,
            objective_p2: problem.objective_p2(q),
            objective_p3: problem.objective_p3(q),
            round_secs: RoundSecs {
                linear_bound: problem.linear_bound_secs(q),
                theorem2_bound: round_time::theorem2_bound_secs(fleet, q, band),
                expected_bandwidth: round_time::expected_bandwidth_secs(fleet, q, band),
                mean,
            },
            total_secs: rounds.map(|rounds| rounds * mean.mean),
        }
    }

    /// The same where the problem's α and β only stand in for what nobody has measured: a round is what it is, and
    /// how many it takes is not known.
    pub fn without_rounds(self) -> Self {
        Self { rounds: None, objective_p2: None, objective_p3: None, total_secs: None, ..self }
    }
}
