//! Why there is no answer: what is wrong, where on the page, and what to do.

use fedflip_fleet::{FleetError, OutOfRange, units::plain};
use fedflip_plan::PlanError;
use serde::Serialize;

/// What the text of the fleet is called in errors.
pub(crate) const FLEET: &str = "fleet";

/// An error for a person.
#[derive(Debug, Serialize)]
pub(crate) struct Refusal {
    /// The input at fault, by its name in the question; none if it is the question itself.
    pub(crate) place: Option<&'static str>,
    /// The line of the fleet, from 1.
    pub(crate) line: Option<u64>,
    pub(crate) problem: String,
    pub(crate) hint: String,
    /// Whether another scheme may have a plan for the same settings.
    pub(crate) only_scheme: bool,
    /// Whether the scheme only lacks α and β.
    pub(crate) needs_constants: bool,
}

impl Refusal {
    pub(crate) fn new(place: &'static str, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        let (problem, hint) = (problem.into(), hint.into());
        Self { place: Some(place), line: None, problem, hint, only_scheme: false, needs_constants: false }
    }

    /// A question in the wrong form: page and planner are of two versions.
    pub(crate) fn of_question(error: &serde_json::Error) -> Self {
        let problem = format!("the planner cannot read the question: {error}");
        Self { place: None, ..Self::new("", problem, "reload the page") }
    }

    pub(crate) fn of_range(place: &'static str, error: &OutOfRange) -> Self {
        let problem = format!("{} is out of range", plain(error.value));
        Self::new(place, problem, format!("it must be {}", error.wanted))
    }

    pub(crate) fn of_fleet(error: &FleetError) -> Self {
        let line = match error {
            FleetError::File { line, .. } => *line,
            FleetError::Cell { line, .. } => Some(*line),
            _ => None,
        };
        Self { line, ..Self::new(FLEET, error.to_string(), error.hint()) }
    }

    pub(crate) fn of_plan(error: &PlanError) -> Self {
        let place = match error {
            PlanError::BadNumber { name: "alpha", .. } => "alpha",
            PlanError::BadNumber { name: "beta", .. } | PlanError::Unreachable { .. } => "beta",
            PlanError::BadNumber { name: "variance", .. } => "variance",
            _ => "scheme",
        };
        let hint = match error {
            PlanError::ConstantsMissing { .. } => {
                "fill in α and β; auto and the baselines need neither".to_owned()
            }
            PlanError::FileNotRead { .. } | PlanError::NoCustomScheme { .. } => {
                "choose another scheme: this page reads no plan files and runs no programs".to_owned()
            }
            PlanError::FeatureMissing { .. } => {
                "choose the scheme paper: the same optimum in closed form".to_owned()
            }
            error => error.hint(),
        };
        let problem = match error {
            PlanError::BadNumber { value, .. } => format!("{} is out of range", plain(*value)),
            PlanError::FeatureMissing { scheme, .. } => format!("this page leaves out {scheme}"),
            error => error.to_string(),
        };
        let needs_constants = matches!(error, PlanError::ConstantsMissing { .. });
        let only_scheme = !matches!(error, PlanError::BadNumber { .. });
        Self { only_scheme, needs_constants, ..Self::new(place, problem, hint) }
    }
}
