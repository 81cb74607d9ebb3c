//! Theorem 1: a bound on the distance from a stationary point after R rounds.
//!
//! If N Σ a²/q ≤ p and η ≤ 1/(4Lp), then the mean over R rounds of E‖∇F(x_r)‖² is at most
//! `4(F(x_0) − F*)/(ηR) + 4ηLN(ε² + σ²) Σ a²/q`.

use crate::constants::Constants;
use crate::error::PlanError;

/// The quantities that the theorem assumes to be known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Assumptions {
    /// The number of devices N.
    pub devices: usize,
    /// The learning rate η.
    pub learning_rate: f64,
    /// L: Lipschitz constant of the gradients.
    pub smoothness: f64,
    /// ε²: the squared distance of local gradients from the global one.
    pub divergence_sq: f64,
    /// σ²: the variance of stochastic gradients.
    pub gradient_variance: f64,
    /// F(x_0) − F*: the distance of the initial loss from its minimum.
    pub initial_gap: f64,
}

/// The theorem applied to one sampling variance C(q).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Theorem1 {
    assumptions: Assumptions,
    sampling_variance: f64,
    p: f64,
}

impl Assumptions {
    /// Checks that every value is in its range.
    pub fn checked(self) -> Result<Self, PlanError> {
        let positive = [
            ("learning_rate", self.learning_rate),
            ("smoothness", self.smoothness),
            ("initial_gap", self.initial_gap),
        ];
        for (name, value) in positive {
            if !(1e-100..=1e100).contains(&value) {
                return Err(PlanError::BadNumber { name, value, wanted: "a number above 0, at most 1e100" });
            }
        }
        for (name, value) in
            [("divergence_sq", self.divergence_sq), ("gradient_variance", self.gradient_variance)]
        {
            if !(0.0..=1e100).contains(&value) {
                return Err(PlanError::BadNumber { name, value, wanted: "a number from 0 to 1e100" });
            }
        }
        Ok(self)
    }

    /// 4ηLN(ε² + σ²): the contribution of one unit of sampling variance to the bound.
    fn variance_price(&self) -> f64 {
        let spread = self.divergence_sq + self.gradient_variance;
        4.0 * self.learning_rate * self.smoothness * self.devices as f64 * spread
    }

    /// α and β of the round model for the threshold ξ; none where gradients are exact and all alike, so
    /// that sampling adds no variance.
    pub fn constants(&self, threshold: f64) -> Result<Option<Constants>, PlanError> {
        self.round_model(threshold).map(|(alpha, beta)| Constants::new(alpha, beta)).transpose()
    }

    /// α and β as plain numbers, whatever their size.
    pub fn round_model(&self, threshold: f64) -> Option<(f64, f64)> {
        let price = self.variance_price();
        (price > 0.0).then(|| (4.0 * self.initial_gap / (self.learning_rate * price), threshold / price))
    }

    /// The theorem for C(q); without `p`, the smallest that the first condition allows.
    pub fn theorem(self, sampling_variance: f64, p: Option<f64>) -> Result<Theorem1, PlanError> {
        let assumptions = self.checked()?;
        let least = assumptions.devices as f64 * sampling_variance;
        let p = p.unwrap_or(least);
        if !(1e-100..=1e100).contains(&p) {
            return Err(PlanError::BadNumber {
                name: "p",
                value: p,
                wanted: "a number above 0, at most 1e100",
            });
        }
        Ok(Theorem1 { assumptions, sampling_variance, p })
    }
}

impl Theorem1 {
    /// The constant p of the two conditions.
    pub fn p(&self) -> f64 {
        self.p
    }

    /// N Σ a²/q, which must not exceed p.
    pub fn scaled_variance(&self) -> f64 {
        self.assumptions.devices as f64 * self.sampling_variance
    }

    /// Whether N Σ a²/q ≤ p.
    pub fn variance_condition_holds(&self) -> bool {
        self.scaled_variance() <= self.p
    }

