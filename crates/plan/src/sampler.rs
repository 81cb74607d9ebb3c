//! The seam between a sampling scheme and a run: who takes part in a round, and with which weight.
//!
//! A round adds Σ weight · update over its draws to the model. The sum is unbiased if the expected weight of every
//! device is its share a_n of the data: then the expected step is that of full participation. [`Coins`] draws devices
//! independently, with (q, a/q). Schemes that draw K of N, with replacement or by observed losses implement the same
//! trait. A sampler may ask devices a question about the model before it draws, and may observe earlier rounds.

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

/// What devices are asked before the cohort is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// What the answer of a device is.
    pub about: Quantity,
    /// The numbers of 32 bits that a device sends until the cohort is known.
    pub numbers: u32,
}

/// A number that a device computes from the model of the round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// The mean loss of the model over the device's own samples, before training.
    Loss,
    /// The Euclidean norm of the update, for which the device trains.
    UpdateNorm,
}

/// What the server knows when it draws a cohort.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observed<'a> {
    /// One answer for each device that was asked, in their order. Empty if nobody was asked.
    pub answers: &'a [f64],
    /// The seconds that each device of the fleet takes for a round alone, by the fleet's numbers. Empty if unknown.
    pub alone_secs: &'a [f64],
}

/// What the server saw of a device that reported.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// The position in the fleet.
    pub device: usize,
    /// The mean loss of the local training.
    pub train_loss: f64,
    /// The seconds of its computation and of its upload, had it had the bandwidth for itself.
    pub alone_secs: f64,
}

/// Code that is not part of fedflip drew no cohort.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DrawError {
    /// The message of the other code, or what is wrong with its cohort.
    pub message: String,
    /// Where the failure comes from, such as a traceback; may be empty.
    pub trace: String,
}

/// Draws the cohort of every round.
pub trait Sampler {
    /// The question of a round, counted from 1. Writes the devices that are asked, in ascending order. By default nobody
    /// is asked. The question and the devices are a function of the same things as the draws.
    fn ask(&mut self, _round: u64, _seed: u64, _asked: &mut Vec<usize>) -> Option<Question> {
        None
    }

