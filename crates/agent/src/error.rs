//! Why a device does not take part.

use fedflip_net::NetError;

use crate::advice::net_hint;

/// Why not.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The network, the server, or the identity.
    #[error(transparent)]
    Net(#[from] NetError),
    /// A number that makes no sense.
    #[error("{flag}: {value} is out of range")]
    Flag {
        /// Which.
        flag: &'static str,
        /// As given.
        value: f64,
    },
    /// Nowhere to keep data.
    #[error("there is no home folder to keep data sets in")]
    NoHome,
    /// A folder of something else, or none.
    #[error("--identity: {folder} holds no identity of a device: there is no {missing} in it")]
    NoIdentity {
        /// As given.
        folder: String,
        /// Which file.
        missing: &'static str,
    },
}

impl JoinError {
    /// What to do.
    pub fn hint(&self) -> String {
        match self {
            Self::Net(error) => net_hint(error),
            Self::Flag { .. } => "it must be a number of seconds from 0 to 1e6".to_owned(),
            Self::NoHome => "name a folder with --data-dir or in FEDFLIP_DATA".to_owned(),
            Self::NoIdentity { .. } => {
                "name certs/devices/NAME, or make one with fedflip certs device NAME".to_owned()
            }
        }
    }

    /// Whether the system failed us, rather than what was typed.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Net(error) if error.is_failure())
    }
}