    /// 1/(4Lp), which the learning rate must not exceed.
    pub fn learning_rate_max(&self) -> f64 {
        1.0 / (4.0 * self.assumptions.smoothness * self.p)
    }

    /// Whether the learning rate satisfies η ≤ 1/(4Lp).
    pub fn learning_rate_condition_holds(&self) -> bool {
        self.assumptions.learning_rate <= self.learning_rate_max()
    }

    /// The bound as R → ∞: no number of rounds gets below.
    pub fn floor(&self) -> f64 {
        self.assumptions.variance_price() * self.sampling_variance
    }

    /// The bound after `rounds`; it holds only under both conditions.
    pub fn bound(&self, rounds: f64) -> f64 {
        4.0 * self.assumptions.initial_gap / (self.assumptions.learning_rate * rounds) + self.floor()
    }

    /// The rounds after which the bound is at most `threshold`; none if it lies at or below the floor.
    pub fn rounds_to(&self, threshold: f64) -> Option<f64> {
        let headroom = threshold - self.floor();
        (headroom > 0.0)
            .then(|| 4.0 * self.assumptions.initial_gap / (self.assumptions.learning_rate * headroom))
    }

    /// The two conditions under which the paper has P2's denominator positive for every feasible q:
    /// ξ > ε² + σ², and η ≤ min(1/(4Lp), 1/(4LN²)).
    pub fn paper_p2_conditions(&self, threshold: f64) -> (bool, bool) {
        let Assumptions { devices, learning_rate, smoothness, divergence_sq, gradient_variance, .. } =
            self.assumptions;
        let learning_rate_max =
            self.learning_rate_max().min(1.0 / (4.0 * smoothness * (devices as f64).powi(2)));
        (threshold > divergence_sq + gradient_variance, learning_rate <= learning_rate_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASSUMPTIONS: Assumptions = Assumptions {
        devices: 10,
        learning_rate: 0.01,
        smoothness: 2.0,
        divergence_sq: 0.5,
        gradient_variance: 1.5,
        initial_gap: 2.3,
    };

    #[test]
    fn by_hand() {
        let theorem = ASSUMPTIONS.theorem(0.2, None).unwrap();
        assert_eq!(theorem.p(), 2.0);
        assert_eq!(theorem.learning_rate_max(), 1.0 / 16.0);
        assert!(theorem.variance_condition_holds() && theorem.learning_rate_condition_holds());
        // 4·0.01·2·10·2 · 0.2 = 0.32, and 4·2.3/(0.01·1000) = 0.92.
        assert!((theorem.floor() - 0.32).abs() < 1e-15);
        assert!((theorem.bound(1000.0) - 1.24).abs() < 1e-12);
        assert_eq!(theorem.rounds_to(0.32), None);
    }

    #[test]
    fn the_round_model_is_the_theorem_solved_for_rounds() {
        let theorem = ASSUMPTIONS.theorem(0.2, None).unwrap();
        let constants = ASSUMPTIONS.constants(1.0).unwrap().unwrap();
        let rounds = theorem.rounds_to(1.0).unwrap();
        assert!((theorem.bound(rounds) - 1.0).abs() < 1e-12);
        assert!((constants.alpha() / (constants.beta() - 0.2) / rounds - 1.0).abs() < 1e-12);
    }

    #[test]
    fn broken_conditions_are_seen() {
        assert!(!ASSUMPTIONS.theorem(0.2, Some(1.0)).unwrap().variance_condition_holds());
        let fast = Assumptions { learning_rate: 0.1, ..ASSUMPTIONS };
        assert!(!fast.theorem(0.2, None).unwrap().learning_rate_condition_holds());
        assert!(Assumptions { smoothness: 0.0, ..ASSUMPTIONS }.theorem(0.2, None).is_err());
        assert!(Assumptions { gradient_variance: f64::NAN, ..ASSUMPTIONS }.theorem(0.2, None).is_err());
    }
}
