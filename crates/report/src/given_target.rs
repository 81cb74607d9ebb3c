//! A target that is given for a report, in the place of those that its runs had.
//!
//! A run is shown to the first evaluation that reaches the target, as if it had ended there. A run whose evaluations never
//! reach it has the time of its end as a lower bound.

use std::str::FromStr;

use fedflip_fleet::{Direction, Display, MetricInfo, nearest};
use fedflip_record::{Header, Target, TargetMode};

use crate::error::ReportError;
use crate::problem;
use crate::run_view::RunView;

/// The value of a metric that all times are to. Whether it is reached from above follows from each run.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenTarget {
    /// The name of the metric.
    pub metric: String,
    /// The value to reach.
    pub at: f64,
}

impl FromStr for GivenTarget {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.rsplit_once('=');
        let parts = parts.and_then(|(metric, at)| Some((metric.trim(), at.trim().parse().ok()?)));
        match parts {
            Some((metric, at)) if !metric.is_empty() && f64::is_finite(at) => {
                Ok(Self { metric: metric.to_owned(), at })
            }
            _ => Err("write METRIC=VALUE, such as loss=0.5 or accuracy=0.6"),
        }
    }
}

impl GivenTarget {
    /// The target of a run; none if the run does not have the metric.
    pub(crate) fn of(&self, header: &Header) -> Option<Target> {
        let info = self.info(header)?;
        // Somebody may have given a mode with the run's own target.
        let own = header.stop.as_ref().filter(|own| own.metric == self.metric);
        let mode = own.map_or_else(
            || match info.better {
                Direction::Larger => TargetMode::Max,
                Direction::Smaller => TargetMode::Min,
            },
            |own| own.mode,
        );
        Some(Target { metric: self.metric.clone(), at: self.at, mode })
    }

    /// The metric as a run declares it.
    fn info<'a>(&self, header: &'a Header) -> Option<&'a MetricInfo> {
        header.metrics.iter().find(|info| info.name == self.metric)
    }

    /// Leaves out the runs without the metric; an error if that is all of them, or if their metric has no such value.
    pub(crate) fn only(
        &self,
        runs: Vec<RunView>,
        problems: &mut Vec<String>,
    ) -> Result<Vec<RunView>, ReportError> {
        let (with, without): (Vec<_>, Vec<_>) =
            runs.into_iter().partition(|run| self.info(&run.header).is_some());
        if with.is_empty() && !without.is_empty() {
            let names = without.iter().flat_map(|run| &run.header.metrics).map(|info| info.name.to_string());
            let mut known: Vec<String> = names.collect();
            known.sort();
            known.dedup();
            let nearest = nearest(&self.metric, &known).cloned();
            return Err(ReportError::NoSuchMetric { metric: self.metric.clone(), nearest, known });
        }
        // As in scenarios.
        let is_share =
            |run: &RunView| self.info(&run.header).is_some_and(|info| info.display == Display::Share);
        if !(1e-9..=1.0).contains(&self.at) && with.iter().any(is_share) {
            return Err(ReportError::NoShare { metric: self.metric.clone(), at: self.at });
        }
        if with.is_empty() {
            problems.push(problem::of(
                &"the target is not used: there are only pilots here, which keep their own",
            ));
        }
        let left_out = |run: &RunView| {
            problem::about(&run.folder, &format!("left out: its evaluations have no {}", self.metric))
        };
        problems.extend(without.iter().map(left_out));
        Ok(with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_metric_and_a_value() {
        let read = |text: &str| text.parse::<GivenTarget>();
        assert_eq!(read("loss=0.5"), Ok(GivenTarget { metric: "loss".to_owned(), at: 0.5 }));
        assert_eq!(read("a=b = -1e2"), Ok(GivenTarget { metric: "a=b".to_owned(), at: -100.0 }));
        for text in ["loss", "=0.5", "loss=", "loss=low", "loss=nan", "loss=inf", ""] {
            assert!(read(text).unwrap_err().contains("METRIC=VALUE"), "{text}");
        }
    }
}
