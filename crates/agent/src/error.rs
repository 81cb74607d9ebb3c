//! Errors that keep a device from taking part.

use fedflip_net::NetError;

/// The reason why a device does not take part.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The network, the server or the identity.
    #[error(transparent)]
    Net(#[from] NetError),
    /// A number of seconds below 0 or above a million.
    #[error("{setting}: {value} is out of range")]
    Seconds {
        /// The name of the setting, such as `compute_secs`.
        setting: &'static str,
        /// The number that was refused.
        value: f64,
    },
    /// The model cannot be kept there.
    #[error("{file} cannot be written: it is a folder, or there is no folder for it")]
    NoFile {
        /// The path of the file.
        file: String,
    },
    /// The folder is not the one of an identity, or is incomplete.
    #[error("{folder} holds no identity of a device: there is no {missing} in it")]
    NoIdentity {
        /// The path of the folder.
        folder: String,
        /// The file that is missing.
        missing: &'static str,
    },
    /// A setting from a file or from the environment.
    #[error(transparent)]
    Setting(#[from] SettingError),
}

/// A setting from a file or from the environment that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct SettingError {
    /// The file and the line, or the environment variable.
    pub place: String,
    /// The key and the value.
    pub problem: String,
    /// The right key, or the right kind of value.
    pub hint: String,
}

impl JoinError {
    /// The remedy, without the flags of any program; [`crate::advice`] has these.
    pub fn hint(&self) -> String {
        match self {
            Self::Net(error) => error.hint(),
            Self::Seconds { .. } => "it must be a number of seconds from 0 to 1e6".to_owned(),
            Self::NoFile { .. } => "name a file in a folder that is there".to_owned(),
            Self::NoIdentity { .. } => "name the folder that the authority issued for this device".to_owned(),
            Self::Setting(error) => error.hint.clone(),
        }
    }

    /// Whether the system failed, rather than the input.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Net(error) if error.is_failure())
    }
}
