//! One machine's network of its own: a server and five devices, whose way to the server is one shaped link.
//!
//! Each is a namespace of the kernel's network. Their cables end at a bridge in one more namespace. Packets that
//! leave the bridge towards the server pass a token bucket: the shared link. The way back is free, as in the model.

use std::fs;
use std::io::Read;
use std::process::{Child, Command, Stdio};

use crate::bench::Bench;
use crate::error::LabError;
use crate::process;

/// In every name, so that leftovers of a killed run can be told from the namespaces of others.
const PREFIX: &str = "fedflip-band-";
/// The shaped port of the bridge.
const LINK_PORT: &str = "band0";
pub(super) const SERVER_ADDRESS: &str = "10.77.0.1";
/// The hidden command that [`clean_up_after`] is.
pub(crate) const CLEANER: &str = "band-clean";

/// The network; gone when it is dropped, and also when this process is killed.
pub(super) struct Network<'a> {
    bench: &'a Bench,
    /// The process whose id is in the names.
    owner: u32,
    cleaner: Child,
}

impl<'a> Network<'a> {
    /// Builds the network, after removing what killed runs have left.
    pub(super) fn build(bench: &'a Bench, devices: usize, band_mbps: f64) -> Result<Self, LabError> {
        let skipped =
            |why: String| LabError::Skipped(format!("this machine allows no network of our own: {why}"));
        if !cfg!(target_os = "linux") {
            return Err(skipped("only Linux has network namespaces".to_owned()));
        }
        if process::output(&mut bench.line("ip -Version")).is_err() {
            return Err(skipped("`ip` is missing: install the package iproute2".to_owned()));
        }
        owners(bench).into_iter().filter(|owner| !is_alive(*owner)).for_each(|owner| clear(bench, owner));
        let owner = std::process::id();
        let network = Self { bench, owner, cleaner: start_cleaner(bench, owner)? };
        let lines = network.lines(devices, band_mbps);
        lines.iter().try_for_each(|line| quiet(bench, line)).map_err(|error| skipped(error.to_string()))?;
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
        plug(&server, LINK_PORT, SERVER_ADDRESS);
        for device in 0..devices {
            plug(
                &self.name(&device.to_string()),
                &format!("port{device}"),
                &format!("10.77.0.{}", 10 + device),
            );
        }
        // A bucket of a few packets, so that the rate holds at every moment; the queue holds what devices
        // that send together deliver within a tick of each other.
        lines.push(format!(
            "ip netns exec {hub} tc qdisc add dev {LINK_PORT} root tbf rate {band_mbps}mbit burst 16kb limit 1mb"
        ));
        lines
    }

    fn name(&self, place: &str) -> String {
        format!("{PREFIX}{}-{place}", self.owner)
    }

    /// Runs a program at the server.
    pub(super) fn at_server(&self, program: &str) -> Command {
        self.inside("server", program)
    }

    /// Runs a program at a device.
    pub(super) fn at_device(&self, device: usize, program: &str) -> Command {
        self.inside(&device.to_string(), program)
    }

    fn inside(&self, place: &str, program: &str) -> Command {
        let mut command = self.bench.line("ip netns exec");
        command.args([&self.name(place), program]);
        command
    }

    /// Bytes that have passed the link, with all their headers.
    pub(super) fn link_bytes(&self) -> Result<f64, LabError> {
        let mut show = self.inside("hub", "tc");
        let text = process::output(show.args(["-s", "qdisc", "show", "dev", LINK_PORT]))?;
        bytes_in(&text).ok_or_else(|| LabError::Answer(format!("no number of bytes in:\n{text}")))
    }
}

impl Drop for Network<'_> {
    fn drop(&mut self) {
        // The cleaner begins when its input ends.
        drop(self.cleaner.stdin.take());
        let _ = self.cleaner.wait();
    }
}

/// The bytes in what `tc -s` prints about a queue.
fn bytes_in(text: &str) -> Option<f64> {
    text.split_once("Sent ")?.1.split_whitespace().next()?.parse().ok()
}

/// Starts a process that removes the network when this one is gone, however it went: its input ends then. It is in
/// a group of its own, so that Ctrl-C does not reach it.
fn start_cleaner(bench: &Bench, owner: u32) -> Result<Child, LabError> {
    let cannot = |source| LabError::Start { command: CLEANER.to_owned(), source };
    let program = std::env::current_exe().map_err(cannot)?;
    let mut command = bench.command(&program.display().to_string());
    command.args([CLEANER, &owner.to_string()]).stdin(Stdio::piped()).stdout(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().map_err(cannot)
}

/// Waits for the end of the input, then removes the owner's network.
pub(crate) fn clean_up_after(bench: &Bench, owner: u32) {
    // However the input ends, it has ended.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    clear(bench, owner);
}

/// The processes that have namespaces.
fn owners(bench: &Bench) -> Vec<u32> {
    let mut owners: Vec<u32> = names(bench).iter().filter_map(|name| owner_of(name)).collect();
    owners.dedup();
    owners
}

fn names(bench: &Bench) -> Vec<String> {
    let list = process::output(&mut bench.line("ip netns list")).unwrap_or_default();
    list.lines().filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
}

fn owner_of(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split_once('-')?.0.parse().ok()
}

fn is_alive(process: u32) -> bool {
    fs::exists(format!("/proc/{process}")).unwrap_or(true)
}

/// Ends the processes in an owner's namespaces, and removes the namespaces. What cannot be removed is left for the
/// next run.
fn clear(bench: &Bench, owner: u32) {
    for name in names(bench).iter().filter(|name| owner_of(name) == Some(owner)) {
        let inside = process::output(&mut bench.line(&format!("ip netns pids {name}"))).unwrap_or_default();
        for id in inside.split_whitespace() {
            let _ = quiet(bench, &format!("kill -KILL {id}"));
        }
        let _ = quiet(bench, &format!("ip netns delete {name}"));
    }
}

/// Runs a line; its error holds what it printed.
fn quiet(bench: &Bench, line: &str) -> Result<(), LabError> {
    let output = bench.line(line).output();
    let output = output.map_err(|source| LabError::Start { command: line.to_owned(), source })?;
    let printed = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    process::check(line, output.status).map_err(|error| LabError::Answer(format!("{error}: {printed}")))
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
