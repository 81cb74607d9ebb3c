//! Independent coin flips for a whole fleet, in time that grows with the cohort and not with the fleet.
//!
//! Flipping N coins takes N draws even when three devices take part. The sampler therefore sorts devices into
//! classes by the power of two above their q. In a class whose ceiling is p, the distance to the next
//! candidate is geometric with parameter p, and a candidate stays with probability q/p ≥ ½. Every device takes part
//! with its probability q_n, to the 53 bits of a random number, and independently of all others.

use rand::{Rng, RngExt};

/// Devices whose q lies in (ceiling/2, ceiling].
#[derive(Clone, Debug)]
struct Class {
    /// ln(1 − ceiling). It is −∞ for the class of ceiling 1, in which every device is a candidate.
    log_miss: f64,
    /// (position, probability that a candidate stays).
    members: Vec<(u32, f64)>,
}

/// Draws cohorts for fixed participation probabilities.
#[derive(Clone, Debug)]
pub struct CohortSampler {
    classes: Vec<Class>,
}

impl CohortSampler {
    /// A sampler for `q`. A device with a probability of 0 or less never takes part, one with 1 or more always does.
    pub fn new(q: &[f64]) -> Self {
        // Below 2⁻⁶³ a device takes part once in more rounds than anybody runs: one last class holds them.
        const CLASSES: usize = 64;
        let mut members: Vec<Vec<(u32, f64)>> = vec![Vec::new(); CLASSES];
        for (position, &q) in (0_u32..).zip(q) {
            if q > 0.0 {
                let class = (-q.log2().ceil()).clamp(0.0, 63.0) as usize;
                members[class].push((position, (q * (class as f64).exp2()).min(1.0)));
            }
        }
        let classes = members
            .into_iter()
            .enumerate()
            .filter(|(_, members)| !members.is_empty())
            .map(|(class, members)| Class { log_miss: (-(-(class as f64)).exp2()).ln_1p(), members })
            .collect();
        Self { classes }
    }

    /// Replaces `cohort` by the positions of one independent draw. Positions ascend, which is the order in which updates
    /// are added up.
    pub fn draw(&self, rng: &mut impl Rng, cohort: &mut Vec<usize>) {
        cohort.clear();
        for class in &self.classes {
            let mut next = class.skip(rng);
            while let Some(&(position, stays)) = class.members.get(next) {
                if stays >= 1.0 || rng.random::<f64>() < stays {
                    cohort.push(position as usize);
                }
                next = next.saturating_add(1).saturating_add(class.skip(rng));
            }
        }
        cohort.sort_unstable();
    }
}

impl Class {
    /// The number of devices before the next candidate.
    fn skip(&self, rng: &mut impl Rng) -> usize {
        if self.log_miss == f64::NEG_INFINITY {
            return 0;
        }
        // 1 − u lies in (0, 1], so the logarithm is finite; the cast saturates.
        ((1.0 - rng.random::<f64>()).ln() / self.log_miss) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Purpose, StreamKey};

    fn frequencies(q: &[f64], draws: u64) -> (Vec<f64>, f64) {
        let sampler = CohortSampler::new(q);
        let (mut cohort, mut counts, mut together) = (Vec::new(), vec![0_u64; q.len()], 0_u64);
        for round in 0..draws {
            sampler.draw(&mut StreamKey { seed: 1, purpose: Purpose::Cohort, round }.shared(), &mut cohort);
            cohort.iter().for_each(|&n| counts[n] += 1);
            together += u64::from(cohort.contains(&0) && cohort.contains(&1));
        }
        (counts.iter().map(|&count| count as f64 / draws as f64).collect(), together as f64 / draws as f64)
    }

    #[test]
    fn every_device_takes_part_as_often_as_its_q_says() {
        let q = [0.3, 0.26, 0.5, 1.0, 0.75, 0.011, 0.25, 0.002, 1e-30];
        let draws = 40_000;
        let (seen, together) = frequencies(&q, draws);
        let five_sigma = |p: f64| 5.0 * (p * (1.0 - p) / draws as f64).sqrt() + 1e-12;
        for (n, (&seen, &q)) in seen.iter().zip(&q).enumerate() {
            assert!((seen - q).abs() <= five_sigma(q), "device {n}: {seen} against {q}");
        }
        // Two devices of the same class flip independent coins.
        assert!((together - 0.3 * 0.26).abs() <= five_sigma(0.3 * 0.26), "{together}");
    }

    #[test]
    fn certain_devices_are_always_there_and_impossible_ones_never() {
        let (seen, _) = frequencies(&[1.0, 0.0, 1.0], 100);
        assert_eq!(seen, [1.0, 0.0, 1.0]);
    }
}
