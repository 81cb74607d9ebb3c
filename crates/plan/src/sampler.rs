//! The seam between a sampling scheme and a run: who takes part in a round, and with which weight.
//!
//! A round adds Σ weight · update over its draws to the model. The sum is unbiased if the expected weight of every
//! device is its share a_n of the data: then the expected step is that of full participation. [`Coins`] draws devices
//! independently, with (q, a/q). Schemes that draw K of N, with replacement or by observed losses implement the same
//! trait.

use fedflip_fleet::{CohortSampler, Purpose, StreamKey};

use crate::plan::Plan;
use crate::schedule::Schedule;

/// A device of a cohort.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    /// The position in the fleet.
    pub device: usize,
    /// The factor that multiplies the device's update. A device that is drawn several times occurs once, with the sum of
    /// its weights.
    pub weight: f64,
}

/// What the server has observed in earlier rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observed<'a> {
    /// The last training loss that each device reported; none before its first report. Empty if nothing is recorded.
    pub losses: &'a [Option<f64>],
    /// The seconds that each device took in its last round; none before its first round. Empty if nothing is recorded.
    pub round_secs: &'a [Option<f64>],
}

/// Draws the cohort of every round.
pub trait Sampler {
    /// Replaces `draws` with the cohort of a round, counted from 1, in ascending order of devices.
    ///
    /// The draws are a function of the arguments and of earlier calls alone, so that a resumed run can repeat them.
    fn draw(&mut self, round: u64, seed: u64, observed: &Observed<'_>, draws: &mut Vec<Draw>);

    /// Whether the expected weight of every device is its share of the data.
    fn is_unbiased(&self) -> bool;
}

/// Independent coins: device n takes part with probability q_n and has the weight a_n/q_n.
#[derive(Clone, Debug)]
pub struct Coins<'s> {
    schedule: &'s Schedule,
    usual: CohortSampler,
    quiet: Option<CohortSampler>,
    cohort: Vec<usize>,
}

impl<'s> Coins<'s> {
    /// Coins for the usual and the quiet rounds of `schedule`.
    pub fn new(schedule: &'s Schedule) -> Self {
        let (usual, quiet) = (schedule.usual().sampler(), schedule.quiet().map(Plan::sampler));
        Self { schedule, usual, quiet, cohort: Vec::new() }
    }
}

