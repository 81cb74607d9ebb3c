//! The best evaluation of a run so far.

use std::path::Path;

use fedflip_fleet::Metrics;

use crate::error::RecordError;
use crate::estimated::Estimated;
use crate::reader;
use crate::schema::Line;
use crate::target::{Target, TargetMode};

/// The best value of the metric that a run's target names, as far as it can be relied on: of estimates, their limits
/// compete. Of equal values the first one stays.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    metric: String,
    mode: TargetMode,
    found: Option<(u64, f64)>,
}

impl Best {
    /// Before the first evaluation.
    pub fn new(target: &Target) -> Self {
        Self { metric: target.metric.clone(), mode: target.mode, found: None }
    }

    /// The best of the evaluations in a file of records, which may not be there yet. Evaluations before a change of the
    /// target's metric do not count: their models were not kept for the new one.
    pub fn read(target: &Target, records: &Path) -> Result<Self, RecordError> {
        let mut best = Self::new(target);
        if records.exists() {
            reader::each(records, |line| {
                let believed = Estimated::believed;
                match line {
                    Line::Initial(initial) => {
                        best.take(0, believed(&initial.metrics, initial.estimated.as_ref()))
                    }
                    Line::Round(round) => {
                        best.take(round.round, believed(&round.metrics, round.estimated.as_ref()))
                    }
                    Line::End(end) => best.take(end.rounds, believed(&end.metrics, end.estimated.as_ref())),
                    Line::Changed(changed) if changed.is_of_metric() => {
                        best.found = None;
                        false
                    }
                    Line::Header(_) | Line::Replan(_) | Line::Changed(_) | Line::Recount(_) => false,
                };
            })?;
        }
        Ok(best)
    }

    /// Whether the model after a round is better than all before it.
    pub fn take(&mut self, round: u64, metrics: &Metrics) -> bool {
        let Some(value) = metrics.get(&self.metric).filter(|value| value.is_finite()) else { return false };
        let is_better = |(_, best): (u64, f64)| match self.mode {
            TargetMode::Max => value > best,
            TargetMode::Min => value < best,
        };
        let improves = self.found.is_none_or(is_better);
        if improves {
            self.found = Some((round, value));
        }
        improves
    }

    /// The round of the best evaluation; 0 for the first model.
    pub fn round(&self) -> Option<u64> {
        self.found.map(|(round, _)| round)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_best_stays() {
        let target = |mode| Target { metric: "loss".to_owned(), at: 0.0, mode };
        let of = |value: f64| Metrics::from([("loss", value)]);
        let mut best = Best::new(&target(TargetMode::Min));
        assert!(!best.take(1, &Metrics::default()) && best.round().is_none());
        let taken = [3.0, f64::NAN, 2.0, 2.0, 5.0].map(of);
        let improved: Vec<bool> =
            (1..).zip(&taken).map(|(round, metrics)| best.take(round, metrics)).collect();
        assert_eq!((improved, best.round()), (vec![true, false, true, false, false], Some(3)));
        let mut best = Best::new(&target(TargetMode::Max));
        assert!(best.take(0, &of(1.0)) && !best.take(1, &of(0.5)) && best.take(2, &of(1.5)));
    }

    /// Of estimates the limits compete, and a change of the metric begins anew.
    #[test]
    fn lucky_estimates_and_other_metrics_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.jsonl");
        let header = r#"{"type":"header","version":3,"fedflip":"0","task":"t","scheme":"full","seed":1,"devices":1,
            "parameters":1,"bandwidth_mbps":1.0,"metrics":[],"expected_participants":1.0,"expected_rounds":null,
            "expected_round_secs":null}"#;
        let round = |round: u64, value: f64, limit: f64| {
            format!(
                r#"{{"type":"round","round":{round},"start_secs":0,"round_secs":1,"cohort":[],"mbps":[],"train_loss":null,
                "metrics":{{"accuracy":{value}}},"estimated":{{"devices":5,"share":0.5,"limit":{{"accuracy":{limit}}}}}}}"#
            )
        };
        let changed = |key: &str| {
            format!(
                r#"{{"type":"changed","after_round":2,"changes":[{{"key":"{key}","before":"loss","now":"accuracy"}}]}}"#
            )
        };
        let best = |lines: &[String]| {
            let one_line = |line: &String| line.replace('\n', " ") + "\n";
            let text: String = [header.to_owned()].iter().chain(lines).map(one_line).collect();
            std::fs::write(&path, text).unwrap();
            let target = Target { metric: "accuracy".to_owned(), at: 1.0, mode: TargetMode::Max };
            Best::read(&target, &path).unwrap().round()
        };
        let rounds = [round(1, 0.9, 0.2), round(2, 0.6, 0.5)];
        assert_eq!(best(&rounds), Some(2), "the limit counts, and not the lucky estimate");
        let [one, two] = rounds;
        assert_eq!(best(&[one.clone(), two.clone(), changed("stop.at")]), Some(2));
        assert_eq!(best(&[one.clone(), two.clone(), changed("stop.metric")]), None);
        assert_eq!(best(&[one, two, changed("stop.metric"), round(3, 0.3, 0.1)]), Some(3));
    }
}
