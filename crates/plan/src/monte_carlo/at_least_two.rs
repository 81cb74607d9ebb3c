//! Cohorts of at least two, drawn as if smaller ones were discarded, at the cost of drawing their devices.

use rand::{Rng, RngExt};

/// Independent coins, given that two or more come up. No q may be 1.
#[derive(Debug)]
pub(super) struct AtLeastTwo {
    /// `log_miss[k]` = Σ_{j<k} ln(1 − q_j): the logarithm of the chance that nobody before k takes part.
    log_miss: Vec<f64>,
    /// `first[i]`: the chance that the first to take part is at i or before, and is not the only one.
    first: Vec<f64>,
}

impl AtLeastTwo {
    pub(super) fn new(q: &[f64]) -> Self {
        let mut log_miss = Vec::with_capacity(q.len() + 1);
        let mut sum = 0.0;
        log_miss.push(sum);
        for &q in q {
            sum += (-q).ln_1p();
            log_miss.push(sum);
        }
        let mut chance = 0.0;
        let first = q.iter().enumerate().map(|(i, &q)| {
            // Nobody before, i itself, and somebody behind: no difference of numbers close to one.
            let somebody_behind = -(sum - log_miss[i + 1]).exp_m1();
            chance += log_miss[i].exp() * q * somebody_behind;
            chance
        });
        Self { first: first.collect(), log_miss }
    }

    /// The chance of two or more.
    pub(super) fn probability(&self) -> f64 {
        self.first.last().copied().unwrap_or(0.0)
    }

    /// Replaces `cohort` with the positions of a draw, in ascending order. Needs a positive probability.
    pub(super) fn draw(&self, rng: &mut impl Rng, cohort: &mut Vec<usize>) {
        cohort.clear();
        let devices = self.first.len();
        let level = rng.random::<f64>() * self.probability();
        let first = self.first.partition_point(|&chance| chance <= level).min(devices - 1);
        cohort.push(first);
        // The second is the next one, given that there is one: the level lies above that of "nobody".
        let somebody_behind = -(self.log_miss[devices] - self.log_miss[first + 1]).exp_m1();
        let mut level = (-somebody_behind * rng.random::<f64>()).ln_1p();
        let mut behind = first + 1;
        while behind < devices {
            let target = self.log_miss[behind] + level;
            let next = self.log_miss.partition_point(|&log_miss| log_miss > target).max(behind + 1) - 1;
            if next >= devices {
                break;
            }
            cohort.push(next);
            behind = next + 1;
            level = (1.0 - rng.random::<f64>()).ln();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fedflip_fleet::{Purpose, StreamKey};

    #[test]
    fn cohorts_come_as_often_as_they_should() {
        let q = [0.2, 0.05, 0.0, 0.3, 0.1];
        let chance_of = |members: u32| -> f64 {
            let coin = |(n, &q): (usize, &f64)| if members >> n & 1 == 1 { q } else { 1.0 - q };
            q.iter().enumerate().map(coin).product()
        };
        let two_or_more: f64 = (0..32).filter(|members: &u32| members.count_ones() > 1).map(chance_of).sum();
        let sampler = AtLeastTwo::new(&q);
        assert!((sampler.probability() - two_or_more).abs() < 1e-15);

        let draws = 200_000_u64;
        let (mut counts, mut cohort) = ([0_u64; 32], Vec::new());
        let mut rng = StreamKey { seed: 3, purpose: Purpose::RoundTime, round: 0 }.shared();
        for _ in 0..draws {
            sampler.draw(&mut rng, &mut cohort);
            assert!(cohort.len() > 1 && cohort.is_sorted());
            counts[cohort.iter().map(|n| 1_usize << n).sum::<usize>()] += 1;
        }
        for members in (0_u32..32).filter(|members| members.count_ones() > 1) {
            let expected = chance_of(members) / two_or_more;
            let seen = counts[members as usize] as f64 / draws as f64;
            let five_sigma = 5.0 * (expected * (1.0 - expected) / draws as f64).sqrt();
            assert!((seen - expected).abs() <= five_sigma, "{members:05b}: {seen} against {expected}");
        }
    }

    #[test]
    fn the_rarest_pair_is_still_a_pair() {
        let sampler = AtLeastTwo::new(&[1e-12; 50]);
        assert!((sampler.probability() / (50.0 * 49.0 / 2.0 * 1e-24) - 1.0).abs() < 1e-9);
        let mut cohort = Vec::new();
        for round in 0..1000 {
            sampler
                .draw(&mut StreamKey { seed: 3, purpose: Purpose::RoundTime, round }.shared(), &mut cohort);
            assert_eq!(cohort.len(), 2);
        }
    }
}
