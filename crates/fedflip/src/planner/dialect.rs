//! The names of settings, where sentences advise to change one.

use fedflip_plan::{PlanError, Scheme};

use crate::advice;

/// Who reads the sentences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// Somebody who types flags.
    #[default]
    CommandLine,
    /// Somebody who writes keyword arguments.
    Python,
}

impl Dialect {
    /// A setting by its name.
    pub(crate) fn setting(self, name: &str) -> String {
        match self {
            Self::CommandLine => format!("--{}", name.replace('_', "-")),
            Self::Python => name.to_owned(),
        }
    }

    /// The choice of a scheme.
    pub(crate) fn scheme(self, scheme: &Scheme) -> String {
        match self {
            Self::CommandLine => format!("--scheme {scheme}"),
            Self::Python => format!("scheme=\"{scheme}\""),
        }
    }

    /// How to see every device of a plan.
    pub(crate) fn list_devices(self) -> &'static str {
        match self {
            Self::CommandLine => "--devices lists all",
            Self::Python => "explain(devices=True) lists all",
        }
    }

    /// How α and β become known.
    pub(crate) fn give_constants(self) -> &'static str {
        match self {
            Self::CommandLine => advice::GIVE_CONSTANTS,
            Self::Python => {
                "give alpha and beta, or pilots to estimate them, such as pilots=[\"155:uniform\", \"13:full\"]"
            }
        }
    }

    /// What to do with a scheme that has no rounds, and so no plan.
    pub(crate) fn simulate(self) -> &'static str {
        match self {
            Self::CommandLine => {
                "simulate the scheme with `fedflip run` or `fedflip compare`: there is no q to choose"
            }
            Self::Python => {
                "simulate the scheme with fedflip.simulate or fedflip.compare: there is no q to choose"
            }
        }
    }

    /// A remedy for an error of the planner.
    pub fn plan_hint(self, error: &PlanError) -> String {
        match (self, error) {
            (Self::CommandLine, error) => advice::plan_hint(error),
            (Self::Python, PlanError::ConstantsMissing { .. }) => {
                format!("{}; auto and the baselines need neither", self.give_constants())
            }
            (Self::Python, error) => error.hint(),
        }
    }
}
