//! All that can be wrong with identities, each with a hint.

use std::net::SocketAddr;
use std::path::Path;

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
}

impl NetError {
    /// For `map_err`, with the file and what was tried.
    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::Io { path, action, source }
    }

    /// What to do.
    pub fn hint(&self) -> String {
        match self {
            Self::Io { .. } => "see that the place is there and can be read and written".to_owned(),
            Self::Exists { .. } => {
                "name another one; to replace a device's identity, revoke it and issue one under a new name"
                    .to_owned()
            }
            Self::NoAuthority { .. } => {
                "make one with fedflip certs init, or name its folder with --dir".to_owned()
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
        }
    }
}
