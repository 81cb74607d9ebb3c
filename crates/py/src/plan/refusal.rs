//! Why there is no plan, with the argument and the value for programs.

use fedflip::planner::Dialect;
use fedflip_fleet::units::plain;
use fedflip_plan::PlanError;
use pyo3::prelude::*;

use crate::error::Failure;
use crate::fleet;

/// An error of the planner as an `InputError` with place, value and remedy.
pub(crate) fn refused(py: Python<'_>, error: &PlanError) -> Failure {
    let failure = Failure::input(error, Dialect::Python.plan_hint(error));
    match error {
        PlanError::BadNumber { name, value, .. } => {
            let name = if *name == "divergence_sq" { "divergence" } else { name };
            let problem = format!("{name}: {} is out of range", plain(*value));
            Failure::input(problem, error.hint()).at(name).of(py, *value)
        }
        PlanError::Unreachable { beta, .. } => failure.at("beta").of(py, *beta),
        PlanError::ConstantsMissing { .. } => failure.at("alpha"),
        PlanError::Pilots(_) => failure.at("pilots"),
        PlanError::UnknownScheme { text, .. } | PlanError::FileNotRead { text } => {
            failure.at("scheme").of(py, text)
        }
        PlanError::SurrogateInfeasible { .. }
        | PlanError::NotABaseline { .. }
        | PlanError::CohortTooLarge { .. }
        | PlanError::NotAlwaysAvailable { .. }
        | PlanError::NoRounds { .. }
        | PlanError::FleetTooLarge { .. }
        | PlanError::NoQ { .. } => failure.at("scheme"),
        PlanError::File(error) => fleet::refused(py, error),
        PlanError::OtherFleet { planned, .. } => failure.at("q").of(py, *planned),
        PlanError::BadParticipation { position, q, .. } => {
            failure.at(format!("q, row {position}")).of(py, *q)
        }
        PlanError::NobodyTakesPart => failure.at("q"),
        _ => failure,
    }
}
