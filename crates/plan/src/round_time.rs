//! How long a round takes, before anybody knows who will take part.

use fedflip_fleet::bandwidth::{Job, finish_together};
use fedflip_fleet::{Band, Downlink};

use crate::problem::Problem;

/// T(q) under the expected bandwidth: the root of Σ q_n t_n/(T − τ_n) = f_tot over all devices, and what a round costs
/// besides.
///
/// The paper's approximation of the round time. It exceeds max τ of the whole fleet however small q is. It is none where
/// single links have limits, and on a band of spectrum.
pub fn expected_bandwidth_secs(problem: &Problem<'_>, q: &[f64]) -> Option<f64> {
    let Band::Linear(bandwidth) = problem.costs().band else { return None };
    let fleet = problem.fleet();
    if (0..fleet.len()).any(|device| problem.job(device).link.limit_mbps < bandwidth.get()) {
        return None;
    }
    let times = fleet.compute_secs().iter().zip(fleet.comm_secs());
    let jobs = times.zip(q).map(|((&compute_secs, &t), &q)| Job::new(compute_secs, q * t));
    let uploads_secs = finish_together(jobs, bandwidth).round_secs();
    Some(uploads_secs + mean_download_secs(problem, q) + problem.overhead_secs())
}

/// Theorem 2's first bound on the mean round time: Σ q_n t_n/f_tot + E[max τ], with the mean download and the overhead.
///
/// The bound holds with links that have limits and on a band of spectrum, where t_n/f_tot is the upload of a device that
/// has the whole band for itself.
pub fn theorem2_bound_secs(problem: &Problem<'_>, q: &[f64]) -> f64 {
    FirstBound::new(problem).value(q)
}

/// The mean download: one after the other if each device has its own, else the slowest of the cohort.
fn mean_download_secs(problem: &Problem<'_>, q: &[f64]) -> f64 {
    let downlink = &problem.costs().downlink;
    match downlink {
        Downlink::None => 0.0,
        Downlink::Broadcast(_) => ExpectedMax::new(problem.broadcast_secs()).value(q),
        Downlink::Unicast(_) => {
            q.iter().enumerate().map(|(n, q)| q * downlink.alone_secs(problem.job(n))).sum()
        }
    }
}

/// o + Σ q t/f + E[max τ], and E[max d] if the model is broadcast: Theorem 2's first bound. The orders of the devices are
/// found once.
#[derive(Clone, Debug)]
pub struct FirstBound<'p, 'a> {
    problem: &'p Problem<'a>,
    slowest_compute: ExpectedMax,
    slowest_download: Option<ExpectedMax>,
    scratch: Vec<f64>,
}

impl<'p, 'a> FirstBound<'p, 'a> {
    /// Sorts the devices for the bound.
    pub fn new(problem: &'p Problem<'a>) -> Self {
        let broadcast_secs = problem.broadcast_secs();
        Self {
            problem,
            slowest_compute: ExpectedMax::new(problem.fleet().compute_secs()),
            slowest_download: (!broadcast_secs.is_empty()).then(|| ExpectedMax::new(broadcast_secs)),
            scratch: Vec::new(),
        }
    }

    /// The bound on the mean round time, in seconds.
    pub fn value(&self, q: &[f64]) -> f64 {
        let download_secs = self.slowest_download.as_ref().map_or(0.0, |slowest| slowest.value(q));
        self.problem.mean_transfer_secs(q)
            + self.slowest_compute.value(q)
            + download_secs
            + self.problem.overhead_secs()
    }

    /// The bound; its partial derivatives, none negative, replace `gradient`.
    pub fn gradient(&mut self, q: &[f64], gradient: &mut [f64]) -> f64 {
        let compute_secs = self.slowest_compute.gradient(q, gradient);
        let transfers = self.problem.transfer_secs();
        gradient.iter_mut().zip(transfers).for_each(|(slope, secs)| *slope = slope.max(0.0) + secs);
        let mut download_secs = 0.0;
        if let Some(slowest) = &self.slowest_download {
            self.scratch.resize(q.len(), 0.0);
            download_secs = slowest.gradient(q, &mut self.scratch);
            gradient.iter_mut().zip(&self.scratch).for_each(|(slope, secs)| *slope += secs.max(0.0));
        }
        self.problem.mean_transfer_secs(q) + compute_secs + download_secs + self.problem.overhead_secs()
    }
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
    /// Sorts the compute times for the mean.
    pub fn new(compute_secs: &[f64]) -> Self {
        let mut ascending: Vec<(u32, f64)> = (0..).zip(compute_secs.iter().copied()).collect();
        ascending.sort_unstable_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        Self { ascending }
    }

    /// The mean E[max τ] of the longest compute time, in seconds.
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
    use fedflip_fleet::{Columns, Download, Fleet, Mbps, RoundCosts, Secs};
    use proptest::prelude::*;

    use super::*;

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

        #[test]
        fn the_first_bound_has_the_gradient_of_its_finite_differences(
            devices in prop::collection::vec((0.0..10.0_f64, 0.001..10.0_f64, 0.1..=0.9_f64, 0.1..10.0_f64), 1..20),
            downlink in 0..3_usize,
        ) {
            let column = |of: fn(&(f64, f64, f64, f64)) -> f64| devices.iter().map(of).collect::<Vec<f64>>();
            let (tau, comm, q, limits) = (column(|d| d.0), column(|d| d.1), column(|d| d.2), column(|d| d.3));
            let fleet = Fleet::from_columns(Columns {
                compute_secs: &tau,
                comm_secs: &comm,
                samples: &vec![1.0; q.len()],
                link_mbps: Some(&limits),
                ..Columns::default()
            });
            let fleet = fleet.unwrap();
            let download = Download { bandwidth: Mbps::new(5.0).unwrap(), per_upload: 8.0 };
            let downlink =
                [Downlink::None, Downlink::Broadcast(download), Downlink::Unicast(download)][downlink];
            let costs = RoundCosts::from(Mbps::new(3.0).unwrap()).with_downlink(downlink);
            let problem = Problem::new(&fleet, costs.with_overhead(Secs::new(0.7).unwrap()));
            let mut bound = FirstBound::new(&problem);
            let mut gradient = vec![0.0; q.len()];
            let value = bound.gradient(&q, &mut gradient);
            prop_assert!((value - bound.value(&q)).abs() < 1e-11 * value);
            for n in 0..q.len() {
                let at = |shift: f64| {
                    let mut moved = q.clone();
                    moved[n] += shift;
                    bound.value(&moved)
                };
                let difference = (at(0.05) - at(-0.05)) / 0.1;
                prop_assert!((gradient[n] - difference.max(0.0)).abs() < 1e-9 * value, "{} {difference}", gradient[n]);
            }
        }
    }
}
