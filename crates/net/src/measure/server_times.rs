//! The server's own part of a round: the time that is neither download, nor computing, nor uploading.

use serde::{Deserialize, Serialize};

use super::average::Average;

/// What the server measures of its own work. Empty rounds count like others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ServerTimes {
    /// From the opening of a round to the opening of the next one, without the path of the slowest device, evaluations and
    /// waits for absent devices.
    overhead_secs: Average,
    /// An evaluation, where there was one.
    evaluation_secs: Average,
}

impl ServerTimes {
    pub(super) fn observe(&mut self, times: RoundTimes) {
        self.overhead_secs.observe(times.overhead_secs());
        if let Some(secs) = times.evaluation_secs {
            self.evaluation_secs.observe(secs);
        }
    }

    /// The overhead of a mean round, of which the given share is evaluated; none before the first one.
    pub(super) fn overhead_secs(&self, evaluated_share: f64) -> Option<f64> {
        let evaluation_secs = evaluated_share * self.evaluation_secs.value().unwrap_or(0.0);
        self.overhead_secs.value().map(|secs| secs + evaluation_secs)
    }
}

/// A round as the server's clock has it, in which no device was lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundTimes {
    /// From its opening to the moment at which the next one could open.
    pub cycle_secs: f64,
    /// The download, the computation and the upload of the device that finished last; 0 in an empty round.
    pub device_secs: f64,
    pub evaluation_secs: Option<f64>,
}

impl RoundTimes {
    fn overhead_secs(self) -> f64 {
        let secs = self.cycle_secs - self.device_secs - self.evaluation_secs.unwrap_or(0.0);
        // Times below a nanosecond are none.
        if secs >= 1e-9 { secs } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(cycle_secs: f64, device_secs: f64) -> RoundTimes {
        RoundTimes { cycle_secs, device_secs, evaluation_secs: None }
    }

    #[test]
    fn overhead_is_what_is_left_of_a_round_and_empty_rounds_count() {
        let mut times = ServerTimes::default();
        assert_eq!(times.overhead_secs(1.0), None);
        for n in 0..100 {
            times.observe(if n % 3 == 0 { round(0.2, 0.0) } else { round(f64::from(n) + 0.2, f64::from(n)) });
        }
        assert!((times.overhead_secs(0.0).unwrap() - 0.2).abs() < 1e-9);
    }

    #[test]
    fn one_odd_round_moves_the_overhead_little() {
        let mut times = ServerTimes::default();
        (0..10).for_each(|_| times.observe(round(1.1, 1.0)));
        times.observe(round(3600.0, 1.0));
        assert!(times.overhead_secs(0.0).unwrap() < 0.15);
        // Clocks of devices that overlap the window may leave nothing.
        for _ in 0..50 {
            times.observe(round(1.0, 1.5));
        }
        assert!((0.0..0.05).contains(&times.overhead_secs(0.0).unwrap()));
    }

    #[test]
    fn evaluations_count_by_their_share_of_rounds_and_not_as_outliers() {
        let mut times = ServerTimes::default();
        for n in 0..100 {
            let evaluation_secs = (n % 10 == 0).then_some(5.0);
            let cycle_secs = 1.1 + evaluation_secs.unwrap_or(0.0);
            times.observe(RoundTimes { cycle_secs, device_secs: 1.0, evaluation_secs });
        }
        assert!((times.overhead_secs(0.1).unwrap() - 0.6).abs() < 1e-9);
        assert!((times.overhead_secs(0.0).unwrap() - 0.1).abs() < 1e-9);
    }
}
