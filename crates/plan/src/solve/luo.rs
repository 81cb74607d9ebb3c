//! The draw probabilities of Luo et al.: min (Σ b_n/q_n + B)·Σ q_n c_n over q > 0 with Σ q = 1, where b_n = a_n² G_n².
//!
//! Stationarity on the simplex is S c_n − M b_n/q_n² = ν with S = Σ b/q + B and M = Σ q c. Multiplied by q_n and added up,
//! it gives ν = B M: one of the two multipliers is known. With λ = S/M the condition becomes
//!
//! ```text
//! q_n = √b_n / √(λ c_n − B),   Σ q_n = 1.
//! ```
//!
//! Σ q falls strictly in λ from infinity to 0, so that there is exactly one stationary point. The objective grows without
//! limit wherever a q_n goes to 0, so that a minimum exists inside, and this point is the global one although the
//! problem is not convex. No line search over M is needed.
//!
//! With g(x) = Σ q, the function g⁻² is a power mean of linear functions, concave and increasing: Newton's method from the
//! left never passes the root and takes a handful of steps.

use super::kkt;

/// Newton's method halves the distance at worst; it ends when rounding stops it.
const STEPS_MAX: usize = 200;

/// What is minimised over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Luo<'a> {
    /// The data shares a_n.
    pub weights: &'a [f64],
    /// G_n, all above 0; empty where every device has the same.
    pub norms: &'a [f64],
    /// The offset B ≥ 0 of the objective.
    pub offset: f64,
    /// c_n above 0: the time of a round if every draw were device n.
    pub cost_secs: &'a [f64],
}

