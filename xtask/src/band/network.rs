//! One machine's network of its own: a server and five devices, whose way to the server is one shaped band.
//!
//! Each is a namespace of the kernel's network. Their cables end at a bridge in one more namespace, and what
//! leaves the bridge towards the server passes a token bucket: the band. The way back is free, as in the model.

use std::fs;
use std::io::Read;
use std::process::{Child, Stdio};

use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::tools;

/// In every name, so that leftovers of a run that was killed can be told from what is others'.
const PREFIX: &str = "fedflip-band-";
/// Where the band is.
const BAND_PORT: &str = "band0";
pub(super) const SERVER_ADDRESS: &str = "10.77.0.1";
/// The hidden task that [`bury`] is.
pub(crate) const UNDERTAKER: &str = "band-clean";

/// The network; gone when it is dropped, and also when this process is killed.
pub(super) struct Network<'a> {
    repo: &'a Repo,
    /// Of the names: which run's they are.
    owner: u32,
    undertaker: Child,
}

/// Why there is no network.
pub(super) enum NoNetwork {
    /// This machine does not allow it; the text says what was refused.
    NotHere(String),
    /// Something else went wrong.
    Failed(TaskError),
}

impl<'a> Network<'a> {
    /// Builds it, after clearing away what killed runs have left.
    pub(super) fn build(repo: &'a Repo, devices: usize, band_mbps: f64) -> Result<Self, NoNetwork> {
        if !cfg!(target_os = "linux") {
            return Err(NoNetwork::NotHere("network namespaces are Linux's".to_owned()));
        }
        let there = || Cmd::words("ip -Version").output(repo).is_ok();
        if !there() {
            tools::install_by_apt(repo, &["iproute2"]).map_err(NoNetwork::Failed)?;
        }
        if !there() {
            return Err(NoNetwork::NotHere("`ip` is missing: it is in the package iproute2".to_owned()));
        }
        owners(repo).into_iter().filter(|owner| !is_alive(*owner)).for_each(|owner| clear(repo, owner));
        let owner = std::process::id();
        let undertaker = call_undertaker(repo, owner).map_err(NoNetwork::Failed)?;
        let network = Self { repo, owner, undertaker };
        let refused = |error: TaskError| NoNetwork::NotHere(error.to_string());
        network.lines(devices, band_mbps).iter().try_for_each(|line| quiet(repo, line)).map_err(refused)?;
        Ok(network)
    }

    fn lines(&self, devices: usize, band_mbps: f64) -> Vec<String> {
        let [hub, server] = ["hub", "server"].map(|place| self.name(place));
        let mut lines = vec![
            format!("ip netns add {hub}"),
            format!("ip -n {hub} link add name hub0 type bridge"),
            format!("ip -n {hub} link set dev hub0 up"),
        ];
        let mut plug = |name: &str, port: &str, address: &str| {
            lines.extend([
                format!("ip netns add {name}"),
                format!("ip -n {hub} link add name {port} type veth peer name eth0 netns {name}"),
                format!("ip -n {hub} link set dev {port} master hub0 up"),
                format!("ip -n {name} address add {address}/24 dev eth0"),
                format!("ip -n {name} link set dev eth0 up"),
            ]);
        };
        plug(&server, BAND_PORT, SERVER_ADDRESS);
        for device in 0..devices {
            plug(
                &self.name(&device.to_string()),
                &format!("port{device}"),
                &format!("10.77.0.{}", 10 + device),
            );
        }
        // A bucket of a few packets, so that the band is the band at every moment; the queue holds what
        // devices that send together bring within a tick of each other.
        lines.push(format!(
            "ip netns exec {hub} tc qdisc add dev {BAND_PORT} root tbf rate {band_mbps}mbit burst 16kb limit 1mb"
        ));
        lines
    }

    fn name(&self, place: &str) -> String {
        format!("{PREFIX}{}-{place}", self.owner)
    }

    /// To run something at the server.
    pub(super) fn at_server(&self, program: &str) -> Cmd {
        Cmd::words("ip netns exec").arg(self.name("server")).arg(program)
    }

    /// To run something at a device.
    pub(super) fn at_device(&self, device: usize, program: &str) -> Cmd {
        Cmd::words("ip netns exec").arg(self.name(&device.to_string())).arg(program)
    }

