//! How sure metrics are that devices estimated.

use fedflip_fleet::Metrics;
use serde::{Deserialize, Serialize};

/// Metrics that follow from the reports of some devices on their held-out samples are estimates. This is how sure they are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimated {
    /// The number of devices that reported.
    pub devices: usize,
    /// The chance of a device to be among them: that of its evaluation coin, times the share of the fleet that was heard.
    pub share: f64,
    /// The standard errors of the metrics, by the delta method; 0 if the whole fleet reported. A single report of many has none.
    #[serde(default, skip_serializing_if = "Metrics::is_empty")]
    pub se: Metrics,
    /// The confidence limits on the safe side: a stop rule believes these, and not a lucky estimate. Few reports have none.
    #[serde(default, skip_serializing_if = "Metrics::is_empty")]
    pub limit: Metrics,
}

impl Estimated {
    /// The values that a rule may rely on: of estimates, their limits.
    pub fn believed<'a>(metrics: &'a Metrics, estimated: Option<&'a Self>) -> &'a Metrics {
        estimated.map_or(metrics, |estimated| &estimated.limit)
    }
}
