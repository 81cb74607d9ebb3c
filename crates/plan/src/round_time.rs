//! How long a round takes, before anybody knows who will take part.

use fedflip_fleet::bandwidth::{Job, finish_together};
use fedflip_fleet::{Fleet, Mbps};

/// T(q) under the expected bandwidth: the root of Σ q_n t_n/(T − τ_n) = f_tot over all devices.
///
/// The paper's approximation of the round time. It exceeds max τ of the whole fleet however small q is.
pub fn expected_bandwidth_secs(fleet: &Fleet, q: &[f64], bandwidth: Mbps) -> f64 {
    let times = fleet.compute_secs().iter().zip(fleet.comm_secs());
    let jobs = times.zip(q).map(|((&compute_secs, &t), &q)| Job { compute_secs, load_mbit: q * t });
    finish_together(jobs, bandwidth).round_secs()
}

/// Theorem 2's first bound on E[T̂]: Σ q_n t_n/f_tot + E[max τ].
pub fn theorem2_bound_secs(fleet: &Fleet, q: &[f64], bandwidth: Mbps) -> f64 {
    let load: f64 = q.iter().zip(fleet.comm_secs()).map(|(q, t)| q * t).sum();
    load / bandwidth.get() + ExpectedMax::new(fleet.compute_secs()).value(q)
}

/// E[max τ] over the devices that take part, 0 if none does.
///
/// With τ sorted ascending, device n is the slowest iff it takes part and nobody behind it does:
/// E[max τ] = Σ τ_n q_n Π_{i>n}(1 − q_i). The order is found once, each evaluation is one pass.
#[derive(Clone, Debug)]
pub struct ExpectedMax {
    /// (position, τ), ascending in τ.
    ascending: Vec<(u32, f64)>,
}

impl ExpectedMax {
    /// Sorts the devices.
    pub fn new(compute_secs: &[f64]) -> Self {
        let mut ascending: Vec<(u32, f64)> = (0..).zip(compute_secs.iter().copied()).collect();
        ascending.sort_unstable_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        Self { ascending }
    }

    /// E[max τ].
    pub fn value(&self, q: &[f64]) -> f64 {
        // From the fast end: either the next slower device takes part and is the maximum, or it does not.
        self.ascending.iter().fold(0.0, |max, &(n, tau)| {
            let q = q[n as usize];
            q * tau + (1.0 - q) * max
        })
    }

    /// E[max τ]; its partial derivatives replace `gradient`.
    ///
    /// ∂/∂q_n = Π_{i>n}(1 − q_i) · (τ_n − E[max τ of the devices before n]).
    pub fn gradient(&self, q: &[f64], gradient: &mut [f64]) -> f64 {
        let mut faster_max = 0.0;
        for &(n, tau) in &self.ascending {
            let n = n as usize;
            gradient[n] = tau - faster_max;
            faster_max += q[n] * gradient[n];
        }
        let mut nobody_slower = 1.0;
        for &(n, _) in self.ascending.iter().rev() {
            let n = n as usize;
            gradient[n] *= nobody_slower;
            nobody_slower *= 1.0 - q[n];
        }
        faster_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Σ over all 2^N cohorts of P(K) · max_K τ.
        #[test]
        fn expected_max_is_its_enumeration(devices in prop::collection::vec((0.0..10.0_f64, 0.0..=1.0_f64), 1..=12)) {
            let (tau, q): (Vec<f64>, Vec<f64>) = devices.into_iter().unzip();
            let mut enumerated = 0.0;
            for cohort in 0_u32..1 << tau.len() {
                let (mut probability, mut max) = (1.0, 0.0_f64);
                for n in 0..tau.len() {
                    if cohort >> n & 1 == 1 {
                        probability *= q[n];
                        max = max.max(tau[n]);
                    } else {
                        probability *= 1.0 - q[n];
                    }
                }
                enumerated += probability * max;
            }
            let value = ExpectedMax::new(&tau).value(&q);
            prop_assert!((value - enumerated).abs() <= 1e-12 * enumerated.max(1.0), "{value} {enumerated}");
        }

        /// E[max τ] is linear in each q, so a central difference of any width is exact.
        #[test]
        fn gradient_is_the_finite_difference(devices in prop::collection::vec((0.0..10.0_f64, 0.1..=0.9_f64), 1..=30)) {
            let (tau, q): (Vec<f64>, Vec<f64>) = devices.into_iter().unzip();
            let expected_max = ExpectedMax::new(&tau);
            let mut gradient = vec![f64::NAN; q.len()];
            let value = expected_max.gradient(&q, &mut gradient);
            prop_assert!((value - expected_max.value(&q)).abs() < 1e-12);
            for n in 0..q.len() {
                let at = |shift: f64| {
                    let mut moved = q.clone();
                    moved[n] += shift;
                    expected_max.value(&moved)
                };
                let difference = (at(0.1) - at(-0.1)) / 0.2;
                prop_assert!((gradient[n] - difference).abs() < 1e-11, "{n}: {} {difference}", gradient[n]);
            }
        }
    }
}
