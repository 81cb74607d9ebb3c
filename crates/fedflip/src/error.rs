//! What can go wrong, what to do about it, and how the process ends.

use std::process::ExitCode;

use fedflip_agent::JoinError;
use fedflip_dashboard::DashboardError;
use fedflip_datasets::DataError;
use fedflip_engine::EngineError;
use fedflip_fleet::units::plain;
use fedflip_fleet::{FleetError, OutOfRange};
use fedflip_learn::LearnError;
use fedflip_learn::task::TaskError;
use fedflip_net::NetError;
use fedflip_plan::{PlanError, Scheme};

use fedflip_record::RecordError;

use fedflip_report::ReportError;

use crate::advice;
use fedflip_run::RunError;
use fedflip_scenario::{KeyError, ScenarioError};

/// How the process ends. Part of the interface: scripts rely on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// What was asked for is done.
    Done = 0,
    /// The output could not be written, or the system failed otherwise.
    Failed = 1,
    /// The input is not usable; the message says why and what would be right.
    BadInput = 2,
    /// The model diverged; the last good one is kept.
    Diverged = 3,
    /// Stopped before its end; it can go on.
    Stopped = 4,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status as u8)
    }
}

/// Why a command did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    #[error("{path}: cannot be opened: {source}")]
    Open { path: String, source: std::io::Error },
    #[error("{}", advice::fleet_text(.0))]
    Fleet(#[from] FleetError),
    #[error("{}", advice::plan_text(.0))]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Data(#[from] DataError),
    #[error(transparent)]
    Learn(#[from] LearnError),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Net(#[from] NetError),
    #[error(transparent)]
    Join(#[from] JoinError),
    #[error(transparent)]
    Report(#[from] ReportError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error("--dashboard: {0}")]
    Dashboard(#[from] DashboardError),
    #[error(transparent)]
    Scenario(ScenarioError),
    #[error(transparent)]
    Run(RunError),
    #[error("{flag}: {} is out of range", plain(*.value))]
    Flag { flag: &'static str, value: f64, wanted: String },
    #[error("{path}: cannot be made: {source}")]
    Make { path: String, source: std::io::Error },
    #[error("--out: {folder} is no run: it holds {holds:?}")]
    NoRun { folder: String, holds: String },
    #[error("the demo's server has failed: {problem}")]
    Demo { problem: String },
    #[error("{flag}: {value:?} is no address")]
    Address { flag: &'static str, value: String },
    #[error("--cohort: {value:?} {problem}")]
    Cohort { value: String, problem: String, hint: String },
    #[error("--pilot: {value:?} {problem}")]
    Pilot { value: String, problem: &'static str },
    #[error("the step of a line search is given, but the scheme is {scheme}")]
    StepWithoutLineSearch { scheme: Scheme },
    #[error("--reference: {reference} is not one of the schemes that are compared")]
    Reference { reference: Scheme },
    #[error("the sampling variance of auto is given, but the scheme is {scheme}")]
    VarianceWithoutAuto { scheme: Scheme },
    #[error("{problem}")]
    Usage { problem: &'static str, hint: &'static str },
    #[error("the output cannot be written: {0}")]
    Output(#[from] std::io::Error),
}

/// The same cases, whichever library met them first: one wording for each.
impl From<RunError> for CliError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Scenario(error) => error.into(),
            RunError::Task(error) => error.into(),
            RunError::Fleet(error) => error.into(),
            RunError::Plan(error) => error.into(),
            RunError::Learn(error) => error.into(),
            RunError::Record(error) => error.into(),
            RunError::Engine(error) => error.into(),
            RunError::Net(error) => error.into(),
            RunError::Open { path, source } => Self::Open { path, source },
            error => Self::Run(error),
        }
    }
}

impl From<ScenarioError> for CliError {
    fn from(error: ScenarioError) -> Self {
        match error {
            ScenarioError::Fleet(error) => error.into(),
            ScenarioError::Plan(error) => error.into(),
            ScenarioError::Learn(error) => error.into(),
            error => Self::Scenario(error),
        }
    }
}

impl From<KeyError> for CliError {
    fn from(error: KeyError) -> Self {
        Self::Scenario(error.into())
    }
}

impl CliError {
    pub(crate) fn flag(flag: &'static str) -> impl FnOnce(OutOfRange) -> Self {
        move |error| Self::Flag { flag, value: error.value, wanted: error.wanted.to_owned() }
    }

    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Open { .. } => Some("name a fleet file, or - for standard input".to_owned()),
            Self::Fleet(error) => Some(error.hint()),
            Self::Plan(error) | Self::Net(NetError::Plan(error)) => Some(advice::plan_hint(error)),
            Self::Data(error) | Self::Task(TaskError::Data(error)) => Some(advice::data_hint(error)),
            Self::Learn(error) => Some(error.hint()),
            Self::Record(error) => Some(advice::record_hint(error).to_owned()),
            Self::Net(error) | Self::Run(RunError::Net(error)) => Some(advice::net_hint(error)),
            Self::Join(error) => Some(error.hint()),
            Self::Report(error) => Some(error.hint()),
            Self::Engine(error) => Some(error.hint()),
            Self::Task(error) => Some(error.hint()),
            Self::Dashboard(error) => Some(error.hint()),
            Self::Scenario(error) => Some(error.hint()),
            Self::Run(error) => Some(advice::run_hint(error)),
            Self::Flag { wanted, .. } => Some(format!("it must be {wanted}")),
            Self::Make { .. } => Some("name a new folder in one that can be written".to_owned()),
            Self::NoRun { .. } => Some("name a new folder, or that of a run to go on with".to_owned()),
            Self::Demo { .. } => Some("try again with --keep FOLDER and look at its server.log".to_owned()),
            Self::Address { .. } => Some("write ADDRESS:PORT, such as 127.0.0.1:7700".to_owned()),
            Self::Cohort { hint, .. } => Some(hint.clone()),
            Self::Pilot { .. } => Some(
                "write ROUNDS:SCHEME, such as 18:uniform or 11:full; 500+:uniform if it gave up".to_owned(),
            ),
            Self::Reference { reference } => Some(format!("add {reference} to --schemes")),
            Self::Usage { hint, .. } => Some((*hint).to_owned()),
            Self::StepWithoutLineSearch { .. } => {
                Some("leave out --step, or plan with --scheme paper-linesearch".to_owned())
            }
            Self::VarianceWithoutAuto { .. } => {
                Some("leave out --variance, or plan with --scheme auto".to_owned())
            }
            Self::Output(_) => None,
        }
    }

    pub(crate) fn exit_code(&self) -> ExitStatus {
        match self {
            Self::Output(_)
            | Self::Make { .. }
            | Self::Demo { .. }
            | Self::Dashboard(DashboardError::Start(_))
            | Self::Record(RecordError::Io { .. })
            | Self::Report(ReportError::Io { .. } | ReportError::Draw { .. })
            | Self::Engine(EngineError::Sink(_) | EngineError::World(_)) => ExitStatus::Failed,
            Self::Net(error) if error.is_failure() => ExitStatus::Failed,
            Self::Join(error) if error.is_failure() => ExitStatus::Failed,
            _ => ExitStatus::BadInput,
        }
    }
}
