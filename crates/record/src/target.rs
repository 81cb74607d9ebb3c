//! The target of a run.

use fedflip_fleet::Metrics;
use serde::{Deserialize, Serialize};

use crate::text::word;

/// The value of a metric at which a run ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// The name of the metric.
    #[serde(deserialize_with = "word")]
    pub metric: String,
    /// The value to reach.
    pub at: f64,
    /// Whether the value is reached from below or from above.
    pub mode: TargetMode,
}

/// The side from which a target is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetMode {
    /// The metric is to grow to the target: accuracy.
    Max,
    /// The metric is to fall to the target: a loss.
    Min,
}

impl Target {
    /// The value, if it is one of this metric.
    pub fn of(&self, metric: &str) -> Option<f64> {
        (self.metric == metric).then_some(self.at)
    }

    /// Whether an evaluation reaches the target.
    pub fn is_met(&self, metrics: &Metrics) -> bool {
        metrics.get(&self.metric).is_some_and(|value| self.is_met_by(value))
    }

    /// Whether a value of the metric reaches the target.
    pub fn is_met_by(&self, value: f64) -> bool {
        match self.mode {
            TargetMode::Max => value >= self.at,
            TargetMode::Min => value <= self.at,
        }
    }
}