    /// Bytes that have passed the band, with all their headers.
    pub(super) fn band_bytes(&self) -> Result<f64, TaskError> {
        let show = Cmd::words("ip netns exec").arg(self.name("hub"));
        let text = show.args(["tc", "-s", "qdisc", "show", "dev", BAND_PORT]).output(self.repo)?;
        bytes_in(&text).ok_or_else(|| TaskError::Answer(format!("no number of bytes in:\n{text}")))
    }
}

impl Drop for Network<'_> {
    fn drop(&mut self) {
        // Its input ends, and so it begins.
        drop(self.undertaker.stdin.take());
        let _ = self.undertaker.wait();
    }
}

/// The bytes in what `tc -s` says of a queue.
fn bytes_in(text: &str) -> Option<f64> {
    text.split_once("Sent ")?.1.split_whitespace().next()?.parse().ok()
}

/// Starts a process that clears the network away when this one is gone, however it went: its input ends then.
/// It is in a group of its own, so that Ctrl-C does not reach it.
fn call_undertaker(repo: &Repo, owner: u32) -> Result<Child, TaskError> {
    let cannot = |source| TaskError::Start { command: UNDERTAKER.to_owned(), source };
    let program = std::env::current_exe().map_err(cannot)?;
    let cmd = Cmd::new(program.display().to_string()).args([UNDERTAKER.to_owned(), owner.to_string()]);
    let mut command = cmd.prepare(repo);
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().map_err(cannot)
}

/// Waits for the end of its input, then clears away what is the owner's.
pub(crate) fn bury(repo: &Repo, args: &[String]) -> Result<(), TaskError> {
    let owner = args.first().and_then(|owner| owner.parse().ok());
    let owner = owner.ok_or_else(|| TaskError::Usage(format!("`{UNDERTAKER}` is called by `band` alone")))?;
    // However it ends, it has ended.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    clear(repo, owner);
    Ok(())
}

/// Whose namespaces there are.
fn owners(repo: &Repo) -> Vec<u32> {
    let mut owners: Vec<u32> = names(repo).iter().filter_map(|name| owner_of(name)).collect();
    owners.dedup();
    owners
}

fn names(repo: &Repo) -> Vec<String> {
    let list = Cmd::words("ip netns list").output(repo).unwrap_or_default();
    list.lines().filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
}

fn owner_of(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split_once('-')?.0.parse().ok()
}

fn is_alive(process: u32) -> bool {
    fs::exists(format!("/proc/{process}")).unwrap_or(true)
}

/// Ends what runs in an owner's namespaces, and removes them. What cannot be removed is left for the next run.
fn clear(repo: &Repo, owner: u32) {
    for name in names(repo).iter().filter(|name| owner_of(name) == Some(owner)) {
        let inside = Cmd::words("ip netns pids").arg(name).output(repo).unwrap_or_default();
        for process in inside.split_whitespace() {
            let _ = quiet(repo, &format!("kill -KILL {process}"));
        }
        let _ = quiet(repo, &format!("ip netns delete {name}"));
    }
}

/// Runs a line; what it prints is in its error.
fn quiet(repo: &Repo, line: &str) -> Result<(), TaskError> {
    let cmd = Cmd::words(line);
    let output = cmd.prepare(repo).output().map_err(|source| cmd.cannot_start(source))?;
    let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    cmd.check(output.status).map_err(|error| TaskError::Answer(format!("{error}: {said}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_their_owner() {
        assert_eq!(owner_of("fedflip-band-4711-hub"), Some(4711));
        assert_eq!(owner_of("fedflip-band-4711-3"), Some(4711));
        assert!(
            ["fedflip-band-hub", "other-4711-hub", "fedflip-band-x-1"].iter().all(|n| owner_of(n).is_none())
        );
        assert!(is_alive(std::process::id()));
    }

    #[test]
    fn the_counter_is_read() {
        let text = "qdisc tbf 8001: root refcnt 3 rate 20Mbit burst 16Kb lat 413ms \n \
                    Sent 42710572 bytes 33300 pkt (dropped 0, overlimits 16710 requeues 0) \n";
        assert_eq!(bytes_in(text), Some(42_710_572.0));
        assert_eq!(bytes_in("nothing"), None);
    }
}
