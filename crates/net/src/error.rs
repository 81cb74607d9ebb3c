//! The errors of identities, servers and devices, each with a hint.

mod hints;

use std::net::SocketAddr;
use std::path::Path;

use crate::reason::Reason;
use crate::wire::task::TaskMismatch;

/// The action of errors about a file that the user gave.
pub(crate) const CANNOT_BE_READ: &str = "cannot be read";

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetError {
    #[error("{path}: {action}: {source}")]
    Io {
        path: String,
        /// Such as `cannot be written`.
        action: &'static str,
        source: std::io::Error,
    },
    #[error("{path}: already exists")]
    Exists { path: String },
    #[error("{folder}: holds no certificate authority")]
    NoAuthority { folder: String },
    /// A file that only fedflip writes was changed.
    #[error("{path}: {problem}")]
    Damaged { path: String, problem: String },
    #[error("{name:?} is not a valid device name")]
    BadName { name: String },
    #[error("{host:?} is not a name or address of a server")]
    BadHost { host: String },
    #[error("{name}: no identity of this name was issued here")]
    Unknown { name: String, nearest: Option<String> },
    #[error("{name}: no device of this name has enrolled in this run")]
    NotInRun { name: String, nearest: Option<String> },
    #[error("{name} was revoked, and cannot be renewed")]
    Revoked { name: String },
    #[error("{folder}: another fedflip is changing it")]
    Locked { folder: String },
    #[error("the certificate cannot be made: {0}")]
    Certificate(#[from] rcgen::Error),
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: std::io::Error },
    /// Without certificates anybody on the network could read messages, or be a device.
    #[error("{address} can be reached from other machines, and without certificates it would be open to all")]
    PlainText { address: SocketAddr },
    /// Other machines could read the metrics.
    #[error("{address} can be reached from other machines")]
    StatusPublic { address: SocketAddr },
    /// A certificate that is undamaged, but would be refused.
    #[error("{path}: {problem}")]
    Unfit { path: String, problem: String },
    /// A certificate of the future, such as one on a machine whose clock is not set yet.
    #[error("{path}: is not valid yet")]
    NotYetValid { path: String },
    /// A run's folder or its records.
    #[error(transparent)]
    Record(#[from] fedflip_record::RecordError),
    #[error(transparent)]
    Learn(#[from] fedflip_learn::LearnError),
    #[error("{path}: {source}")]
    Database { path: String, source: rusqlite::Error },
    #[error("{path}: the state has version {found}, and this fedflip has version {known}")]
    StateVersion { path: String, found: i64, known: i64 },
    #[error("{folder}: holds a run of another scenario: {difference}")]
    OtherScenario { folder: String, difference: String },
    /// The folder of a simulated run, or of a run that has lost its state.
    #[error("{folder}: holds a run, but its state.sqlite has no state of a server")]
    NoState { folder: String },
    /// The records disagree with the state: one of the two files was changed.
    #[error("{path}: line {line}{} is not what state.sqlite has", round.map(|round| format!(" (round {round})")).unwrap_or_default())]
    RecordsDiffer {
        path: String,
        /// The line of the file, counted from 1.
        line: u64,
        /// The round of that line, if it is one of a round.
        round: Option<u64>,
    },
    /// A change that does not fit the state.
    #[error("the run state rejected {what}")]
    StateRefused { what: String },
    /// An earlier failure may have left the files behind the database.
    #[error("{folder}: an earlier write failed")]
    StateFailed { folder: String },
    #[error("{server:?} is not the address of a server")]
    BadServer { server: String },
    /// No server answers, or not in the protocol.
    #[error("{server} cannot be reached: {problem}")]
    Unreachable { server: String, problem: String },
    #[error("the server refuses this device: its certificate {problem}")]
    NotAdmitted { problem: &'static str },
    #[error("the server refuses a call: {problem}")]
    Call {
        code: tonic::Code,
        /// None if the server gives no reason, or an unknown one.
        reason: Option<Reason>,
        problem: String,
    },
    #[error("the server has closed the connection")]
    Hung,
    /// Not a fedflip server, or one of another version.
    #[error("this server is not compatible: {problem}")]
    OtherServer { problem: &'static str },
    #[error("this server is not compatible: {0}")]
    OtherTask(#[from] TaskMismatch),
    #[error("the server speaks version {server} of the protocol, and this agent speaks version {agent}")]
    OtherProtocol { server: u32, agent: u32 },
    #[error(
        "the server says that this device's certificate is not valid now, but by this device's clock it is valid until {valid_until}"
    )]
    ClocksDisagree { valid_until: String },
    /// The system refuses a resource.
    #[error("{action}: {source}")]
    System { action: &'static str, source: std::io::Error },
    #[error("this scheme needs α and β")]
    NoConstants,
    #[error(transparent)]
    Engine(#[from] fedflip_engine::EngineError),
    #[error(transparent)]
    Task(#[from] fedflip_learn::task::TaskError),
    #[error("the task {task} trains on samples of this device's own, and no files of them were named")]
    NoOwnData { task: &'static str },
    #[error("the task {task} does not train on samples of this device's own, and files of them were named")]
    OwnDataUnused { task: &'static str },
    #[error(transparent)]
    Fleet(#[from] fedflip_fleet::FleetError),
    #[error(transparent)]
    Plan(#[from] fedflip_plan::PlanError),
    #[error("the server's certificate {doubt}")]
    ServerNotTrusted { doubt: Doubt },
    /// Plain text is allowed on this machine only.
    #[error("without certificates: {server} is not on this machine")]
    NotLoopback { server: String },
    /// A program listens there, but does not answer.
    #[error("the server does not answer in plain text, and may want certificates: {problem}")]
    NoPlainAnswer { problem: String },
    #[error("another agent with this identity has connected")]
    Superseded,
    #[error("{server} does not speak TLS: a server without certificates may listen there")]
    NoTlsAnswer { server: String },
}

impl NetError {
    /// For `map_err`, with the file and the action.
    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::Io { path, action, source }
    }

    pub(crate) fn damaged(path: impl AsRef<Path>, problem: impl Into<String>) -> Self {
        Self::Damaged { path: path.as_ref().display().to_string(), problem: problem.into() }
    }

    /// For `map_err`, with the action.
    pub(crate) fn system(action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::System { action, source }
    }

    /// Whether the system failed, rather than the input: a file that cannot be read is input.
    pub fn is_failure(&self) -> bool {
        match self {
            Self::Io { action, .. } => *action != CANNOT_BE_READ,
            Self::Certificate(_)
            | Self::Database { .. }
            | Self::StateFailed { .. }
            | Self::System { .. }
            | Self::Unreachable { .. }
            | Self::NoPlainAnswer { .. }
            | Self::NoTlsAnswer { .. }
            | Self::ClocksDisagree { .. }
            | Self::Superseded
            | Self::NotYetValid { .. }
            | Self::Hung => true,
            _ => false,
        }
    }

    /// Whether another attempt is useless.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::Hung
            | Self::NoPlainAnswer { .. }
            | Self::Superseded
            | Self::ClocksDisagree { .. }
            | Self::NoTlsAnswer { .. } => false,
            // The operator can renew the server's certificate, or somebody can set this device's clock.
            Self::ServerNotTrusted { doubt } => matches!(doubt, Doubt::OtherAuthority),
            Self::Call { code, reason, .. } => {
                matches!(code, tonic::Code::PermissionDenied | tonic::Code::Unauthenticated)
                    || matches!(
                        reason,
                        Some(
                            Reason::OtherProtocol
                                | Reason::FleetFull
                                | Reason::OtherData
                                | Reason::TooManySamples
                                | Reason::NoWeight
                                | Reason::NoSignal
                        )
                    )
            }
            _ => true,
        }
    }
}

/// Why a device does not trust a server's certificate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    #[error("is not valid any more: it has expired")]
    Expired,
    #[error("is not valid yet")]
    NotYet,
    /// The names and addresses that the certificate has; none where the library does not list them.
    #[error("is not for {called}, by which it was called{}", only_for(names))]
    OtherName { called: String, names: Vec<String> },
    #[error("is not of this device's authority")]
    OtherAuthority,
    /// Made for another purpose, or damaged.
    #[error("is not one of a fedflip server")]
    Unfit,
}

fn only_for(names: &[String]) -> String {
    match names {
        [] => String::new(),
        names => format!(", but for {}", names.join(", ")),
    }
}
