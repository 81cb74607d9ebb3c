//! The named results of an evaluation, such as accuracy and loss.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::printable;

/// Whether larger or smaller values of a metric are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Larger values are better, as for accuracy.
    Larger,
    /// Smaller values are better, as for a loss.
    Smaller,
}

/// How the values of a metric are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Display {
    /// A share between 0 and 1, shown in percent.
    Share,
    /// A value without bounds, such as a loss.
    Number,
}

/// What a reader of results needs to know about a metric. It is part of the records, so that whoever shows a run need not
/// know the task.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct MetricInfo {
    /// The name in records, reports and stop rules. What a terminal would obey is replaced when it is read.
    #[serde(deserialize_with = "printable_name")]
    pub name: Cow<'static, str>,
    /// Which values are better.
    pub better: Direction,
    /// How values are shown.
    pub display: Display,
}

impl MetricInfo {
    /// The description of a metric whose name is known when the program is written.
    pub const fn new(name: &'static str, better: Direction, display: Display) -> Self {
        Self { name: Cow::Borrowed(name), better, display }
    }
}

fn printable_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'static, str>, D::Error> {
    let name = String::deserialize(deserializer)?;
    Ok(Cow::Owned(printable(&name).into_owned()))
}

/// Metric values by name, in the order in which a learner declares them.
///
/// All values are finite: a value that is NaN or infinite is left out. As JSON, metrics are a map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics(Vec<(Cow<'static, str>, f64)>);

impl Metrics {
    /// Sets the value of a metric. A value that is NaN or infinite removes the metric.
    pub fn set(&mut self, name: impl Into<Cow<'static, str>>, value: f64) {
        let name = name.into();
        match self.0.iter().position(|(known, _)| *known == name) {
            Some(at) if value.is_finite() => self.0[at].1 = value,
            Some(at) => drop(self.0.remove(at)),
            None if value.is_finite() => self.0.push((name, value)),
            None => {}
        }
    }

    /// The value of a metric, if the evaluation has it.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// All metrics in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().map(|(name, value)| (&**name, *value))
    }

    /// The number of metrics.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the evaluation has no metric at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<N: Into<Cow<'static, str>>> FromIterator<(N, f64)> for Metrics {
    fn from_iter<I: IntoIterator<Item = (N, f64)>>(named: I) -> Self {
        let mut metrics = Self::default();
        named.into_iter().for_each(|(name, value)| metrics.set(name, value));
        metrics
    }
}

impl<const COUNT: usize> From<[(&'static str, f64); COUNT]> for Metrics {
    fn from(named: [(&'static str, f64); COUNT]) -> Self {
        named.into_iter().collect()
    }
}

impl Serialize for Metrics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Metrics {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Named)
    }
}

struct Named;

impl<'de> Visitor<'de> for Named {
    type Value = Metrics;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a map from names of metrics to numbers")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Metrics, M::Error> {
        let mut metrics = Metrics::default();
        while let Some((name, value)) = map.next_entry::<String, Option<f64>>()? {
            // Somebody else may have written the file, and terminals show its names.
            metrics.set(printable(&name).into_owned(), value.unwrap_or(f64::NAN));
        }
        Ok(metrics)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_a_map_that_keeps_its_order() {
        let metrics = Metrics::from([("loss", 0.1 + 0.2), ("accuracy", 0.5)]);
        let text = serde_json::to_string(&metrics).unwrap();
        assert_eq!(text, r#"{"loss":0.30000000000000004,"accuracy":0.5}"#);
        assert_eq!(serde_json::from_str::<Metrics>(&text).unwrap(), metrics);
        assert_eq!((metrics.get("loss"), metrics.get("f1")), (Some(0.1 + 0.2), None));
    }

    #[test]
    fn a_value_that_is_not_finite_is_left_out() {
        let mut metrics = Metrics::from([("perplexity", f64::INFINITY), ("accuracy", 0.5)]);
        assert_eq!(metrics, Metrics::from([("accuracy", 0.5)]));
        metrics.set("accuracy", f64::NAN);
        assert!(metrics.is_empty());
        assert!(serde_json::from_str::<Metrics>(r#"{"loss":null}"#).unwrap().is_empty());
    }

    #[test]
    fn names_that_a_terminal_would_obey_are_made_harmless() {
        let metrics: Metrics = serde_json::from_str("{\"a\\u001b[2J\":1}").unwrap();
        assert!(metrics.iter().all(|(name, _)| !name.contains('\u{1b}')));
    }
}
