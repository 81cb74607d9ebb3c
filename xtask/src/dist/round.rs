//! A run of the static programs: the server, an agent of x86-64, and one of aarch64 under qemu.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use super::{AARCH64, AGENT, ARM_AGENT, Program, SERVER};
use crate::clock::Stopwatch;
use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::tools;

const QEMU: &str = "qemu-aarch64-static";

/// Certificates, encodings, and an optimiser of the server: what a run on real devices uses.
const SCENARIO: &str = "\
[task]
name = \"synthetic\"
[fleet]
devices = 2
[update]
encoding = \"int8\"
[plan]
scheme = \"fixed=1\"
[stop]
target_accuracy = 1
rounds_max = 5
";

/// Fails unless both agents took part in every round.
pub(super) fn check(repo: &Repo) -> Result<(), TaskError> {
    tools::ensure_by_apt(repo, QEMU, &["qemu-user-static"])?;
    let version = Cmd::new(QEMU).arg(shown(&ARM_AGENT.path(repo))).arg("--version").output(repo)?;
    println!("   under {QEMU}: {}", version.trim());
    let folder = repo.target().join("dist/check");
    let failed = |source| TaskError::File { path: folder.clone(), source };
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(failed)?;
    }
    fs::create_dir_all(&folder).map_err(failed)?;
    fs::write(folder.join("s.toml"), SCENARIO).map_err(failed)?;
    let watch = Stopwatch::start();
    run(repo, &folder)?;
    fs::remove_dir_all(&folder).map_err(failed)?;
    println!("   both agents took part in every round: {:.1} s", watch.secs());
    Ok(())
}

fn run(repo: &Repo, folder: &Path) -> Result<(), TaskError> {
    let fedflip = || Cmd::new(shown(&SERVER.path(repo)));
    let certs = shown(&folder.join("certs"));
    fedflip().args(["certs", "init", "--host", "127.0.0.1", "--dir", &certs]).output(repo)?;
    fedflip().args(["certs", "device", "laptop", "phone", "--dir", &certs]).output(repo)?;
    let serve = fedflip()
        .args(["serve", &shown(&folder.join("s.toml")), "--out", &shown(&folder.join("run"))])
        .args(["--certs", &certs, "--listen", "127.0.0.1:0", "--log", "json", "--json"]);
    let mut server = Running::start(repo, &serve)?;
    let address = server.address()?;
    let join = |cmd: Cmd, name: &str| {
        let identity = shown(&folder.join("certs/devices").join(name));
        Running::start(
            repo,
            &cmd.args([&address, "--identity", &identity, "--give-up-secs", "60", "--log", "json"]),
        )
    };
    let laptop = join(Cmd::new(shown(&AGENT.path(repo))), "laptop")?;
    let phone = join(Cmd::new(QEMU).arg(shown(&ARM_AGENT.path(repo))), "phone")?;
    let log = server.end()?;
    for (name, program, agent) in [("laptop", &AGENT, laptop), ("phone", &ARM_AGENT, phone)] {
        let said = agent.end()?;
        let rounds = said.matches("\"took part\"").count();
        println!("   {name} ({}): took part in {rounds} rounds", about(program));
        if rounds < 5 {
            let message =
                format!("{name} took part in {rounds} rounds of 5:\n{said}\nThe server said:\n{log}");
            return Err(TaskError::Answer(message));
        }
    }
    Ok(())
}

fn about(program: &Program) -> String {
    let under = if program.target.machine == AARCH64.machine { ", under qemu" } else { "" };
    format!("{} for {}{under}", program.name, program.target.arch)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// A process and its log; ended with the check if it still runs then.
struct Running {
    cmd: Cmd,
    child: Child,
    said: String,
    log: BufReader<std::process::ChildStderr>,
}

impl Running {
    fn start(repo: &Repo, cmd: &Cmd) -> Result<Self, TaskError> {
        println!("   $ {cmd}");
        let start = || {
            let mut child = cmd.prepare(repo).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
            let log = child.stderr.take().ok_or(std::io::ErrorKind::BrokenPipe)?;
            Ok((child, BufReader::new(log)))
        };
        let (child, log) = start().map_err(|source| cmd.cannot_start(source))?;
        Ok(Self { cmd: cmd.clone(), child, said: String::new(), log })
    }

    /// Where the server listens, which its log says.
    fn address(&mut self) -> Result<String, TaskError> {
        loop {
            let start = self.said.len();
            let length = self.log.read_line(&mut self.said).map_err(|source| self.lost(source))?;
            let line = &self.said[start..];
            if line.contains("\"listening\"") {
                let address = line.split_once("\"address\":\"").and_then(|(_, rest)| rest.split('"').next());
                return address.map(str::to_owned).ok_or_else(|| TaskError::Answer(line.to_owned()));
            }
            if length == 0 {
                return Err(TaskError::Answer(format!("{} ended early:\n{}", self.cmd, self.said)));
            }
        }
    }

    /// All that it said, when it has ended well.
    fn end(mut self) -> Result<String, TaskError> {
        self.log.read_to_string(&mut self.said).map_err(|source| self.lost(source))?;
        let ended = self.child.wait().map_err(|source| self.lost(source))?;
        if !ended.success() {
            return Err(TaskError::Answer(format!("{} ended with {ended}:\n{}", self.cmd, self.said)));
        }
        Ok(std::mem::take(&mut self.said))
    }

    fn lost(&self, source: std::io::Error) -> TaskError {
        TaskError::File { path: PathBuf::from(self.cmd.to_string()), source }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended already is not there to be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
