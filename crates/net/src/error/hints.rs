//! A remedy for each error, without the flags and commands of any program.

use super::{Doubt, NetError};
use crate::reason::Reason;
use crate::wire::task::TaskMismatch;

impl NetError {
    pub fn hint(&self) -> String {
        match self {
            Self::Unknown { nearest: Some(nearest), .. } | Self::NotInRun { nearest: Some(nearest), .. } => {
                format!("did you mean {nearest}?")
            }
            Self::PlainText { address } => {
                format!("listen on 127.0.0.1:{}, or use certificates", address.port())
            }
            Self::StatusPublic { address } => {
                format!("serve it at 127.0.0.1:{}, or allow everybody to read it", address.port())
            }
            Self::Record(error) => error.hint().to_owned(),
            Self::Learn(error) => error.hint(),
            Self::Engine(error) => error.hint(),
            Self::Task(error) => error.hint(),
            Self::Fleet(error) => error.hint(),
            Self::Plan(error) => error.hint(),
            error => error.fixed_hint().to_owned(),
        }
    }

    /// Hints about this machine: its files, its addresses, its run folders.
    fn fixed_hint(&self) -> &'static str {
        match self {
            Self::Io { .. } => "check that the place is there and can be read and written",
            Self::Exists { .. } => {
                "name another one; to replace a device's identity, revoke it and issue one under a new name"
            }
            Self::NoAuthority { .. } => "make an authority first, or name its folder",
            Self::Damaged { .. } => "restore the folder from a copy",
            Self::BadName { .. } => {
                "use up to 63 letters, digits, dots, dashes and underscores, beginning with a letter or digit"
            }
            Self::BadHost { .. } => "name hosts as devices reach the server: fl.example.org or 192.168.1.10",
            Self::Unknown { .. } => "list the identities that were issued",
            Self::NotInRun { .. } => "list the devices of the run",
            Self::Revoked { .. } => "issue an identity under a new name",
            Self::Locked { .. } => "wait for it to end",
            Self::Listen { source, .. } if source.kind() == std::io::ErrorKind::AddrInUse => {
                "another program listens there: choose another port, or 0 for any that is free"
            }
            Self::Listen { .. } => "choose an address of this machine and a port above 1023",
            Self::NotYetValid { .. } => "check that the clock of this machine is right, and start again",
            Self::Unfit { .. } => {
                "check that the clock is right and that ca.pem is of the same authority; otherwise issue a new one"
            }
            Self::Database { .. } => {
                "check that there is room on the disk, and that no other program changes the file"
            }
            Self::StateVersion { .. } => {
                "finish this run with the fedflip that started it, or start a new run in another folder"
            }
            Self::OtherScenario { .. } => "name another folder, or the scenario it was started with",
            Self::NoState { .. } => {
                "name another folder: this one is of a simulated run, or has lost its state"
            }
            Self::RecordsDiffer { .. } => {
                "nothing was changed: restore the folder from a copy; or, since state.sqlite has passed its \
                 checks, move records.jsonl away, and the server writes it again"
            }
            Self::StateFailed { .. } => {
                "start the server again: it resumes after the last round that was committed"
            }
            Self::System { .. } => "check the limits of the system: open files, threads, memory",
            Self::NoOwnData { .. } => "name the files, folders or patterns of this device's samples",
            Self::OwnDataUnused { .. } => {
                "leave the files out: the server chooses a share of its data set; or ask whoever runs the server for a task \
                 whose data are on devices"
            }
            Self::NoConstants => "give plan.alpha and plan.beta, or let pilots measure them",
            error => error.connection_hint(),
        }
    }

    /// Hints about the other end of a connection.
    fn connection_hint(&self) -> &'static str {
        match self {
            Self::BadServer { .. } => "name it as HOST:PORT, such as fl.example.org:7700",
            Self::Unreachable { .. } | Self::Hung => {
                "check that the server runs there, and that the port is open"
            }
            Self::OtherProtocol { server, agent } if server > agent => {
                "install the server's version of fedflip on this device"
            }
            Self::OtherProtocol { .. } => {
                "ask whoever runs the server to install this device's version of fedflip"
            }
            Self::ClocksDisagree { .. } => {
                "set the clock of the server, or of this device: one of them is wrong; the agent tries again by \
                 itself"
            }
            Self::NotAdmitted { .. } => "ask whoever runs the server for a new identity",
            Self::Call { reason: Some(Reason::FleetFull), .. } => {
                "a run has as many places as the server allows: wait for another run, or ask whoever runs the server"
            }
            Self::Call { reason: Some(Reason::Retired), .. } => {
                "ask whoever runs the server; a device that was retired does not come back to the same run"
            }
            Self::Call { reason: Some(Reason::OtherData), .. } => {
                "fetch the data set again, so that it is the same as the server's"
            }
            Self::Call { reason: Some(Reason::TooManySamples), .. } => {
                "join with fewer samples, or ask whoever runs the server to allow more"
            }
            Self::Call { reason: Some(Reason::NoWeight), .. } => {
                "ask whoever runs the server to add this device to the file of weights"
            }
            Self::Call { reason: Some(Reason::NoSignal), .. } => {
                "ask whoever runs the server to add this device to the fleet file, with its snr_db"
            }
            Self::Call { reason: Some(Reason::OtherCoin), .. } => {
                "use the identity that this device had before, or one of a new name"
            }
            Self::OtherTask(TaskMismatch::External) => {
                "join with the program that was made for this task, which implements Learner"
            }
            Self::Call { reason: Some(Reason::OtherProtocol), .. }
            | Self::OtherServer { .. }
            | Self::OtherTask(_) => "use the same version of fedflip on both sides",
            Self::Call { .. } => "see the server's log",
            Self::ServerNotTrusted { doubt } => doubt.hint(),
            Self::NotLoopback { .. } => "call it 127.0.0.1, or use an identity",
            Self::NoPlainAnswer { .. } => "this server may want certificates: join with an identity",
            Self::Superseded => "stop one of the two, or give each an identity of its own",
            Self::NoTlsAnswer { .. } => {
                "check that the port is that of a server with certificates; without them a server is joined in \
                 plain text, on its own machine"
            }
            // A certificate that cannot be made, and changes that a state refuses: both are faults of the program.
            _ => "this is a fault of fedflip: please report it",
        }
    }
}

impl Doubt {
    fn hint(&self) -> &'static str {
        match self {
            Self::Expired => "ask whoever runs the server to renew it; check also that the clock is right",
            Self::NotYet => "check that the clocks of this device and of the server are right",
            Self::OtherName { .. } => {
                "call the server by a name that its certificate has, or add this name to it"
            }
            Self::OtherAuthority => {
                "check that it is the right server, and that this identity was made for it"
            }
            Self::Unfit => "ask whoever runs the server to make a new one",
        }
    }
}