impl Sampler for Coins<'_> {
    fn draw(&mut self, round: u64, seed: u64, _: &Observed<'_>, draws: &mut Vec<Draw>) {
        let coins = StreamKey { seed, purpose: Purpose::Cohort, round };
        let quiet = self.quiet.as_ref().filter(|_| self.schedule.is_quiet(round));
        quiet.unwrap_or(&self.usual).draw(&mut coins.shared(), &mut self.cohort);
        let weights = self.schedule.plan(round).aggregation_weights();
        draws.clear();
        draws.extend(self.cohort.iter().map(|&device| Draw { device, weight: weights[device] }));
    }

    fn is_unbiased(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use fedflip_fleet::{Columns, Fleet};
    use rand::RngExt;

    use super::*;

    /// K of N devices without replacement, each with the weight a·N/K.
    struct WithoutReplacement {
        shares: Vec<f64>,
        cohort: usize,
    }

    impl WithoutReplacement {
        fn weighted(&self, mut chosen: Vec<usize>, draws: &mut Vec<Draw>) {
            chosen.sort_unstable();
            let factor = self.shares.len() as f64 / self.cohort as f64;
            draws.clear();
            draws.extend(chosen.iter().map(|&device| Draw { device, weight: factor * self.shares[device] }));
        }
    }

    impl Sampler for WithoutReplacement {
        fn draw(&mut self, round: u64, seed: u64, _: &Observed<'_>, draws: &mut Vec<Draw>) {
            let mut stream = StreamKey { seed, purpose: Purpose::Cohort, round }.shared();
            let mut devices: Vec<usize> = (0..self.shares.len()).collect();
            for place in 0..self.cohort {
                let other = stream.random_range(place..devices.len());
                devices.swap(place, other);
            }
            devices.truncate(self.cohort);
            self.weighted(devices, draws);
        }

        fn is_unbiased(&self) -> bool {
            true
        }
    }

    /// K draws with replacement by share of the data, each with the weight 1/K.
    struct Multinomial {
        shares: Vec<f64>,
        cohort: usize,
    }

    impl Multinomial {
        fn weighted(&self, drawn: &[usize], draws: &mut Vec<Draw>) {
            draws.clear();
            for device in 0..self.shares.len() {
                let times = drawn.iter().filter(|&&other| other == device).count();
                if times > 0 {
                    draws.push(Draw { device, weight: times as f64 / self.cohort as f64 });
                }
            }
        }
    }

    impl Sampler for Multinomial {
        fn draw(&mut self, round: u64, seed: u64, _: &Observed<'_>, draws: &mut Vec<Draw>) {
            let mut stream = StreamKey { seed, purpose: Purpose::Cohort, round }.shared();
            let mut one = || {
                let mut number = stream.random::<f64>();
                let passed = self.shares.iter().take_while(|share| {
                    number -= **share;
                    number >= 0.0
                });
                passed.count().min(self.shares.len() - 1)
            };
            let drawn: Vec<usize> = (0..self.cohort).map(|_| one()).collect();
            self.weighted(&drawn, draws);
        }

        fn is_unbiased(&self) -> bool {
            true
        }
    }

    const SAMPLES: [f64; 4] = [100.0, 250.0, 50.0, 400.0];

    fn fleet() -> Fleet {
        Fleet::from_columns(Columns {
            compute_secs: &[1.0; 4],
            comm_secs: &[2.0; 4],
            samples: &SAMPLES,
            ..Columns::default()
        })
        .unwrap()
    }

    fn schedule() -> Schedule {
        let plan = |q: &[f64]| Plan::from_q(&fleet(), q.to_vec()).unwrap();
        Schedule::new(plan(&[0.3, 0.5, 0.0, 1.0]), 1).with_quiet(3, plan(&[0.6, 0.9, 0.4, 1.0])).unwrap()
    }

    /// Adds `chance` times the weights of `draws` to the expected weights.
    fn add(expected: &mut [f64], chance: f64, draws: &[Draw]) {
        draws.iter().for_each(|draw| expected[draw.device] += chance * draw.weight);
    }

    #[track_caller]
    fn assert_shares(expected: &[f64], shares: &[f64]) {
        for (expected, share) in expected.iter().zip(shares) {
            assert!((expected - share).abs() < 1e-12, "{expected} is not {share}");
        }
    }

    /// Coins fall independently, so each cohort's probability is a product.
    #[test]
    fn the_expected_weights_of_coins_are_the_shares_of_the_planned_data() {
        let schedule = schedule();
        for (round, planned) in [(1, [0, 1, 3].as_slice()), (3, &[0, 1, 2, 3])] {
            let plan = schedule.plan(round);
            let mut expected = [0.0; 4];
            for members in 0_usize..16 {
                let is_in = |n: usize| members >> n & 1 == 1;
                let chance = (0..4).map(|n| if is_in(n) { plan.q()[n] } else { 1.0 - plan.q()[n] });
                let draws = (0..4).filter(|&n| is_in(n));
                let draws: Vec<Draw> =
                    draws.map(|device| Draw { device, weight: plan.aggregation_weights()[device] }).collect();
                add(&mut expected, chance.product(), &draws);
            }
            let total: f64 = planned.iter().map(|&n| SAMPLES[n]).sum();
            let shares = [0, 1, 2, 3].map(|n| if planned.contains(&n) { SAMPLES[n] / total } else { 0.0 });
            assert_shares(&expected, &shares);
        }
    }

    #[test]
    fn the_expected_weights_without_replacement_are_the_shares() {
        let sampler = WithoutReplacement { shares: fleet().weights().to_vec(), cohort: 2 };
        let mut expected = [0.0; 4];
        let mut draws = Vec::new();
        let pairs: Vec<[usize; 2]> = (0..4).flat_map(|a| (0..a).map(move |b| [a, b])).collect();
        for pair in &pairs {
            sampler.weighted(pair.to_vec(), &mut draws);
            add(&mut expected, 1.0 / pairs.len() as f64, &draws);
        }
        assert_shares(&expected, fleet().weights());
    }

    #[test]
    fn the_expected_weights_with_replacement_are_the_shares() {
        let fleet = fleet();
        let shares = fleet.weights();
        let sampler = Multinomial { shares: shares.to_vec(), cohort: 2 };
        let mut expected = [0.0; 4];
        let mut draws = Vec::new();
        for [a, b] in (0..4).flat_map(|a| (0..4).map(move |b| [a, b])) {
            sampler.weighted(&[a, b], &mut draws);
            assert!(draws.len() == if a == b { 1 } else { 2 }, "a device occurs once");
            add(&mut expected, shares[a] * shares[b], &draws);
        }
        assert_shares(&expected, shares);
    }

    /// What the enumerations above assume holds for the draws themselves: repeatable, ascending, and right on average.
    #[test]
    fn all_three_fit_the_seam() {
        let schedule = schedule();
        let shares = fleet().weights().to_vec();
        let planned: f64 = 1.0 - shares[2];
        let of_usual = [0, 1, 2, 3].map(|n| if n == 2 { 0.0 } else { shares[n] / planned });
        let samplers: [(Box<dyn Sampler>, &[f64]); 3] = [
            (Box::new(Coins::new(&schedule)), &of_usual),
            (Box::new(WithoutReplacement { shares: shares.clone(), cohort: 2 }), &shares),
            (Box::new(Multinomial { shares: shares.clone(), cohort: 2 }), &shares),
        ];
        for (mut sampler, shares) in samplers {
            assert!(sampler.is_unbiased());
            let (mut draws, mut again) = (Vec::new(), vec![Draw { device: 9, weight: 9.0 }]);
            let (mut mean, rounds) = ([0.0; 4], 40_000);
            for seed in 0..rounds {
                sampler.draw(1, seed, &Observed::default(), &mut draws);
                sampler.draw(1, seed, &Observed::default(), &mut again);
                assert_eq!(draws, again);
                assert!(draws.windows(2).all(|pair| pair[0].device < pair[1].device));
                add(&mut mean, 1.0 / rounds as f64, &draws);
            }
            for (mean, share) in mean.iter().zip(shares) {
                assert!((mean - share).abs() < 0.02, "{mean} is not {share}");
            }
        }
    }

    /// The cohorts of a run with a given seed do not change with the interface.
    #[test]
    fn coins_are_the_keyed_stream_of_the_cohort() {
        let schedule = schedule();
        let mut coins = Coins::new(&schedule);
        let (mut draws, mut cohort) = (Vec::new(), Vec::new());
        for round in 1..=300 {
            coins.draw(round, 7, &Observed::default(), &mut draws);
            let plan = schedule.plan(round);
            let key = StreamKey { seed: 7, purpose: Purpose::Cohort, round };
            plan.sampler().draw(&mut key.shared(), &mut cohort);
            let drawn: Vec<usize> = draws.iter().map(|draw| draw.device).collect();
            assert_eq!(drawn, cohort, "round {round}");
            assert!(draws.iter().all(|draw| draw.weight == plan.aggregation_weights()[draw.device]));
        }
    }
}