    /// Replaces `draws` with the cohort of a round, counted from 1, in ascending order of devices.
    ///
    /// The draws are a function of the arguments and of earlier reports alone, so that a resumed run can repeat them.
    fn draw(&mut self, round: u64, seed: u64, observed: &Observed<'_>, draws: &mut Vec<Draw>);

    /// The same for code that can fail; runs call this method.
    fn try_draw(
        &mut self,
        round: u64,
        seed: u64,
        observed: &Observed<'_>,
        draws: &mut Vec<Draw>,
    ) -> Result<(), DrawError> {
        self.draw(round, seed, observed, draws);
        Ok(())
    }

    /// How many of the drawn devices count: those that are ready first. The others are not part of the cohort.
    fn counted(&self) -> usize {
        usize::MAX
    }

    /// Whether the sampler wants [`Sampler::observe`] to be called after each round. A resumed run calls it for the rounds
    /// before.
    fn observes(&self) -> bool {
        false
    }

    /// Takes the reports of a round, in ascending order of devices.
    fn observe(&mut self, _round: u64, _reports: &[Report]) {}

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

impl<S: Sampler + ?Sized> Sampler for Box<S> {
    fn ask(&mut self, round: u64, seed: u64, asked: &mut Vec<usize>) -> Option<Question> {
        (**self).ask(round, seed, asked)
    }

    fn draw(&mut self, round: u64, seed: u64, observed: &Observed<'_>, draws: &mut Vec<Draw>) {
        (**self).draw(round, seed, observed, draws);
    }

    fn try_draw(
        &mut self,
        round: u64,
        seed: u64,
        observed: &Observed<'_>,
        draws: &mut Vec<Draw>,
    ) -> Result<(), DrawError> {
        (**self).try_draw(round, seed, observed, draws)
    }

    fn counted(&self) -> usize {
        (**self).counted()
    }

    fn observes(&self) -> bool {
        (**self).observes()
    }

    fn observe(&mut self, round: u64, reports: &[Report]) {
        (**self).observe(round, reports);
    }

    fn is_unbiased(&self) -> bool {
        (**self).is_unbiased()
    }
}

/// What tests of samplers share.
#[cfg(test)]
pub(crate) mod testing {
    use fedflip_fleet::{Columns, Fleet};

    use super::*;

    pub(crate) const SAMPLES: [f64; 4] = [100.0, 250.0, 50.0, 400.0];

    pub(crate) fn fleet() -> Fleet {
        Fleet::from_columns(Columns {
            compute_secs: &[1.0; 4],
            comm_secs: &[2.0; 4],
            samples: &SAMPLES,
            ..Columns::default()
        })
        .unwrap()
    }

    /// The mean weight of each of four devices over the draws of as many seeds. Draws are repeatable and ascend.
    pub(crate) fn expected_weights(
        sampler: &mut dyn Sampler,
        seeds: u64,
        mut look: impl FnMut(&[Draw]),
    ) -> [f64; 4] {
        let (mut draws, mut again) = (Vec::new(), vec![Draw { device: 9, weight: 9.0 }]);
        let mut mean = [0.0; 4];
        for seed in 0..seeds {
            sampler.draw(1, seed, &Observed::default(), &mut draws);
            sampler.draw(1, seed, &Observed::default(), &mut again);
            assert_eq!(draws, again);
            assert!(draws.windows(2).all(|pair| pair[0].device < pair[1].device));
            draws.iter().for_each(|draw| mean[draw.device] += draw.weight / seeds as f64);
            look(&draws);
        }
        mean
    }

    /// The cases of a scheme in `tests/golden/methods.json`.
    pub(crate) fn golden<T: serde::de::DeserializeOwned>(scheme: &str) -> Vec<T> {
        let path = format!("{}/tests/golden/methods.json", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let file: serde_json::Value = serde_json::from_str(&text).unwrap();
        serde_json::from_value(file["cases"][scheme].clone()).unwrap()
    }

    /// A fleet of which only the amounts of data matter.
    pub(crate) fn with_samples(samples: &[f64]) -> Fleet {
        let secs = vec![1.0; samples.len()];
        let columns = Columns { compute_secs: &secs, comm_secs: &secs, samples, ..Columns::default() };
        Fleet::from_columns(columns).unwrap()
    }

    #[track_caller]
    pub(crate) fn assert_shares(expected: &[f64], shares: &[f64], tolerance: f64) {
        assert_eq!(expected.len(), shares.len());
        for (expected, share) in expected.iter().zip(shares) {
            assert!((expected - share).abs() < tolerance, "{expected} is not {share}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{SAMPLES, assert_shares, expected_weights, fleet};
    use super::*;

    fn schedule() -> Schedule {
        let plan = |q: &[f64]| Plan::from_q(&fleet(), q.to_vec()).unwrap();
        Schedule::new(plan(&[0.3, 0.5, 0.0, 1.0]), 1).with_quiet(3, plan(&[0.6, 0.9, 0.4, 1.0])).unwrap()
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
                let chance: f64 =
                    (0..4).map(|n| if is_in(n) { plan.q()[n] } else { 1.0 - plan.q()[n] }).product();
                for device in (0..4).filter(|&n| is_in(n)) {
                    expected[device] += chance * plan.aggregation_weights()[device];
                }
            }
            let total: f64 = planned.iter().map(|&n| SAMPLES[n]).sum();
            let shares = [0, 1, 2, 3].map(|n| if planned.contains(&n) { SAMPLES[n] / total } else { 0.0 });
            assert_shares(&expected, &shares, 1e-12);
        }
        // What the enumeration assumes holds for the draws themselves.
        let of_usual = [0, 1, 2, 3].map(|n| if n == 2 { 0.0 } else { SAMPLES[n] / 750.0 });
        let mut coins = Coins::new(&schedule);
        assert!(coins.is_unbiased());
        assert_shares(&expected_weights(&mut coins, 40_000, |_| {}), &of_usual, 0.02);
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