impl Luo<'_> {
    /// √b_n = a_n G_n: the weight of device n in the objective.
    fn root(&self, n: usize) -> f64 {
        self.weights[n] * self.norms.get(n).copied().unwrap_or(1.0)
    }

    fn least_cost(&self) -> f64 {
        self.cost_secs.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// λ c_n − B for λ = (B + x)/c_min, as a sum without cancellation.
    fn radicand(&self, n: usize, x: f64, least: f64) -> f64 {
        (self.offset * (self.cost_secs[n] - least) + x * self.cost_secs[n]) / least
    }

    /// The optimal probabilities of a draw.
    pub(crate) fn solve(&self) -> Vec<f64> {
        let least = self.least_cost();
        // Every q_n is at most 1 at the root, and Σ q at least 1 to its left.
        let lower = |n: usize| {
            let slack = self.root(n).powi(2) - self.offset * (self.cost_secs[n] / least - 1.0);
            slack * least / self.cost_secs[n]
        };
        let devices = 0..self.weights.len();
        let mut x = devices.clone().map(lower).fold(0.0, f64::max);
        for _ in 0..STEPS_MAX {
            let (mut sum, mut slope) = (0.0, 0.0);
            for n in devices.clone() {
                let radicand = self.radicand(n, x, least);
                let q = self.root(n) / radicand.sqrt();
                sum += q;
                slope += q * self.cost_secs[n] / (least * radicand);
            }
            // f = Σ q ^ −2, f′ = Σ q ^ −3 · slope: a step to f = 1.
            let step = (sum * sum - 1.0) * sum / slope;
            let next = x + step;
            if step.is_nan() || next <= x {
                break;
            }
            x = next;
        }
        let mut q: Vec<f64> = devices.map(|n| self.root(n) / self.radicand(n, x, least).sqrt()).collect();
        let total: f64 = q.iter().sum();
        q.iter_mut().for_each(|q| *q /= total);
        q
    }

    /// The largest relative distance of a q_n from √b_n/√(λ c_n − B), and of Σ q from 1. λ is the one that the cheapest device
    /// has: S/M would be the difference of large numbers where B is large. Both conditions together are all of KKT:
    /// (λ c_n − B) q_n = b_n/q_n, added up, is λ M − B = Σ b/q, so that λ is S/M.
    pub(crate) fn kkt_residual(&self, q: &[f64]) -> f64 {
        let least = self.least_cost();
        let cheapest = self.cost_secs.iter().position(|cost| *cost <= least).unwrap_or(0);
        let x = (self.root(cheapest) / q[cheapest]).powi(2);
        let distance = kkt::residual(q, |n| self.root(n) / self.radicand(n, x, least).sqrt());
        distance.max((q.iter().sum::<f64>() - 1.0).abs())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    impl Luo<'_> {
        fn objective(&self, q: &[f64]) -> f64 {
            let spread: f64 = q.iter().enumerate().map(|(n, q)| self.root(n).powi(2) / q).sum();
            (spread + self.offset) * q.iter().zip(self.cost_secs).map(|(q, cost)| q * cost).sum::<f64>()
        }
    }

    fn shares(samples: &[f64]) -> Vec<f64> {
        let total: f64 = samples.iter().sum();
        samples.iter().map(|samples| samples / total).collect()
    }

    #[test]
    fn without_an_offset_the_optimum_has_a_closed_form() {
        let (weights, norms, costs) = ([0.2, 0.3, 0.5], [1.0, 4.0, 0.5], [3.0, 0.1, 7.0]);
        let luo = Luo { weights: &weights, norms: &norms, offset: 0.0, cost_secs: &costs };
        let expected: Vec<f64> = (0..3).map(|n| weights[n] * norms[n] / f64::sqrt(costs[n])).collect();
        for (q, expected) in luo.solve().iter().zip(shares(&expected)) {
            assert!((q / expected - 1.0).abs() < 1e-14);
        }
    }

    /// The more a round counts whatever the spread, the more often the cheapest device is drawn.
    #[test]
    fn an_offset_draws_cheap_devices() {
        let (weights, costs) = ([0.5, 0.5], [1.0, 4.0]);
        let cheap = |offset| Luo { weights: &weights, norms: &[], offset, cost_secs: &costs }.solve()[0];
        let cheap = [0.0, 1.0, 10.0, 1e6, 1e15].map(cheap);
        assert!(cheap.windows(2).all(|pair| pair[0] < pair[1]), "{cheap:?}");
        assert!(cheap[4] < 1.0 && cheap[4] > 0.999_999);
    }

    #[test]
    fn a_single_device_is_always_drawn() {
        for offset in [0.0, 1e-9, 3.0, 1e15] {
            let luo = Luo { weights: &[1.0], norms: &[0.01], offset, cost_secs: &[1e-3] };
            assert_eq!(luo.solve(), [1.0]);
        }
    }

    proptest! {
        #[test]
        fn the_optimum_is_certified_and_no_other_q_is_better(
            devices in prop::collection::vec((-3.0..3.0_f64, -4.0..4.0_f64, -2.0..2.0_f64), 1..40),
            offset in prop_oneof![Just(0.0), (-6.0..8.0_f64).prop_map(|exponent| 10_f64.powf(exponent))],
            other in prop::collection::vec(-4.0..4.0_f64, 40),
        ) {
            let column = |of: fn(&(f64, f64, f64)) -> f64| -> Vec<f64> {
                devices.iter().map(|device| 10_f64.powf(of(device))).collect()
            };
            let (weights, norms) = (shares(&column(|device| device.0)), column(|device| device.2));
            let cost_secs = column(|device| device.1);
            let luo = Luo { weights: &weights, norms: &norms, offset, cost_secs: &cost_secs };
            let q = luo.solve();
            prop_assert!(q.iter().all(|q| *q > 0.0 && *q <= 1.0));
            prop_assert!((q.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            prop_assert!(luo.kkt_residual(&q) < 1e-9, "{}", luo.kkt_residual(&q));
            let best = luo.objective(&q) * (1.0 - 1e-9);
            let uniform = vec![1.0 / q.len() as f64; q.len()];
            prop_assert!(best <= luo.objective(&uniform) && best <= luo.objective(&weights));
            let other: Vec<f64> = q.iter().zip(&other).map(|(q, by)| q * by.exp()).collect();
            let other = shares(&other);
            prop_assert!(best <= luo.objective(&other));
            // Nothing that is worse by more than rounding passes for the optimum.
            if luo.objective(&other) > luo.objective(&q) * (1.0 + 1e-6) {
                prop_assert!(luo.kkt_residual(&other) > 1e-6);
            }
        }
    }
}
