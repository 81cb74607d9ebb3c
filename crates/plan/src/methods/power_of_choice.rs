//! Power-of-choice of Cho, Wang and Joshi (2020): of some candidates, those with the largest losses.
//!
//! Twice as many candidates as the cohort has devices are drawn without replacement by share of the data. Each computes
//! the loss of the present model on its own samples. The K with the largest losses train, and the plain mean of their
//! updates is added. The sum is biased towards devices that the model serves badly.

use fedflip_fleet::{Fleet, Purpose, StreamKey};
use rand::RngExt;

use super::ocs;
use crate::error::PlanError;
use crate::method::Method;
use crate::parameter::CohortSize;
use crate::sampler::{Draw, Observed, Quantity, Question, Sampler};
use crate::schedule::Schedule;
use crate::weighted_draw::without_replacement;

/// The candidates for each place in the cohort.
const CANDIDATES: usize = 2;

/// The K candidates with the largest losses.
pub(crate) struct PowerOfChoice(pub CohortSize);

impl Method for PowerOfChoice {
    /// As if losses said nothing: in proportion to the shares, up to 1.
    fn rule(&self, fleet: &Fleet) -> Option<Result<Vec<f64>, PlanError>> {
        Some(ocs::by_share(fleet, "power-of-choice", self.0))
    }

    fn sampler<'s>(&self, _: &'s Schedule, fleet: &'s Fleet) -> Box<dyn Sampler + 's> {
        Box::new(ByLoss { fleet, size: self.0.get() })
    }

    fn flips_coins(&self) -> bool {
        false
    }

    fn depends_on_reports(&self) -> bool {
        true
    }

    fn is_unbiased(&self) -> bool {
        false
    }
}

/// Draws candidates by share of the data, and takes those with the largest losses.
struct ByLoss<'s> {
    fleet: &'s Fleet,
    size: usize,
}

impl ByLoss<'_> {
    /// The candidates of a round in the order in which they were drawn.
    fn candidates(&self, round: u64, seed: u64) -> Vec<usize> {
        let mut stream = StreamKey { seed, purpose: Purpose::Cohort, round }.shared();
        self.candidates_by(|| stream.random())
    }

    fn candidates_by(&self, uniform: impl FnMut() -> f64) -> Vec<usize> {
        let shares = self.fleet.weights().iter().copied().enumerate();
        without_replacement(shares, CANDIDATES * self.size, uniform)
    }
}

/// The candidates with the largest losses, in ascending order. Of equal losses, that of the earlier candidate counts as
/// larger, so that chance decides.
fn largest(mut candidates: Vec<usize>, losses: &[f64], size: usize) -> Vec<usize> {
    let mut asked = candidates.clone();
    asked.sort_unstable();
    let loss = |device: &usize| asked.binary_search(device).ok().and_then(|place| losses.get(place).copied());
    let loss = |device: &usize| loss(device).unwrap_or(0.0);
    candidates.sort_by(|a, b| loss(b).total_cmp(&loss(a)));
    candidates.truncate(size);
    candidates.sort_unstable();
    candidates
}

impl Sampler for ByLoss<'_> {
    fn ask(&mut self, round: u64, seed: u64, asked: &mut Vec<usize>) -> Option<Question> {
        *asked = self.candidates(round, seed);
        asked.sort_unstable();
        Some(Question { about: Quantity::Loss, numbers: 1 })
    }

    fn draw(&mut self, round: u64, seed: u64, observed: &Observed<'_>, draws: &mut Vec<Draw>) {
        let chosen = largest(self.candidates(round, seed), observed.answers, self.size);
        let weight = 1.0 / chosen.len().max(1) as f64;
        draws.clear();
        draws.extend(chosen.into_iter().map(|device| Draw { device, weight }));
    }

    fn is_unbiased(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
