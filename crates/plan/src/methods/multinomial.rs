//! K draws with replacement, device n with probability a_n each, and the plain mean of the draws: scheme I of Li et al.
//! (2020). A device that is drawn twice trains once and counts twice, so the expected weight of a device is a_n.

use fedflip_fleet::{Fleet, Purpose, StreamKey};
use rand::RngExt;

use crate::error::PlanError;
use crate::method::Method;
use crate::parameter::CohortSize;
use crate::sampler::{Draw, Observed, Sampler};
use crate::schedule::Schedule;

/// K draws by share of the data.
pub(crate) struct Multinomial(pub CohortSize);

impl Method for Multinomial {
    /// q = 1 − (1 − a)^K: the probability to be among K draws.
    fn rule(&self, fleet: &Fleet) -> Option<Result<Vec<f64>, PlanError>> {
        let draws = self.0.get() as f64;
        let q = fleet.weights().iter().map(|&a| -(draws * (-a).ln_1p()).exp_m1());
        let q = q.map(|q| q.clamp(f64::MIN_POSITIVE, 1.0)).collect();
        Some(self.0.check_availability(fleet, "multinomial").map(|()| q))
    }

    fn sampler<'s>(&self, _: &'s Schedule, fleet: &'s Fleet) -> Box<dyn Sampler + 's> {
        Box::new(WithReplacement::weighing(fleet.weights(), fleet.weights(), self.0))
    }

    fn flips_coins(&self) -> bool {
        false
    }
}

/// Draws devices by given probabilities.
pub(super) struct WithReplacement {
    /// Σ of the probabilities over the devices up to each one.
    up_to: Vec<f64>,
    /// The weight of one draw of each device.
    weights: Vec<f64>,
    draws: usize,
    drawn: Vec<usize>,
}

impl WithReplacement {
    /// Draws by `probabilities`, which sum to 1. The weight of a draw is a/(K·probability), so that the expected weight of
    /// a device is its share a.
    pub(super) fn weighing(shares: &[f64], probabilities: &[f64], draws: CohortSize) -> Self {
        let mut sum = 0.0;
        let up_to = probabilities.iter().map(|probability| {
            sum += probability;
            sum
        });
        let draws = draws.get();
        let weights = shares.iter().zip(probabilities).map(|(share, q)| share / q / draws as f64);
        Self { up_to: up_to.collect(), weights: weights.collect(), draws, drawn: Vec::new() }
    }

    fn weigh(&self, draws: &mut Vec<Draw>) {
        draws.clear();
        for &device in &self.drawn {
            let weight = self.weights[device];
            match draws.last_mut() {
                Some(last) if last.device == device => last.weight += weight,
                _ => draws.push(Draw { device, weight }),
            }
        }
    }
}

impl Sampler for WithReplacement {
    fn draw(&mut self, round: u64, seed: u64, _: &Observed<'_>, draws: &mut Vec<Draw>) {
        let mut stream = StreamKey { seed, purpose: Purpose::Cohort, round }.shared();
        self.drawn.clear();
        for _ in 0..self.draws {
            let number = stream.random::<f64>();
            // The sum of all shares may round to less than the number.
            let device = self.up_to.partition_point(|&up_to| up_to <= number).min(self.up_to.len() - 1);
            self.drawn.push(device);
        }
        self.drawn.sort_unstable();
        self.weigh(draws);
    }

    fn is_unbiased(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::testing::{assert_shares, expected_weights, fleet};

    #[test]
    fn the_expected_weights_are_the_shares() {
        let fleet = fleet();
        let shares = fleet.weights();
        let mut sampler = WithReplacement::weighing(shares, shares, CohortSize::new(2).unwrap());
        let mut expected = [0.0; 4];
        let mut draws = Vec::new();
        for [a, b] in (0..4).flat_map(|a| (0..4).map(move |b| [a, b])) {
            sampler.drawn = vec![a.min(b), a.max(b)];
            sampler.weigh(&mut draws);
            assert_eq!(draws.len(), if a == b { 1 } else { 2 }, "a device occurs once");
            draws.iter().for_each(|draw| expected[draw.device] += shares[a] * shares[b] * draw.weight);
        }
        assert_shares(&expected, shares, 1e-12);
        let mean = expected_weights(&mut sampler, 60_000, |draws| {
            assert!((draws.iter().map(|draw| draw.weight).sum::<f64>() - 1.0).abs() < 1e-12);
        });
        assert_shares(&mean, shares, 0.01);
    }

    #[test]
    fn the_planned_q_is_the_chance_to_be_in_the_cohort() {
        let fleet = fleet();
        let size = CohortSize::new(3).unwrap();
        let q = Multinomial(size).rule(&fleet).unwrap().unwrap();
        let mut sampler = WithReplacement::weighing(fleet.weights(), fleet.weights(), size);
        let mut taken = [0.0; 4];
        expected_weights(&mut sampler, 60_000, |draws| {
            draws.iter().for_each(|draw| taken[draw.device] += 1.0 / 60_000.0);
        });
        assert_shares(&taken, &q, 0.01);
    }
}
