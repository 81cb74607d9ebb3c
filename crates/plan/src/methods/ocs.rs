//! Optimal Client Sampling of Chen, Horváth and Richtárik (2022): independent coins by the norms of updates.
//!
//! Every device trains and sends u_n = ‖a_n Δ_n‖. The probabilities minimise the variance Σ u²/p of the sum for an
//! expected number of M heads, and the devices whose coin shows heads send their update, with the weight a_n/p_n.
//! `ocs-approx=M` is the form in which the server learns nothing but sums over devices.

use fedflip_fleet::{Fleet, Purpose, StreamKey};
use rand::RngExt;

use crate::error::PlanError;
use crate::method::Method;
use crate::parameter::CohortSize;
use crate::sampler::{Draw, Observed, Quantity, Question, Sampler};
use crate::schedule::Schedule;

/// Coins with the optimal probabilities for the norms of a round.
pub(crate) struct Ocs(pub CohortSize);
/// Their approximation from sums.
pub(crate) struct OcsApprox(pub CohortSize);

/// The steps of the approximation.
const STEPS: u32 = 4;

/// From the norms to the probabilities for an expected number of heads.
type Probabilities = fn(&[f64], f64) -> Vec<f64>;

impl Method for Ocs {
    fn rule(&self, fleet: &Fleet) -> Option<Result<Vec<f64>, PlanError>> {
        Some(by_share(fleet, "ocs", self.0))
    }

    fn sampler<'s>(&self, _: &'s Schedule, fleet: &'s Fleet) -> Box<dyn Sampler + 's> {
        Box::new(ByNorm { fleet, expected: self.0.get() as f64, probabilities: optimal, numbers: 1 })
    }

    fn flips_coins(&self) -> bool {
        false
    }

    fn depends_on_reports(&self) -> bool {
        true
    }
}

impl Method for OcsApprox {
    fn rule(&self, fleet: &Fleet) -> Option<Result<Vec<f64>, PlanError>> {
        Some(by_share(fleet, "ocs-approx", self.0))
    }

    fn sampler<'s>(&self, _: &'s Schedule, fleet: &'s Fleet) -> Box<dyn Sampler + 's> {
        // The norm, and in each step whether p is below 1, and p.
        let (expected, numbers) = (self.0.get() as f64, 1 + 2 * STEPS);
        Box::new(ByNorm { fleet, expected, probabilities: approximate, numbers })
    }

    fn flips_coins(&self) -> bool {
        false
    }

    fn depends_on_reports(&self) -> bool {
        true
    }
}

/// The probabilities if the updates of all devices were equally long.
pub(super) fn by_share(fleet: &Fleet, scheme: &'static str, size: CohortSize) -> Result<Vec<f64>, PlanError> {
    size.check(fleet, scheme)?;
    let probabilities = optimal(fleet.weights(), size.get() as f64);
    Ok(probabilities.into_iter().map(|p| p.clamp(f64::MIN_POSITIVE, 1.0)).collect())
}

/// The minimum of Σ u²/p subject to Σ p = M and p ≤ 1: the longest updates have p = 1, and the others are in proportion
/// to u. An update of 0 is never sent.
fn optimal(norms: &[f64], expected: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..norms.len()).collect();
    order.sort_by(|&a, &b| norms[a].total_cmp(&norms[b]).then(a.cmp(&b)));
    let certain = norms.len() as f64 - expected;
    // The l smallest norms are in proportion, l as large as leaves the largest of them at most 1.
    let (mut sum, mut slope) = (0.0, 0.0);
    let mut proportional = 0;
    for (place, &device) in order.iter().enumerate() {
        sum += norms[device];
        let heads = (place + 1) as f64 - certain;
        if heads > 0.0 && heads * norms[device] <= sum {
            (proportional, slope) = (place + 1, if sum > 0.0 { heads / sum } else { 0.0 });
        }
    }
    let mut probabilities = vec![1.0; norms.len()];
    for &device in &order[..proportional] {
        probabilities[device] = (slope * norms[device]).min(1.0);
    }
    probabilities
}

/// Begins with M u/Σ u, cuts at 1, and hands what was cut off to the others, up to four times.
fn approximate(norms: &[f64], expected: f64) -> Vec<f64> {
    let sum: f64 = norms.iter().sum();
    if sum <= 0.0 {
        return vec![0.0; norms.len()];
    }
    let mut probabilities: Vec<f64> = norms.iter().map(|norm| (expected * norm / sum).min(1.0)).collect();
    for _ in 0..STEPS {
        let below = probabilities.iter().filter(|&&p| p < 1.0);
        let (count, total) = below.fold((0.0, 0.0), |(count, total), p| (count + 1.0, total + p));
        let factor = (expected - norms.len() as f64 + count) / total;
        if factor.is_nan() || factor <= 1.0 || total <= 0.0 {
            break;
        }
        probabilities.iter_mut().for_each(|p| *p = (factor * *p).min(1.0));
    }
    probabilities
}

/// Asks every device for the norm of its update, and flips coins by the answers.
struct ByNorm<'s> {
    fleet: &'s Fleet,
    expected: f64,
    probabilities: Probabilities,
    numbers: u32,
}

impl Sampler for ByNorm<'_> {
    fn ask(&mut self, _: u64, _: u64, asked: &mut Vec<usize>) -> Option<Question> {
        asked.clear();
        asked.extend(0..self.fleet.len());
        Some(Question { about: Quantity::UpdateNorm, numbers: self.numbers })
    }

    fn draw(&mut self, round: u64, seed: u64, observed: &Observed<'_>, draws: &mut Vec<Draw>) {
        let shares = self.fleet.weights();
        let mut weighted = shares.to_vec();
        weighted.iter_mut().zip(observed.answers).for_each(|(share, norm)| *share *= norm);
        let probabilities = (self.probabilities)(&weighted, self.expected);
        let mut stream = StreamKey { seed, purpose: Purpose::Cohort, round }.shared();
        draws.clear();
        for (device, &p) in probabilities.iter().enumerate() {
            // Every device has its coin, so that one device's norm does not change another's coin.
            if stream.random::<f64>() < p {
                draws.push(Draw { device, weight: shares[device] / p });
            }
        }
    }

    fn is_unbiased(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
