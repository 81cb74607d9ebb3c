//! What the scenario's reader needs of the binary's errors.

use fedflip_fleet::{FleetError, OutOfRange};
use fedflip_learn::LearnError;
use fedflip_plan::PlanError;

use crate::scenario::ScenarioError;

/// As in the binary, with what a scenario can be refused for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    #[error(transparent)]
    Fleet(#[from] FleetError),
    #[error(transparent)]
    Learn(#[from] LearnError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    #[error("{flag}: {value} is not {wanted}")]
    Flag { flag: &'static str, value: f64, wanted: String },
}

impl CliError {
    pub(crate) fn flag(flag: &'static str) -> impl FnOnce(OutOfRange) -> Self {
        move |error| Self::Flag { flag, value: error.value, wanted: error.wanted.to_owned() }
    }
}
