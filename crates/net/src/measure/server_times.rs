//! The server's own part of a round: the time that is neither download, nor computing, nor uploading.

use serde::{Deserialize, Serialize};

use super::average::Mean;

/// What the server measures of its own work. Empty rounds count like others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ServerTimes {
    /// The time of a round before its grants and after its last event, without an evaluation.
    overhead_secs: Mean,
    /// The evaluation of a round that was to be evaluated.
    evaluation_secs: Mean,
}

impl ServerTimes {
    /// Notes a round, whose overhead counts up to a bound.
    pub(super) fn observe(&mut self, times: RoundTimes, secs_max: f64) {
        self.overhead_secs.observe(times.overhead_secs.min(secs_max));
        if let Some(secs) = times.evaluation_secs {
            self.evaluation_secs.observe(secs);
        }
    }

    /// The overhead of a mean round, of which the given share is evaluated; none before the first one.
    pub(super) fn overhead_secs(&self, evaluated_share: f64) -> Option<f64> {
        let evaluation_secs = evaluated_share * self.evaluation_secs.value().unwrap_or(0.0);
        let secs = self.overhead_secs.value().map(|secs| secs + evaluation_secs);
        // Times below a nanosecond are none.
        secs.map(|secs| if secs >= 1e-9 { secs } else { 0.0 })
    }
}

/// A round as the server's clock has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundTimes {
    /// The server's own part, without an evaluation.
    pub overhead_secs: f64,
    /// The evaluation, where one was due; 0 if it was left out.
    pub evaluation_secs: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observe(times: &mut ServerTimes, overhead_secs: f64) {
        times.observe(RoundTimes { overhead_secs, evaluation_secs: None }, 25.0);
    }

    #[test]
    fn rounds_with_long_windows_count_by_their_share() {
        let mut times = ServerTimes::default();
        assert_eq!(times.overhead_secs(1.0), None);
        let mut found = Vec::new();
        for n in 0..1000 {
            observe(&mut times, if n % 10 == 7 { 5.0 } else { 0.04 });
            found.extend(times.overhead_secs(0.0).filter(|_| n >= 100));
        }
        let mean = found.iter().sum::<f64>() / found.len() as f64;
        assert!((mean / 0.536 - 1.0).abs() < 0.02, "{mean}");
        assert!(found.iter().all(|secs| (0.3..0.9).contains(secs)));
    }

    #[test]
    fn a_suspended_server_counts_with_its_bound_and_is_forgotten() {
        let mut times = ServerTimes::default();
        (0..40).for_each(|_| observe(&mut times, 0.1));
        observe(&mut times, 86_400.0);
        assert!(times.overhead_secs(0.0).unwrap() < 1.5);
        (0..200).for_each(|_| observe(&mut times, 0.1));
        assert!((times.overhead_secs(0.0).unwrap() - 0.1).abs() < 0.001);
        for nonsense in [f64::NAN, -1.0, f64::NEG_INFINITY] {
            let before = times.clone();
            times.observe(
                RoundTimes { overhead_secs: nonsense, evaluation_secs: Some(nonsense) },
                f64::INFINITY,
            );
            assert_eq!(times, before);
        }
    }

    #[test]
    fn evaluations_count_by_their_share_of_rounds_and_those_left_out_as_none() {
        let mut times = ServerTimes::default();
        for n in 0..1000 {
            // Every tenth round is due, and every second of these is empty.
            let evaluation_secs = (n % 10 == 0).then_some(if n % 20 == 0 { 5.0 } else { 0.0 });
            times.observe(RoundTimes { overhead_secs: 0.1, evaluation_secs }, 25.0);
        }
        assert!((times.overhead_secs(0.1).unwrap() - 0.35).abs() < 0.02);
        assert!((times.overhead_secs(0.0).unwrap() - 0.1).abs() < 1e-9);
    }
}
