//! How the simulated world departs from the fleet's numbers: jitter, fading and drop-outs, all from keyed streams.

use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

use crate::stream::{Purpose, StreamKey};

/// How the simulated world departs from the fleet's numbers. By default it does not.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Conditions {
    /// The coefficient of variation of a device's compute time, which is log-normal with the fleet's number as its mean. The
    /// server does not know the time before the round.
    pub compute_jitter: f64,
    /// The standard deviation of a link's gain in dB around the fleet's number, drawn once per round. The server knows the
    /// gain when it divides the bandwidth, because devices report their link when they join.
    pub fading_db: f64,
    /// The probability that a device of the cohort vanishes, at a time that is uniform over its own part of the round.
    pub dropout: f64,
}

impl Conditions {
    /// The factor on the time that a device's upload takes in a round.
    pub fn fade(&self, seed: u64, round: u64, device: usize) -> f64 {
        if self.fading_db <= 0.0 {
            return 1.0;
        }
        10_f64.powf(-self.fading_db * normal(seed, Purpose::Fading, round, device) / 10.0)
    }

    /// The factor on the time that a device's computation takes in a round.
    pub fn jitter(&self, seed: u64, round: u64, device: usize) -> f64 {
        if self.compute_jitter <= 0.0 {
            return 1.0;
        }
        let variance = (self.compute_jitter * self.compute_jitter).ln_1p();
        (variance.sqrt() * normal(seed, Purpose::ComputeJitter, round, device) - variance / 2.0).exp()
    }

    /// The share of its part of the round after which a device vanishes, if it does.
    pub fn vanishes_after(&self, seed: u64, round: u64, device: usize) -> Option<f64> {
        if self.dropout <= 0.0 {
            return None;
        }
        let mut stream = StreamKey { seed, purpose: Purpose::Dropout, round }.device(device as u64);
        let [coin, share]: [f64; 2] = stream.random();
        (coin < self.dropout).then_some(share)
    }
}

fn normal(seed: u64, purpose: Purpose, round: u64, device: usize) -> f64 {
    StandardNormal.sample(&mut StreamKey { seed, purpose, round }.device(device as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u64 = 20_000;

    fn mean(value: impl Fn(u64) -> f64) -> f64 {
        (0..DRAWS).map(value).sum::<f64>() / DRAWS as f64
    }

    #[test]
    fn as_described() {
        let real = Conditions { compute_jitter: 0.3, fading_db: 4.0, dropout: 0.1 };
        // Within five standard errors of mean 1 and variance 0.09.
        let jitter = |round| real.jitter(7, round, 3);
        assert!((mean(jitter) - 1.0).abs() < 5.0 * 0.3 / (DRAWS as f64).sqrt());
        assert!((mean(|round| (jitter(round) - 1.0).powi(2)) - 0.09).abs() < 0.006);
        // In dB, around 0 with a standard deviation of 4.
        let db = |round| 10.0 * real.fade(7, round, 3).log10();
        assert!(mean(db).abs() < 5.0 * 4.0 / (DRAWS as f64).sqrt());
        assert!((mean(|round| db(round).powi(2)) - 16.0).abs() < 0.9);
        let gone = mean(|round| f64::from(u8::from(real.vanishes_after(7, round, 3).is_some())));
        assert!((gone - 0.1).abs() < 5.0 * (0.09 / DRAWS as f64).sqrt());
        assert!(
            (0..99).all(|round| real.vanishes_after(7, round, 3).is_none_or(|at| (0.0..1.0).contains(&at)))
        );
        let ideal = Conditions::default();
        assert_eq!(
            (ideal.fade(7, 1, 3), ideal.jitter(7, 1, 3), ideal.vanishes_after(7, 1, 3)),
            (1.0, 1.0, None)
        );
    }
}
