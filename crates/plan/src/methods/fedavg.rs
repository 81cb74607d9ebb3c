//! K of N devices without replacement, as McMahan et al. (2017) draw them and as Flower does.
//!
//! `fedavg=K` adds the mean of the cohort's updates by data, Σ (a_n/Σ_S a) Δ_n. The weights depend on who else was drawn,
//! so the expected weight of a device is not its share of the data: the sum is biased where devices hold different
//! amounts. `fedavg-unbiased=K` adds (N/K) Σ a_n Δ_n instead, whose expected weights are the shares.

use fedflip_fleet::{Fleet, Purpose, StreamKey};
use rand::RngExt;

use crate::error::PlanError;
use crate::method::Method;
use crate::parameter::CohortSize;
use crate::sampler::{Draw, Observed, Sampler};
use crate::schedule::Schedule;

/// The weighted mean of the cohort.
pub(crate) struct FedAvg(pub CohortSize);
/// K of N without replacement, and the unbiased sum of their updates.
pub(crate) struct FedAvgUnbiased(pub CohortSize);

impl Method for FedAvg {
    fn rule(&self, fleet: &Fleet) -> Option<Result<Vec<f64>, PlanError>> {
        Some(inclusion(fleet, "fedavg", self.0))
    }

    fn sampler<'s>(&self, _: &'s Schedule, fleet: &'s Fleet) -> Box<dyn Sampler + 's> {
        Box::new(WithoutReplacement::new(fleet, self.0, Weighting::Mean))
    }

    fn flips_coins(&self) -> bool {
        false
    }

    fn is_unbiased(&self) -> bool {
        false
    }
}

impl Method for FedAvgUnbiased {
    fn rule(&self, fleet: &Fleet) -> Option<Result<Vec<f64>, PlanError>> {
        Some(inclusion(fleet, "fedavg-unbiased", self.0))
    }

    fn sampler<'s>(&self, _: &'s Schedule, fleet: &'s Fleet) -> Box<dyn Sampler + 's> {
        Box::new(WithoutReplacement::new(fleet, self.0, Weighting::Unbiased))
    }

    fn flips_coins(&self) -> bool {
        false
    }
}

/// K/N for every device.
pub(super) fn inclusion(
    fleet: &Fleet,
    scheme: &'static str,
    size: CohortSize,
) -> Result<Vec<f64>, PlanError> {
    size.check(fleet, scheme)?;
    Ok(vec![size.get() as f64 / fleet.len() as f64; fleet.len()])
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weighting {
    Mean,
    Unbiased,
}

/// Draws K of N devices, all cohorts of K being equally likely.
struct WithoutReplacement<'s> {
    fleet: &'s Fleet,
    size: usize,
    weighting: Weighting,
    chosen: Vec<usize>,
}

impl<'s> WithoutReplacement<'s> {
    fn new(fleet: &'s Fleet, size: CohortSize, weighting: Weighting) -> Self {
        Self { fleet, size: size.get().min(fleet.len()), weighting, chosen: Vec::new() }
    }

    fn weigh(&self, draws: &mut Vec<Draw>) {
        let shares = self.fleet.weights();
        let factor = match self.weighting {
            Weighting::Mean => 1.0 / self.chosen.iter().map(|&device| shares[device]).sum::<f64>(),
            Weighting::Unbiased => self.fleet.len() as f64 / self.size as f64,
        };
        draws.clear();
        draws.extend(self.chosen.iter().map(|&device| Draw { device, weight: factor * shares[device] }));
    }
}

impl Sampler for WithoutReplacement<'_> {
    /// Floyd's algorithm: K numbers for a cohort of K, however large the fleet.
    fn draw(&mut self, round: u64, seed: u64, _: &Observed<'_>, draws: &mut Vec<Draw>) {
        let mut stream = StreamKey { seed, purpose: Purpose::Cohort, round }.shared();
        let devices = self.fleet.len();
        self.chosen.clear();
        for last in devices - self.size..devices {
            let any = stream.random_range(0..=last);
            // Kept in order, so that a search finds who is in already.
            match self.chosen.binary_search(&any) {
                Err(place) => self.chosen.insert(place, any),
                Ok(_) => self.chosen.push(last),
            }
        }
        self.weigh(draws);
    }

    fn is_unbiased(&self) -> bool {
        self.weighting == Weighting::Unbiased
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::testing::{assert_shares, expected_weights, fleet};

    /// All cohorts of two are equally likely; the mean weight over them is the share of the data, or it is not.
    #[test]
    fn only_the_unbiased_sum_has_the_shares_as_expected_weights() {
        let fleet = fleet();
        let mean = |weighting| {
            let mut sampler = WithoutReplacement::new(&fleet, CohortSize::new(2).unwrap(), weighting);
            let pairs: Vec<[usize; 2]> = (0..4).flat_map(|b| (0..b).map(move |a| [a, b])).collect();
            let mut expected = [0.0; 4];
            let mut draws = Vec::new();
            for pair in &pairs {
                sampler.chosen = pair.to_vec();
                sampler.weigh(&mut draws);
                draws.iter().for_each(|draw| expected[draw.device] += draw.weight / pairs.len() as f64);
            }
            expected
        };
        assert_shares(&mean(Weighting::Unbiased), fleet.weights(), 1e-12);
        let biased = mean(Weighting::Mean);
        assert!((biased.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        // The device with half of the data counts less than half, because it never shares a cohort with itself.
        assert!(biased[3] < fleet.weights()[3] - 0.05, "{biased:?}");
    }

    #[test]
    fn draws_are_cohorts_of_k_all_equally_likely() {
        let fleet = fleet();
        let mut sampler = WithoutReplacement::new(&fleet, CohortSize::new(2).unwrap(), Weighting::Unbiased);
        let mut counts = std::collections::BTreeMap::new();
        let rounds = 60_000;
        let mean = expected_weights(&mut sampler, rounds, |draws| {
            assert_eq!(draws.len(), 2);
            *counts.entry([draws[0].device, draws[1].device]).or_insert(0) += 1;
        });
        assert_shares(&mean, fleet.weights(), 0.01);
        assert_eq!(counts.len(), 6);
        let expected = rounds as f64 / 6.0;
        assert!(counts.values().all(|&count| (f64::from(count) / expected - 1.0).abs() < 0.05), "{counts:?}");
        // Of all devices there is one cohort.
        let mut all = WithoutReplacement::new(&fleet, CohortSize::new(4).unwrap(), Weighting::Mean);
        let mut draws = Vec::new();
        all.draw(1, 1, &Observed::default(), &mut draws);
        let weights: Vec<f64> = draws.iter().map(|draw| draw.weight).collect();
        assert_shares(&weights, fleet.weights(), 1e-12);
    }
}
