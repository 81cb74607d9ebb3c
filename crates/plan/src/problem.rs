//! What is given, and the two objectives of the paper.

use fedflip_fleet::{Fleet, Mbps};

use crate::constants::Constants;
use crate::error::PlanError;

/// A fleet, a band and the constants of the round model: one planning problem that has a solution.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    fleet: &'a Fleet,
    band: Mbps,
    constants: Constants,
    cost_secs: Vec<f64>,
}

impl<'a> Problem<'a> {
    /// Refuses constants whose target no q can reach.
    pub fn new(fleet: &'a Fleet, band: Mbps, constants: Constants) -> Result<Self, PlanError> {
        let least_noise = sampling_noise(fleet.weights(), fleet.availability());
        if least_noise >= constants.beta() {
            let (worst, worst_noise) = noisiest(fleet, fleet.availability());
            return Err(PlanError::Unreachable {
                beta: constants.beta(),
                least_noise,
                worst: fleet.name(worst).to_owned(),
                worst_noise,
            });
        }
        let times = fleet.compute_secs().iter().zip(fleet.comm_secs());
        let cost_secs = times.map(|(tau, t)| t / band.get() + tau).collect();
        Ok(Self { fleet, band, constants, cost_secs })
    }

    /// The devices.
    pub fn fleet(&self) -> &'a Fleet {
        self.fleet
    }

    /// f_tot.
    pub fn band(&self) -> Mbps {
        self.band
    }

    /// α and β.
    pub fn constants(&self) -> Constants {
        self.constants
    }

    /// c_n = t_n/f_tot + τ_n: what one sure participation costs in the paper's upper bound.
    pub fn cost_secs(&self) -> &[f64] {
        &self.cost_secs
    }

    /// C(q) = Σ a_n²/q_n.
    pub fn sampling_noise(&self, q: &[f64]) -> f64 {
        sampling_noise(self.fleet.weights(), q)
    }

    /// β − C(q), if that is positive: the target can be reached with this q.
    pub fn headroom(&self, q: &[f64]) -> Option<f64> {
        Some(self.constants.beta() - self.sampling_noise(q)).filter(|&headroom| headroom > 0.0)
    }

    /// R(q) = α/(β − C(q)), if the target can be reached.
    pub fn rounds(&self, q: &[f64]) -> Option<f64> {
        self.constants.rounds(self.sampling_noise(q))
    }

    /// Σ q_n c_n.
    pub fn linear_bound_secs(&self, q: &[f64]) -> f64 {
        q.iter().zip(&self.cost_secs).map(|(q, cost)| q * cost).sum()
    }

    /// P2's objective: R(q) · Σ q_n c_n, in seconds.
    pub fn objective_p2(&self, q: &[f64]) -> Option<f64> {
        self.rounds(q).map(|rounds| rounds * self.linear_bound_secs(q))
    }

    /// lo_n = a_n² N/β, below which P3's surrogate is not defined.
    pub fn surrogate_floor(&self, position: usize) -> f64 {
        self.fleet.weights()[position].powi(2) * self.fleet.len() as f64 / self.constants.beta()
    }

    /// P3's objective: Σ α q_n/(Nβ q_n − a_n² N²) · Σ q_n c_n, in seconds; none outside its domain.
    pub fn objective_p3(&self, q: &[f64]) -> Option<f64> {
        let mut stretch = 0.0;
        for (n, &q) in q.iter().enumerate() {
            let floor = self.surrogate_floor(n);
            if q <= floor {
                return None;
            }
            stretch += q / (q - floor);
        }
        let scale = self.constants.alpha() / (self.fleet.len() as f64 * self.constants.beta());
        Some(scale * stretch * self.linear_bound_secs(q))
    }
}

/// The device that adds most to Σ a²/q, and how much.
pub fn noisiest(fleet: &Fleet, q: &[f64]) -> (usize, f64) {
    let noise = fleet.weights().iter().zip(q).map(|(a, q)| a * a / q);
    noise.enumerate().fold((0, 0.0), |worst, (n, noise)| if noise > worst.1 { (n, noise) } else { worst })
}

/// Σ a_n²/q_n. Devices with q = 0 are not part of a plan: the shares a are those of the others then.
pub fn sampling_noise(weights: &[f64], q: &[f64]) -> f64 {
    let noise: f64 = weights.iter().zip(q).map(|(a, q)| a * a / q).sum();
    if noise.is_finite() {
        return noise;
    }
    let planned = || weights.iter().zip(q).filter(|(_, q)| **q > 0.0);
    let total: f64 = planned().map(|(a, _)| a).sum();
    planned().map(|(a, q)| (a / total).powi(2) / q).sum()
}
