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
        JoinError::NoFile { .. } => format!("--save-model: {error}"),
        error => error.to_string(),
    }
}

/// The flag or command that mends the error.
pub fn join_hint(error: &JoinError) -> String {
    match error {
        JoinError::Net(error) => net_hint(error),
        JoinError::NoIdentity { .. } => {
            "name certs/devices/NAME, or make one with fedflip certs device NAME".to_owned()
        }
        error => error.hint(),
    }
}

/// What a person at the device, or at the server, types to mend an error of the network.
pub fn net_hint(error: &NetError) -> String {
    let hint = match error {
        NetError::Unreachable { .. } | NetError::Hung => {
            "check that `fedflip serve` runs there, and that the port is open"
        }
        NetError::NotAdmitted { .. } => {
            "ask whoever runs the server for a new identity, which `fedflip certs device NAME` makes"
        }
        NetError::NotLoopback { .. } => {
            "call the server 127.0.0.1, or use an identity, which `fedflip certs device NAME` makes"
        }
        NetError::Superseded => {
            "stop one of the two, or give each an identity of its own with `fedflip certs device NAME`"
        }
        NetError::Call { reason: Some(Reason::OtherData), .. } => {
            "fetch the data set again with `fedflip data get`, so that it is the same as the server's"
        }
        NetError::Call { reason: Some(Reason::TooManySamples), .. } => {
            "join with fewer samples, or ask whoever runs the server to allow more with `fedflip serve --samples-max`"
        }
        NetError::NoOwnData { .. } => {
            "name files, folders or patterns with --data, for example --data mine.npz, or as `data` in the --config file"
        }
        NetError::OwnDataUnused { .. } => {
            "leave --data out: the server chooses a share of a public data set; or ask whoever runs the server for a \
             scenario with the task own and data.where = \"devices\""
        }
        NetError::NoPlainAnswer { .. } => {
            "this server may want certificates: join with --identity instead of --insecure"
        }
        NetError::NoTlsAnswer { .. } => {
            "check that the port is that of a `fedflip serve` with --certs; a server that was started with \
             --insecure is joined with --insecure, on its own machine"
        }
        NetError::Unfit { .. } => {
            "check that the clock is right and that ca.pem is of the same authority; otherwise issue a new \
             certificate with `fedflip certs`"
        }
        NetError::ServerNotTrusted { doubt: Doubt::Expired } => {
            "ask whoever runs the server to renew it with `fedflip certs server`; check also that the clock is right"
        }
        NetError::ServerNotTrusted { doubt: Doubt::Unfit } => {
            "ask whoever runs the server to make a new one with `fedflip certs server`"
        }
        NetError::ServerNotTrusted { doubt: Doubt::OtherName { called, names } } => {
            let hosts: Vec<String> =
                names.iter().chain([called]).map(|host| format!("--host {host}")).collect();
            return format!(
                "call the server by a name that its certificate has, or let whoever runs the server add this one: \
                 `fedflip certs server {}`",
                hosts.join(" ")
            );
        }
        error => return error.hint(),
    };
    hint.to_owned()
}
