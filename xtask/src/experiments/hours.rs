//! Reading the times that comparisons came to.

use std::fmt;

use crate::json::number_after;

/// What a scheme took to the target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hours {
    mean: f64,
    /// With the pilots, for schemes that need them.
    with_pilots: f64,
    /// Some seed did not reach the target: it takes longer.
    pub(super) lower_bound: bool,
}

/// Which of them a claim is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    Training,
    WithPilots,
}

impl Counted {
    pub(super) fn of(self, hours: &Hours) -> f64 {
        match self {
            Self::Training => hours.mean,
            Self::WithPilots => hours.with_pilots,
        }
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Training => "",
            Self::WithPilots => ", pilots counted",
        })
    }
}

impl Hours {
    /// From `compare.json`.
    pub(super) fn of(json: &str, scheme: &str) -> Option<Self> {
        let (_, rest) = json.split_once(&format!("\"scheme\": \"{scheme}\","))?;
        // Up to the next scheme: what follows is not about this one.
        let entry = rest.split("\"scheme\":").next()?;
        Some(Self {
            mean: number_after(entry, "mean")?,
            with_pilots: number_after(entry, "hours_with_pilot")?,
            lower_bound: entry.contains("\"lower_bound\": true"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scheme_has_its_own_hours() {
        let json = r#"{ "schemes": [
            { "scheme": "paper", "hours": { "mean": 1.5, "std": null }, "hours_with_pilot": 2.5,
              "lower_bound": false },
            { "scheme": "full", "hours": { "mean": 9, "std": 1 }, "hours_with_pilot": 9, "lower_bound": true },
            { "scheme": "tight", "hours": null, "lower_bound": false }
        ] }"#;
        let paper = Hours::of(json, "paper").unwrap();
        assert_eq!((Counted::Training.of(&paper), Counted::WithPilots.of(&paper)), (1.5, 2.5));
        assert!(!paper.lower_bound);
        assert_eq!(Hours::of(json, "full"), Some(Hours { mean: 9.0, with_pilots: 9.0, lower_bound: true }));
        assert_eq!(Hours::of(json, "tight"), None);
        assert_eq!(Hours::of(json, "exact"), None);
    }
}
