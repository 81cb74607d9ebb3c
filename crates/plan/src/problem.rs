//! The given quantities of a planning problem, and what a plan is optimised for.

use fedflip_fleet::{Fleet, Mbps};

use crate::constants::Constants;
use crate::error::PlanError;
use crate::variance::{least_sampling_variance, sampling_variance};

/// A fleet whose devices share one bandwidth.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    fleet: &'a Fleet,
    bandwidth: Mbps,
    cost_secs: Vec<f64>,
    least_variance: f64,
}

impl<'a> Problem<'a> {
    /// Computes each device's cost and the least sampling variance that the fleet allows.
    pub fn new(fleet: &'a Fleet, bandwidth: Mbps) -> Self {
        let times = fleet.compute_secs().iter().zip(fleet.comm_secs());
        let cost_secs = times.map(|(tau, t)| t / bandwidth.get() + tau).collect();
        Self { fleet, bandwidth, cost_secs, least_variance: least_sampling_variance(fleet) }
    }

    /// The devices.
    pub fn fleet(&self) -> &'a Fleet {
        self.fleet
    }

    /// f_tot, which the devices of a cohort share.
    pub fn bandwidth(&self) -> Mbps {
        self.bandwidth
    }

    /// c_n = t_n/f_tot + τ_n: what one certain participation costs in the paper's upper bound.
    pub fn cost_secs(&self) -> &[f64] {
        &self.cost_secs
    }

    /// Σ a_n²/cap_n: the sampling variance when every device takes part as often as it can.
    pub fn least_variance(&self) -> f64 {
        self.least_variance
    }

    /// C(q) = Σ a_n²/q_n.
    pub fn sampling_variance(&self, q: &[f64]) -> f64 {
        sampling_variance(self.fleet.weights(), q)
    }

    /// Σ q_n c_n, the paper's upper bound on the mean round time.
    pub fn linear_bound_secs(&self, q: &[f64]) -> f64 {
        q.iter().zip(&self.cost_secs).map(|(q, cost)| q * cost).sum()
    }
}

/// What an optimised plan is optimal for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// Reach the target in the least time, where α and β predict the number of rounds.
    Rounds(Constants),
    /// Spend the fewest device seconds on rounds of this sampling variance. No constants are needed, and the number of
    /// rounds stays unknown. Devices at their caps may leave the plan above the variance.
    Variance(f64),
}

impl Goal {
    /// β of the ratio (Σ q c)/(β − C(q)) that the plan minimises.
    ///
    /// Below the caps the optimum of that ratio has the variance β/2, so a variance V is the goal β = 2V. A V that no q
    /// attains becomes the least attainable one.
    pub(crate) fn beta(self, problem: &Problem<'_>) -> f64 {
        match self {
            Self::Rounds(constants) => constants.beta(),
            Self::Variance(variance) => 2.0 * problem.least_variance.max(variance),
        }
    }

    /// The time to the target when rounds take `round_secs` on average; none if `q` cannot reach it.
    ///
    /// For [`Goal::Variance`] the unit is arbitrary but the same for every q, so plans can be ranked.
    pub fn total_secs(self, problem: &Problem<'_>, q: &[f64], round_secs: f64) -> Option<f64> {
        let rounds = match self {
            Self::Rounds(constants) => constants.rounds(problem.sampling_variance(q))?,
            Self::Variance(_) => {
                let headroom = self.beta(problem) - problem.sampling_variance(q);
                (headroom > 0.0).then(|| 1.0 / headroom)?
            }
        };
        Some(rounds * round_secs)
    }
}

/// A problem with known constants: the round model R(q) = α/(β − C(q)), and the objectives of P2 and P3.
#[derive(Clone, Copy, Debug)]
pub struct RoundModel<'p, 'a> {
    problem: &'p Problem<'a>,
    constants: Constants,
}

impl<'p, 'a> RoundModel<'p, 'a> {
    /// The round model of `problem`, whether or not some q reaches the target.
    pub fn new(problem: &'p Problem<'a>, constants: Constants) -> Self {
        Self { problem, constants }
    }

    /// Refuses constants whose target no q can reach.
    pub fn reachable(problem: &'p Problem<'a>, constants: Constants) -> Result<Self, PlanError> {
        if problem.least_variance < constants.beta() {
            return Ok(Self { problem, constants });
        }
        let fleet = problem.fleet;
        let (worst, worst_variance) = largest_term(fleet, fleet.availability());
        Err(PlanError::Unreachable {
            beta: constants.beta(),
            least_variance: problem.least_variance,
            worst: fleet.name(worst).to_owned(),
            worst_variance,
        })
    }

    pub(crate) fn problem(&self) -> &'p Problem<'a> {
        self.problem
    }

    pub(crate) fn beta(&self) -> f64 {
        self.constants.beta()
    }

    /// β − C(q) where it is positive, so that q reaches the target.
    pub fn headroom(&self, q: &[f64]) -> Option<f64> {
        Some(self.beta() - self.problem.sampling_variance(q)).filter(|&headroom| headroom > 0.0)
    }

    /// R(q) = α/(β − C(q)), if q reaches the target.
    pub fn rounds(&self, q: &[f64]) -> Option<f64> {
        self.constants.rounds(self.problem.sampling_variance(q))
    }

    /// P2's objective: R(q) · Σ q_n c_n, in seconds.
    pub fn objective_p2(&self, q: &[f64]) -> Option<f64> {
        self.rounds(q).map(|rounds| rounds * self.problem.linear_bound_secs(q))
    }

    /// lo_n = a_n² N/β of a device with the data share a_n: P3's surrogate is only defined above it.
    pub fn surrogate_floor(&self, weight: f64) -> f64 {
        weight.powi(2) * self.problem.fleet.len() as f64 / self.beta()
    }

    /// P3's objective: Σ α q_n/(Nβ q_n − a_n² N²) · Σ q_n c_n, in seconds; none outside its domain.
    pub fn objective_p3(&self, q: &[f64]) -> Option<f64> {
        let mut stretch = 0.0;
        for (&q, &weight) in q.iter().zip(self.problem.fleet.weights()) {
            let floor = self.surrogate_floor(weight);
            if q <= floor {
                return None;
            }
            stretch += q / (q - floor);
        }
        let scale = self.constants.alpha() / (self.problem.fleet.len() as f64 * self.beta());
        Some(scale * stretch * self.problem.linear_bound_secs(q))
    }
}

/// The device that contributes most to Σ a²/q, and its term.
pub fn largest_term(fleet: &Fleet, q: &[f64]) -> (usize, f64) {
    let terms = fleet.weights().iter().zip(q).map(|(a, q)| a * a / q);
    terms.enumerate().fold((0, 0.0), |worst, (n, term)| if term > worst.1 { (n, term) } else { worst })
}
