//! `fedflip serve` and `fedflip join` as processes that can be killed.

use std::fs::{self, File};
use std::net::{TcpListener, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use tempfile::TempDir;

use crate::timeouts;

/// Below the ports that systems hand out: nobody takes the server's while it is dead.
const FIRST_PORT: u16 = 20_000;
const PORTS: u16 = 10_000;
static PORTS_TRIED: AtomicU16 = AtomicU16::new(0);

/// A folder and a port for one run.
pub(crate) struct Desk {
    folder: TempDir,
    address: String,
    _reserved: UdpSocket,
    devices: usize,
    rounds: u64,
}

impl Desk {
    pub(crate) fn new(devices: usize, rounds: u64, server_section: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let scenario = format!("preset = \"paper\"\n[task]\nname = \"synthetic\"\n{server_section}");
        fs::write(folder.path().join("s.toml"), scenario).unwrap();
        let (_reserved, address) = reserve();
        Self { folder, address, _reserved, devices, rounds }
    }

    /// The run's folder.
    pub(crate) fn run(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    pub(crate) fn serve(&self) -> Process {
        let Self { devices, rounds, address, .. } = self;
        let settings = [
            format!("fleet.devices={devices}"),
            "fleet.types=[\"xiaomi-12s\"]".to_owned(),
            format!("stop.rounds_max={rounds}"),
            "stop.target_accuracy=1".to_owned(),
            "round.deadline_secs=2".to_owned(),
        ];
        let settings = settings.iter().flat_map(|setting| ["--set", setting]);
        let fixed = ["serve", "s.toml", "--out", "run", "--insecure", "--listen", address, "--scheme"];
        // Some rounds are for some of the devices only, and plans change on the way.
        let more = ["fixed=0.8", "--window-secs", "1", "--replan-every", "6", "--threads", "1"];
        self.start("server", fixed.into_iter().chain(more).chain(settings))
    }

    pub(crate) fn join(&self, device: usize) -> Process {
        let name = format!("phone-{device}");
        // Slow enough that blows fall into rounds and not only between them.
        let args = ["join", &self.address, "--insecure", "--name", &name, "--compute-secs", "0.03"];
        self.start(&name, args)
    }

    fn start<'a>(&self, name: &str, args: impl IntoIterator<Item = &'a str>) -> Process {
        let log = self.folder.path().join(format!("{name}.log"));
        let said = File::options().create(true).append(true).open(&log).unwrap();
        let log_begins = said.metadata().unwrap().len();
        let child = Command::new(env!("CARGO_BIN_EXE_fedflip"))
            .args(args)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said)
            .spawn()
            .unwrap();
        Process { child, log, log_begins }
    }
}

/// A process; killed when it is not needed any more.
pub(crate) struct Process {
    child: Child,
    log: PathBuf,
    log_begins: u64,
}

impl Process {
    /// SIGKILL: it has no say in it.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM: it ends well, unless it has not yet come to say anything and does not know of signals.
    pub(crate) fn stop(&mut self, limit: Duration, seed: u64) {
        let knows = fs::metadata(&self.log).is_ok_and(|log| log.len() > self.log_begins);
        let id = self.child.id().to_string();
        // One that has just ended needs no telling.
        let _ = Command::new("kill").args(["-TERM", &id]).stderr(Stdio::null()).status().unwrap();
        if knows {
            self.ends_well(limit, seed);
        } else {
            self.child.wait().unwrap();
        }
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for its end, which must be a good one.
    pub(crate) fn ends_well(&mut self, limit: Duration, seed: u64) {
        let ended = timeouts::within(limit, || self.has_ended());
        let status = self.child.try_wait().unwrap();
        if !ended || !status.is_some_and(|status| status.success()) {
            let said = fs::read_to_string(&self.log).unwrap_or_default();
            let last: Vec<&str> = said.lines().rev().take(40).collect();
            let last: Vec<&str> = last.into_iter().rev().collect();
            panic!("seed {seed}: {} ended as {status:?}:\n{}", self.log.display(), last.join("\n"));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A test that failed must not leave anything running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port for the whole run, dead server or not: whoever holds the same number of UDP, which nobody uses, has it.
fn reserve() -> (UdpSocket, String) {
    loop {
        let port = FIRST_PORT + PORTS_TRIED.fetch_add(1, Ordering::Relaxed) % PORTS;
        let address = format!("127.0.0.1:{port}");
        if let (Ok(reserved), Ok(_)) = (UdpSocket::bind(&address), TcpListener::bind(&address)) {
            return (reserved, address);
        }
    }
}
