//! Reading the hours that a comparison came to, from `compare.json`.

use serde::Deserialize;

use super::definition::Counted;

/// The hours of a scheme to the target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hours {
    training: f64,
    with_pilots: f64,
    /// Some seed did not reach the target: the scheme takes longer.
    pub(super) lower_bound: bool,
}

impl Hours {
    pub(super) fn counted(&self, counted: Counted) -> f64 {
        match counted {
            Counted::Training => self.training,
            Counted::WithPilots => self.with_pilots,
        }
    }
}

/// `compare.json`, as far as it matters here.
#[derive(Deserialize)]
pub(super) struct Comparison {
    schemes: Vec<Scheme>,
}

#[derive(Deserialize)]
struct Scheme {
    scheme: String,
    hours: Option<Spread>,
    hours_with_pilot: Option<f64>,
    lower_bound: bool,
}

#[derive(Deserialize)]
struct Spread {
    mean: f64,
}

impl Comparison {
    /// None without the scheme or its hours.
    pub(super) fn hours(&self, scheme: &str) -> Option<Hours> {
        let found = self.schemes.iter().find(|known| known.scheme == scheme)?;
        Some(Hours {
            training: found.hours.as_ref()?.mean,
            with_pilots: found.hours_with_pilot?,
            lower_bound: found.lower_bound,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scheme_has_its_own_hours() {
        let json = r#"{ "task": "synthetic", "schemes": [
            { "scheme": "paper", "hours": { "mean": 1.5, "std": null }, "hours_with_pilot": 2.5,
              "lower_bound": false },
            { "scheme": "full", "hours": { "mean": 9, "std": 1 }, "hours_with_pilot": 9, "lower_bound": true },
            { "scheme": "tight", "hours": null, "lower_bound": false }
        ] }"#;
        let comparison: Comparison = serde_json::from_str(json).unwrap();
        let paper = comparison.hours("paper").unwrap();
        assert_eq!((paper.counted(Counted::Training), paper.counted(Counted::WithPilots)), (1.5, 2.5));
        assert!(!paper.lower_bound && comparison.hours("full").unwrap().lower_bound);
        assert_eq!(comparison.hours("tight"), None);
        assert_eq!(comparison.hours("exact"), None);
    }
}
