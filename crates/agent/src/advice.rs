//! Errors of agents in the words of the command line: the flag that is wrong, and the flag or command that helps.

use fedflip_net::NetError;
use fedflip_net::error::Doubt;
use fedflip_net::reason::Reason;

use crate::error::JoinError;

/// The error with the name of its flag.
pub fn join_text(error: &JoinError) -> String {
    match error {
        JoinError::Seconds { setting, value } => {
            format!("--{}: {value} is out of range", setting.replace('_', "-"))
        }
        JoinError::NoIdentity { .. } => format!("--identity: {error}"),
        error => error.to_string(),
    }
}

/// The flag or command that mends the error.
pub fn join_hint(error: &JoinError) -> String {
    match error {
        JoinError::Net(error) => net_hint(error),
        JoinError::NoHome => "name a folder with --data-dir or in FEDFLIP_DATA".to_owned(),
        JoinError::NoIdentity { .. } => {
            "name certs/devices/NAME, or make one with fedflip certs device NAME".to_owned()
        }
        error => error.hint(),
    }
}

/// The library's hint on an error of the network, with the flag or command that follows it.
pub fn net_hint(error: &NetError) -> String {
    let command = match error {
        NetError::NotAdmitted { .. } | NetError::NotLoopback { .. } | NetError::Superseded => {
            "fedflip certs device NAME"
        }
        NetError::Call { reason: Some(Reason::OtherData), .. } => "fedflip data get",
        NetError::NoPlainAnswer { .. } => "--identity instead of --insecure",
        NetError::NoTlsAnswer { .. } => "--insecure for both",
        NetError::Unfit { .. } => "fedflip certs",
        NetError::ServerNotTrusted { doubt: Doubt::Expired | Doubt::Unfit } => "fedflip certs server",
        NetError::ServerNotTrusted { doubt: Doubt::OtherName } => "fedflip certs server --host NAME",
        error => return error.hint(),
    };
    format!("{} ({command})", error.hint())
}
