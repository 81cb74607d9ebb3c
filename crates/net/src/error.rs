//! All that can be wrong with identities, servers and devices, each with a hint.

use std::net::SocketAddr;
use std::path::Path;

use crate::identity::AUTHORITY_KEY;
use crate::reason::Reason;

/// What was tried with a file that somebody gave us.
pub(crate) const CANNOT_BE_READ: &str = "cannot be read";

/// Why there is no identity, or none that can be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetError {
    /// The system said no.
    #[error("{path}: {action}: {source}")]
    Io {
        /// Which file.
        path: String,
        /// What was tried, such as `cannot be written`.
        action: &'static str,
        /// What the system says.
        source: std::io::Error,
    },
    /// There is something already.
    #[error("{path}: is there already")]
    Exists {
        /// Which file or folder.
        path: String,
    },
    /// No authority.
    #[error("{folder}: holds no certificate authority")]
    NoAuthority {
        /// Which folder.
        folder: String,
    },
    /// Something has changed what only we write.
    #[error("{path}: {problem}")]
    Damaged {
        /// Which file.
        path: String,
        /// What is wrong.
        problem: String,
    },
    /// A name that a file, a certificate and a log can all hold.
    #[error("{name:?} is no name for a device")]
    BadName {
        /// As given.
        name: String,
    },
    /// A name that a server cannot have.
    #[error("{host:?} is no name or address of a server")]
    BadHost {
        /// As given.
        host: String,
    },
    /// Nobody of that name.
    #[error("{name}: no identity of this name was issued here")]
    Unknown {
        /// As given.
        name: String,
        /// The nearest that was.
        nearest: Option<String>,
    },
    /// Another process is at it.
    #[error("{folder}: another fedflip is changing it")]
    Locked {
        /// Which folder.
        folder: String,
    },
    /// The library cannot make it.
    #[error("the certificate cannot be made: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The system does not let us listen there.
    #[error("{address} cannot be listened on: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
    /// Everybody on the way could read along, and anybody could be a device.
    #[error("{address} can be reached from other machines, and without certificates it would be open to all")]
    PlainText {
        /// As given.
        address: SocketAddr,
    },
    /// Others could read how the server is doing.
    #[error("{address} can be reached from other machines")]
    StatusPublic {
        /// As given.
        address: SocketAddr,
    },
    /// A certificate that is whole, but would be refused.
    #[error("{path}: {problem}")]
    Unfit {
        /// Which file.
        path: String,
        /// Why it would be refused.
        problem: String,
    },
    /// A run's folder or its records.
    #[error(transparent)]
    Record(#[from] fedflip_record::RecordError),
    /// A model.
    #[error(transparent)]
    Learn(#[from] fedflip_learn::LearnError),
    /// The database said no.
    #[error("{path}: {source}")]
    Database {
        /// Which file.
        path: String,
        /// What it says.
        source: rusqlite::Error,
    },
    /// The state of a version that this program does not read.
    #[error("{path}: a state of version {found}, where this fedflip has version {known}")]
    StateVersion {
        /// Which file.
        path: String,
        /// As it says.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// The state is of something else.
    #[error("{folder}: holds a run of another scenario: {difference}")]
    OtherScenario {
        /// Which folder.
        folder: String,
        /// The first one.
        difference: String,
    },
    /// A run, but none with devices at the other end of a network.
    #[error("{folder}: there is a run in it, but no state of a server in its state.sqlite")]
    NoState {
        /// Which folder.
        folder: String,
    },
    /// Something that would not fit what is there.
    #[error("the run's state does not take {what}")]
    StateRefused {
        /// What, and why.
        what: String,
    },
    /// An earlier failure may have left the files behind the database.
    #[error("{folder}: could not be written before, and takes nothing more")]
    StateFailed {
        /// Which folder.
        folder: String,
    },
    /// Not HOST:PORT.
    #[error("{server:?} is no address of a server")]
    BadServer {
        /// As given.
        server: String,
    },
    /// Nobody answers, or not in our language.
    #[error("{server} cannot be reached: {problem}")]
    Unreachable {
        /// As given.
        server: String,
        /// What the system says.
        problem: String,
    },
    /// The other side says no.
    #[error("the server refuses this device: its certificate {problem}")]
    NotAdmitted {
        /// In our words.
        problem: &'static str,
    },
    /// A call failed.
    #[error("the server does not take a call: {problem}")]
    Call {
        /// Its kind.
        code: tonic::Code,
        /// From our list; none if the server gives none of it.
        reason: Option<Reason>,
        /// In our words, where there are some.
        problem: String,
    },
    /// The line is gone.
    #[error("the server has hung up")]
    Hung,
    /// A server that is not one of ours, or of another version.
    #[error("this server cannot be worked with: {problem}")]
    OtherServer {
        /// Why.
        problem: &'static str,
    },
    /// The system does not give what is needed.
    #[error("{action}: {source}")]
    System {
        /// What was tried.
        action: &'static str,
        /// What it says.
        source: std::io::Error,
    },
    /// A scheme that needs α and β.
    #[error("this scheme needs α and β")]
    NoConstants,
    /// The round loop stopped.
    #[error(transparent)]
    Engine(#[from] fedflip_engine::EngineError),
    /// No learner.
    #[error(transparent)]
    Task(#[from] fedflip_learn::task::TaskError),
    /// A fleet that is none.
    #[error(transparent)]
    Fleet(#[from] fedflip_fleet::FleetError),
    /// There is no plan.
    #[error(transparent)]
    Plan(#[from] fedflip_plan::PlanError),
    /// The server is not the one that it should be, or cannot show it.
    #[error("the server's certificate {doubt}")]
    ServerNotTrusted {
        /// Why not.
        doubt: Doubt,
    },
    /// Plain text goes no further than this machine.
    #[error("without certificates: {server} is not on this machine")]
    NotLoopback {
        /// As given.
        server: String,
    },
    /// Somebody listens, but not to us.
    #[error("the server does not answer in plain text, and may want certificates: {problem}")]
    NoPlainAnswer {
        /// What the library says.
        problem: String,
    },
    /// Two agents with one identity.
    #[error("another agent with this identity has connected")]
    Superseded,
    /// Somebody listens, but without certificates.
    #[error("{server} does not speak TLS: a server without certificates may listen there")]
    NoTlsAnswer {
        /// As given.
        server: String,
    },
}

impl NetError {
    /// For `map_err`, with the file and what was tried.
    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::Io { path, action, source }
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

    /// What to do.
    pub fn hint(&self) -> String {
        match self {
            Self::Io { .. } => "see that the place is there and can be read and written".to_owned(),
            Self::Exists { path } if path.ends_with(AUTHORITY_KEY) => {
                "this authority can be used as it is; for another one, name another folder with --dir"
                    .to_owned()
            }
            Self::Exists { .. } => {
                "name another one; to replace a device's identity, revoke it and issue one under a new name"
                    .to_owned()
            }
            Self::NoAuthority { .. } => {
                "make one with fedflip certs init, or name its folder (--dir; of a server --certs)".to_owned()
            }
            Self::Damaged { .. } => "restore the folder from a copy".to_owned(),
            Self::BadName { .. } => {
                "use up to 63 letters, digits, dots, dashes and underscores, beginning with a letter or digit"
                    .to_owned()
            }
            Self::BadHost { .. } => {
                "name hosts as devices reach the server: fl.example.org or 192.168.1.10".to_owned()
            }
            Self::Unknown { nearest: Some(nearest), .. } => format!("did you mean {nearest}?"),
            Self::Unknown { .. } => "fedflip certs list shows all".to_owned(),
            Self::Locked { .. } => "wait for it to end".to_owned(),
            Self::Certificate(_) => "this should not happen: please tell us how it did".to_owned(),
            Self::Listen { source, .. } if source.kind() == std::io::ErrorKind::AddrInUse => {
                "another program listens there: choose another port, or 0 for any that is free".to_owned()
            }
            Self::Listen { .. } => "choose an address of this machine and a port above 1023".to_owned(),
            Self::PlainText { address } => {
                format!("listen on 127.0.0.1:{}, or use certificates: fedflip certs init", address.port())
            }
            Self::StatusPublic { address } => {
                format!("serve it at 127.0.0.1:{}, or say that everybody may read it", address.port())
            }
            Self::Unfit { .. } => "see that the clock is right and that ca.pem is of the same authority; \
                                   otherwise issue a new one with fedflip certs"
                .to_owned(),
            Self::Record(error) => error.hint(),
            Self::Learn(error) => error.hint(),
            Self::Database { .. } => {
                "see that there is room on the disk, and that no other program changes the file".to_owned()
            }
            Self::StateVersion { .. } => "go on with the fedflip that wrote it".to_owned(),
            Self::OtherScenario { .. } => {
                "name another --out, or the scenario it was started with".to_owned()
            }
            Self::NoState { .. } => {
                "name another --out: this one is of a simulated run, or has lost its state".to_owned()
            }
            Self::StateRefused { .. } => "this should not happen: please tell us how it did".to_owned(),
            Self::StateFailed { .. } => {
                "start the server again: it goes on after the last round that was committed".to_owned()
            }
            Self::BadServer { .. } => "name it as HOST:PORT, such as fl.example.org:7700".to_owned(),
            Self::Unreachable { .. } | Self::Hung => {
                "see that fedflip serve runs there, and that the port is open".to_owned()
            }
            Self::NotAdmitted { .. } => {
                "ask for a new identity: whoever runs the server makes it with fedflip certs device"
                    .to_owned()
            }
            Self::Call { reason: Some(Reason::FleetFull), .. } => {
                "a run has as many places as its scenario says in fleet.devices: wait for another run"
                    .to_owned()
            }
            Self::Call { reason: Some(Reason::OtherData), .. } => {
                "fetch the data set again with fedflip data get, as the server has it".to_owned()
            }
            Self::Call { reason: Some(Reason::OtherCoin), .. } => {
                "use the identity that this device had before, or one of a new name".to_owned()
            }
            Self::Call { reason: Some(Reason::OtherProtocol), .. } | Self::OtherServer { .. } => {
                "use the same version of fedflip on both sides".to_owned()
            }
            Self::Call { .. } => "see the server's log".to_owned(),
            Self::System { .. } => "see what the system allows: open files, threads, memory".to_owned(),
            Self::NoConstants => "give plan.alpha and plan.beta, or let pilots measure them".to_owned(),
            Self::Engine(error) => error.hint(),
            Self::Task(error) => error.hint(),
            Self::Fleet(error) => error.hint(),
            Self::Plan(error) => error.hint(),
            Self::ServerNotTrusted { doubt } => doubt.hint().to_owned(),
            Self::NotLoopback { .. } => {
                "call it 127.0.0.1, or use an identity: fedflip certs device NAME".to_owned()
            }
            Self::NoPlainAnswer { .. } => {
                "this server may want certificates: join with --identity instead of --insecure".to_owned()
            }
            Self::Superseded => "stop one of the two, or give each an identity of its own with \
                                 fedflip certs device"
                .to_owned(),
            Self::NoTlsAnswer { .. } => {
                "see that the port is that of fedflip serve, started with --certs; on its \
                                         own machine a server with --insecure is joined with --insecure"
                    .to_owned()
            }
        }
    }
}

/// Why a device does not trust a server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Past its time.
    Expired,
    /// Before its time.
    NotYet,
    /// Of another host.
    OtherName,
    /// Made by somebody else.
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

impl Doubt {
    fn hint(self) -> &'static str {
        match self {
            Self::Expired => {
                "whoever runs the server renews it with fedflip certs server; see also that the clock is right"
            }
            Self::NotYet => "see that the clocks of this device and of the server are right",
            Self::OtherName => {
                "call the server by a name that it has, or give it this one: fedflip certs server --host NAME"
            }
            Self::OtherAuthority => "see that it is the right server, and that this identity was made for it",
            Self::Unfit => "whoever runs the server makes a new one with fedflip certs server",
        }
    }
}
