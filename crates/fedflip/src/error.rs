//! What can go wrong, what to do about it, and how the process ends.

use std::ops::RangeInclusive;

use fedflip_agent::JoinError;
use fedflip_agent::error::SettingError;
use fedflip_dashboard::DashboardError;
use fedflip_datasets::DataError;
use fedflip_engine::EngineError;
use fedflip_fleet::units::plain;
use fedflip_fleet::{FleetError, OutOfRange};
use fedflip_learn::LearnError;
use fedflip_learn::task::TaskError;
use fedflip_net::NetError;
use fedflip_plan::PlanError;

use fedflip_record::RecordError;

use fedflip_report::ReportError;

use crate::advice;
use fedflip_run::RunError;
use fedflip_run::deployed::DeployError;
use fedflip_scenario::{KeyError, ScenarioError, SuggestError};

/// How the process ends. Part of the interface: scripts rely on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// The command did all of its work.
    Done = 0,
    /// The system failed, for example because the output could not be written.
    Failed = 1,
    /// The input is invalid; the message says why, and what to do.
    BadInput = 2,
    /// The model diverged; the last good one is saved.
    Diverged = 3,
    /// The run was interrupted before its end; it can be resumed.
    Stopped = 4,
}

impl From<SettingError> for CliError {
    fn from(error: SettingError) -> Self {
        Self::Join(error.into())
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
    #[error("{}", fedflip_agent::advice::join_text(.0))]
    Join(#[from] JoinError),
    #[error(transparent)]
    Report(#[from] ReportError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error("--dashboard: {0}")]
    Dashboard(#[from] DashboardError),
    #[error("{}", advice::scenario_text(.0))]
    Scenario(ScenarioError),
    #[error("{}", advice::deploy_text(.0))]
    Deploy(#[from] DeployError),
    #[error("{}", advice::run_text(.0))]
    Run(RunError),
    #[error("{point}: {error}")]
    AtPoint { point: String, error: Box<CliError> },
    #[error("{path}: cannot be made: {source}")]
    Make { path: String, source: std::io::Error },
    #[error("the demo's server has failed: {problem}")]
    Demo { problem: String },
    #[error("{problem}")]
    Usage { problem: String, hint: String },
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
            RunError::Deploy(error) => error.into(),
            RunError::Open { path, source } => Self::Open { path, source },
            RunError::AtPoint { point, error } => Self::AtPoint { point, error: Box::new((*error).into()) },
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

impl From<SuggestError> for CliError {
    fn from(error: SuggestError) -> Self {
        match error {
            SuggestError::Samples(error) => Self::Task(error.into()),
            SuggestError::Scenario(error) => error.into(),
        }
    }
}

impl From<KeyError> for CliError {
    fn from(error: KeyError) -> Self {
        Self::Scenario(error.into())
    }
}

impl CliError {
    /// A refusal that nobody tells apart from others: what is wrong, and what to type instead.
    pub(crate) fn usage(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage { problem: problem.into(), hint: hint.into() }
    }

    /// The value of a flag, if it is in range.
    pub(crate) fn in_range(
        flag: &str,
        value: f64,
        range: RangeInclusive<f64>,
        wanted: &str,
    ) -> Result<f64, Self> {
        if range.contains(&value) { Ok(value) } else { Err(Self::out_of_range(flag, value, wanted)) }
    }

    pub(crate) fn flag(flag: &str) -> impl FnOnce(OutOfRange) -> Self {
        move |error| Self::out_of_range(flag, error.value, error.wanted)
    }

    fn out_of_range(flag: &str, value: f64, wanted: &str) -> Self {
        Self::usage(format!("{flag}: {} is out of range", plain(value)), format!("it must be {wanted}"))
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
            Self::Join(error) => Some(fedflip_agent::advice::join_hint(error)),
            Self::Report(error) => Some(advice::report_hint(error)),
            Self::Engine(error) => Some(error.hint()),
            Self::Task(error) => Some(error.hint()),
            Self::Dashboard(error) => Some(advice::dashboard_hint(error)),
            Self::Scenario(error) => Some(error.hint()),
            Self::Deploy(error) => Some(advice::deploy_hint(error)),
            Self::Run(error) => Some(advice::run_hint(error)),
            Self::AtPoint { error, .. } => error.hint(),
            Self::Make { .. } => Some("name a new folder in one that can be written".to_owned()),
            Self::Demo { .. } => Some("try again with --keep FOLDER and look at its server.log".to_owned()),
            Self::Usage { hint, .. } => Some(hint.clone()),
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
            | Self::Report(ReportError::Draw { .. })
            | Self::Engine(EngineError::Sink(_) | EngineError::World(_)) => ExitStatus::Failed,
            Self::AtPoint { error, .. } => error.exit_code(),
            Self::Net(error) if error.is_failure() => ExitStatus::Failed,
            Self::Join(error) if error.is_failure() => ExitStatus::Failed,
            _ => ExitStatus::BadInput,
        }
    }
}
