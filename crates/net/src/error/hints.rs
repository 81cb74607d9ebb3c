//! What to do about each of them.

use super::{Doubt, NetError};
use crate::identity::AUTHORITY_KEY;
use crate::reason::Reason;

impl NetError {
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
            Self::StateVersion { .. } => {
                "finish this run with the fedflip that started it, or start a new run in another folder"
                    .to_owned()
            }
            Self::OtherScenario { .. } => {
                "name another --out, or the scenario it was started with".to_owned()
            }
            Self::NoState { .. } => {
                "name another --out: this one is of a simulated run, or has lost its state".to_owned()
            }
            Self::RecordsDiffer { .. } => "nothing was changed: restore the folder from a copy; or, since \
                                           state.sqlite has passed its checks, move records.jsonl away, and the \
                                           server writes it again"
                .to_owned(),
            Self::StateRefused { .. } => "this should not happen: please tell us how it did".to_owned(),
            Self::StateFailed { .. } => {
                "start the server again: it goes on after the last round that was committed".to_owned()
            }
            Self::BadServer { .. } => "name it as HOST:PORT, such as fl.example.org:7700".to_owned(),
            Self::Unreachable { .. } | Self::Hung => {
                "see that fedflip serve runs there, and that the port is open".to_owned()
            }
            Self::OtherProtocol { server, agent } if server > agent => {
                "install the server's version of fedflip on this device".to_owned()
            }
            Self::OtherProtocol { .. } => {
                "whoever runs the server installs this device's version of fedflip there".to_owned()
            }
            Self::ClocksDisagree { .. } => "set the clock of the server, or of this device: one of them is \
                                            wrong; the agent tries again by itself"
                .to_owned(),
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
