//! All that can be wrong with identities, servers and devices, each with a hint.

mod hints;

use std::net::SocketAddr;
use std::path::Path;

use crate::reason::Reason;
use crate::wire::task::TaskMismatch;

/// What was tried with a file that somebody gave us.
pub(crate) const CANNOT_BE_READ: &str = "cannot be read";

/// Why there is no identity, or none that can be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetError {
    #[error("{path}: {action}: {source}")]
    Io {
        path: String,
        /// What was tried, such as `cannot be written`.
        action: &'static str,
        source: std::io::Error,
    },
    #[error("{path}: is there already")]
    Exists { path: String },
    #[error("{folder}: holds no certificate authority")]
    NoAuthority { folder: String },
    /// Something has changed what only we write.
    #[error("{path}: {problem}")]
    Damaged { path: String, problem: String },
    /// A name that a file, a certificate and a log can all hold.
    #[error("{name:?} is no name for a device")]
    BadName { name: String },
    /// A name that a server cannot have.
    #[error("{host:?} is no name or address of a server")]
    BadHost { host: String },
    #[error("{name}: no identity of this name was issued here")]
    Unknown { name: String, nearest: Option<String> },
    #[error("{folder}: another fedflip is changing it")]
    Locked { folder: String },
    #[error("the certificate cannot be made: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The system does not let us listen there.
    #[error("{address} cannot be listened on: {source}")]
    Listen { address: SocketAddr, source: std::io::Error },
    /// Everybody on the way could read along, and anybody could be a device.
    #[error("{address} can be reached from other machines, and without certificates it would be open to all")]
    PlainText { address: SocketAddr },
    /// Others could read how the server is doing.
    #[error("{address} can be reached from other machines")]
    StatusPublic { address: SocketAddr },
    /// A certificate that is whole, but would be refused.
    #[error("{path}: {problem}")]
    Unfit { path: String, problem: String },
    /// A run's folder or its records.
    #[error(transparent)]
    Record(#[from] fedflip_record::RecordError),
    #[error(transparent)]
    Learn(#[from] fedflip_learn::LearnError),
    #[error("{path}: {source}")]
    Database { path: String, source: rusqlite::Error },
    /// The state of a version that this program does not read.
    #[error("{path}: a state of version {found}, where this fedflip has version {known}")]
    StateVersion { path: String, found: i64, known: i64 },
    /// The state is of something else.
    #[error("{folder}: holds a run of another scenario: {difference}")]
    OtherScenario { folder: String, difference: String },
    /// A run, but none with devices at the other end of a network.
    #[error("{folder}: there is a run in it, but no state of a server in its state.sqlite")]
    NoState { folder: String },
    /// The records are not those of the state, and one of the two has changed since it was written.
    #[error("{path}: line {line}{} is not what state.sqlite has", round.map(|round| format!(" (round {round})")).unwrap_or_default())]
    RecordsDiffer {
        path: String,
        /// Counted from 1.
        line: u64,
        /// The round of that line, as far as it is one.
        round: Option<u64>,
    },
    /// Something that would not fit what is there.
    #[error("the run's state does not take {what}")]
    StateRefused { what: String },
    /// An earlier failure may have left the files behind the database.
    #[error("{folder}: could not be written before, and takes nothing more")]
    StateFailed { folder: String },
    #[error("{server:?} is no address of a server")]
    BadServer { server: String },
    /// Nobody answers, or not in our language.
    #[error("{server} cannot be reached: {problem}")]
    Unreachable { server: String, problem: String },
    #[error("the server refuses this device: its certificate {problem}")]
    NotAdmitted { problem: &'static str },
    #[error("the server does not take a call: {problem}")]
    Call {
        code: tonic::Code,
        /// From our list; none if the server gives none of it.
        reason: Option<Reason>,
        /// In our words, where there are some.
        problem: String,
    },
    #[error("the server has hung up")]
    Hung,
    /// A server that is not one of ours, or of another version.
    #[error("this server cannot be worked with: {problem}")]
    OtherServer { problem: &'static str },
    #[error("this server cannot be worked with: {0}")]
    OtherTask(#[from] TaskMismatch),
    #[error("the server speaks version {server} of the protocol, and this agent speaks version {agent}")]
    OtherProtocol {
        /// What the server says it speaks.
        server: u32,
        agent: u32,
    },
    /// One of two clocks is wrong.
    #[error(
        "the server says that this device's certificate is not valid now, but by this device's clock it is valid until {valid_until}"
    )]
    ClocksDisagree { valid_until: String },
    /// The system does not give what is needed.
    #[error("{action}: {source}")]
    System { action: &'static str, source: std::io::Error },
    /// A scheme that needs α and β.
    #[error("this scheme needs α and β")]
    NoConstants,
    #[error(transparent)]
    Engine(#[from] fedflip_engine::EngineError),
    #[error(transparent)]
    Task(#[from] fedflip_learn::task::TaskError),
    #[error(transparent)]
    Fleet(#[from] fedflip_fleet::FleetError),
    #[error(transparent)]
    Plan(#[from] fedflip_plan::PlanError),
    /// The server is not the one that it should be, or cannot show it.
    #[error("the server's certificate {doubt}")]
    ServerNotTrusted { doubt: Doubt },
    /// Plain text goes no further than this machine.
    #[error("without certificates: {server} is not on this machine")]
    NotLoopback { server: String },
    /// Somebody listens, but not to us.
    #[error("the server does not answer in plain text, and may want certificates: {problem}")]
    NoPlainAnswer { problem: String },
    #[error("another agent with this identity has connected")]
    Superseded,
    #[error("{server} does not speak TLS: a server without certificates may listen there")]
    NoTlsAnswer { server: String },
}

impl NetError {
    /// For `map_err`, with the file and what was tried.
    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::Io { path, action, source }
    }

    pub(crate) fn damaged(path: impl AsRef<Path>, problem: impl Into<String>) -> Self {
        Self::Damaged { path: path.as_ref().display().to_string(), problem: problem.into() }
    }

    /// For `map_err`, with what was tried.
    pub(crate) fn system(action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::System { action, source }
    }

    /// Whether the system failed us, rather than what was given: a file that cannot be read was given.
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
            | Self::Hung => true,
            _ => false,
        }
    }

    /// Whether trying again is of no use.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::Hung
            | Self::NoPlainAnswer { .. }
            | Self::Superseded
            | Self::ClocksDisagree { .. }
            | Self::NoTlsAnswer { .. } => false,
            // Whoever runs the server can mend its certificate, or this device's clock.
            Self::ServerNotTrusted { doubt } => *doubt == Doubt::OtherAuthority,
            Self::Call { code, reason, .. } => {
                matches!(code, tonic::Code::PermissionDenied | tonic::Code::Unauthenticated)
                    || matches!(reason, Some(Reason::OtherProtocol | Reason::FleetFull | Reason::OtherData))
            }
            _ => true,
        }
    }
}

/// Why a device does not trust a server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    Expired,
    NotYet,
    OtherName,
    OtherAuthority,
    /// Not for this, or not whole.
    Unfit,
}

impl std::fmt::Display for Doubt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Expired => "is not valid any more: it has expired",
            Self::NotYet => "is not valid yet",
            Self::OtherName => "is not for the name or address by which it was called",
            Self::OtherAuthority => "is not of this device's authority",
            Self::Unfit => "is not one of a server of ours",
        })
    }
}
