//! `fedflip demo`: a server, devices of different speeds and a dashboard, all on this machine and all real:
//! processes of their own, certificates, sockets.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use fedflip_net::identity::mint::Validity;
use fedflip_net::identity::{DeviceName, Store};
use fedflip_record::Summary;
use serde::Deserialize;
use serde_json::{Value, json};

use super::certs::now_unix_secs;
use super::demo_log::LogLine;
use super::outcome::{self, line};
use super::print_json;
use crate::args::DemoArgs;
use crate::error::{CliError, ExitStatus};
use crate::{interrupt, own_program};

/// Of the first device's training; each one after it takes as much longer.
const COMPUTE_SECS: f64 = 0.1;

/// What is learnt: the embedded task, slowly enough to watch, over a bandwidth that is worth sharing.
const SCENARIO: &str = "\
[task]
name = \"synthetic\"
hidden = 256

[fleet]
bandwidth_mbps = 10

[train]
learning_rate = 0.001

[plan]
alpha = 12
beta = 2
";

/// The cap on rounds: a run whose target is out of reach ends with a message.
const ROUNDS_MAX: u32 = 500;
/// How often the demo looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(50);
/// How long a server that is to stop may take.
#[cfg(unix)]
const STOP_WITHIN: Duration = Duration::from_millis(1500);

/// Set by Ctrl-C and SIGTERM. A second one changes nothing: processes and folders must not be left behind.
static STOP: AtomicBool = AtomicBool::new(false);

fn is_to_stop() -> bool {
    STOP.load(Ordering::Relaxed)
}

pub(super) fn run(args: &DemoArgs, output: &mut dyn Write) -> Result<ExitStatus, CliError> {
    CliError::in_range("--target", args.target, f64::MIN_POSITIVE..=1.0, "a share above 0 and at most 1")?;
    // Without a handler Ctrl-C ends all of the processes, as it is sent to all.
    let _ = ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed));
    let stage = Stage::new(args.keep.as_deref())?;
    let names = stage.identities(args.devices)?;
    let mut server = stage.server(args)?;
    let mut devices = Vec::new();
    stage.follow(&mut server, |address| {
        tell(&format!("the server listens at {address}"));
        for (n, name) in names.iter().enumerate() {
            devices.push(stage.device(address, name, COMPUTE_SECS * (n + 1) as f64)?);
        }
        Ok(())
    })?;
    if is_to_stop() {
        server.stop();
    }
    let status = server.0.wait()?;
    let mut result = String::new();
    if let Some(stdout) = server.0.stdout.take() {
        std::io::Read::read_to_string(&mut BufReader::new(stdout), &mut result)?;
    }
    if !status.success() && !is_to_stop() {
        let log = fs::read_to_string(stage.folder.join("server.log")).unwrap_or_default();
        let problem = log.lines().last().unwrap_or_default().to_owned();
        return Err(CliError::Demo { problem });
    }
    // They have heard that it is over; those of a demo that is to stop are not waited for.
    for device in &mut devices {
        device.ends_before(is_to_stop)?;
    }
    let mut result: Value = serde_json::from_str(&result).unwrap_or_else(|_| json!({ "status": "stopped" }));
    if args.json {
        if args.keep.is_none() {
            result["out"] = Value::Null;
        }
        print_json(output, &result)?;
    } else {
        write_text(output, &result, args)?;
    }
    Ok(ExitStatus::Done)
}

/// The folder of a demo.
struct Stage {
    folder: PathBuf,
    is_kept: bool,
}

impl Stage {
    fn new(keep: Option<&Path>) -> Result<Self, CliError> {
        let folder = match keep {
            Some(folder) => folder.to_owned(),
            None => std::env::temp_dir().join(format!("fedflip-demo-{}", std::process::id())),
        };
        let failed = |source| CliError::Make { path: folder.display().to_string(), source };
        // A new one: what is there is not ours.
        fs::create_dir(&folder).map_err(failed)?;
        fs::write(folder.join("scenario.toml"), SCENARIO).map_err(failed)?;
        Ok(Self { folder, is_kept: keep.is_some() })
    }

    fn file(&self, name: &str) -> Result<File, CliError> {
        let path = self.folder.join(name);
        File::create(&path).map_err(|source| CliError::Make { path: path.display().to_string(), source })
    }

    /// Reads the server's log until it ends or the demo is to stop.
    fn follow(
        &self,
        server: &mut Process,
        mut listening: impl FnMut(&str) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let mut log = self.file("server.log")?;
        let lines = server.0.stderr.take().map(BufReader::new).into_iter().flat_map(BufRead::lines);
        let (sender, said) = mpsc::sync_channel(64);
        // A line may be long in coming, so a thread waits for it. It reads on when nobody listens any more: a server
        // must not stumble over its log.
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        while !is_to_stop() {
            let line = match said.recv_timeout(LOOK) {
                Ok(line) => line,
                Err(mpsc::RecvTimeoutError::Timeout) => continue,
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            };
            writeln!(log, "{line}")?;
            match LogLine::of(&line) {
                LogLine::Listening(address) => listening(&address)?,
                LogLine::Shown(text) => tell(&text),
                LogLine::Nothing => {}
            }
        }
        Ok(())
    }

    fn identities(&self, devices: u16) -> Result<Vec<DeviceName>, CliError> {
        let validity = Validity { now_unix_secs: now_unix_secs(), days: 1 };
        let hosts = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let mut store = Store::create(&self.folder.join("certs"), &hosts, validity)?;
        let mut names = Vec::new();
        for n in 1..=devices {
            let name: DeviceName = format!("device-{n}").parse()?;
            store.device(&name, validity)?;
            names.push(name);
        }
        Ok(names)
    }

    fn server(&self, args: &DemoArgs) -> Result<Process, CliError> {
        let mut command = own_program::command()?;
        command.arg("serve").arg(self.folder.join("scenario.toml"));
        command.args(["--listen", "127.0.0.1:0", "--json", "--log", "json", "--replan-every", "10"]);
        command.arg("--set").arg(format!("fleet.devices={}", args.devices));
        command.arg("--set").arg(format!("stop.target_accuracy={}", args.target));
        command.arg("--set").arg(format!("stop.rounds_max={ROUNDS_MAX}"));
        command.arg("--out").arg(self.folder.join("run")).arg("--certs").arg(self.folder.join("certs"));
        command.arg("--dashboard").arg(args.dashboard.dashboard.as_deref().unwrap_or("0"));
        if args.dashboard.dashboard_public {
            command.arg("--dashboard-public");
        }
        if args.dashboard.keep_dashboard {
            command.arg("--keep-dashboard");
        }
        Ok(Process(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?))
    }

    fn device(&self, address: &str, name: &DeviceName, compute_secs: f64) -> Result<Process, CliError> {
        let log = self.file(&format!("{name}.log"))?;
        let mut command = own_program::command()?;
        command
            .args(["join", address, "--give-up-secs", "20", "--compute-secs"])
            .arg(compute_secs.to_string());
        command.arg("--identity").arg(self.folder.join("certs/devices").join(name.as_str()));
        Ok(Process(command.stdout(Stdio::null()).stderr(log).spawn()?))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !self.is_kept {
            // What cannot be removed is in the system's folder for such things.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// A process that ends with the demo.
struct Process(Child);

impl Process {
    /// Asks it to end, and sees to it if it does not.
    fn stop(&mut self) {
        #[cfg(unix)]
        {
            let ask = format!("kill -TERM {}", self.0.id());
            // If it cannot be asked, it is killed below.
            let _ = Command::new("sh").args(["-c", &ask]).stderr(Stdio::null()).status();
            let start = interrupt::now();
            let _ = self.ends_before(|| start.elapsed() > STOP_WITHIN);
        }
        // One that has ended cannot be killed.
        let _ = self.0.kill();
    }

    /// Waits for its end, but no longer than until there is no time left.
    #[expect(clippy::disallowed_methods, reason = "another process is waited for")]
    fn ends_before(&mut self, is_late: impl Fn() -> bool) -> Result<(), CliError> {
        while self.0.try_wait()?.is_none() && !is_late() {
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended cannot be killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// For people, on standard error.
fn tell(text: &str) {
    // If nobody listens, the demo continues.
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn write_text(output: &mut dyn Write, result: &Value, args: &DemoArgs) -> Result<(), CliError> {
    let how = match result["status"].as_str() {
        Some("reached") => "reached its target".to_owned(),
        Some("cap") => format!("has not reached its target in {ROUNDS_MAX} rounds"),
        _ => "stopped".to_owned(),
    };
    writeln!(output, "{} devices, each with its own coin: {how}", args.devices)?;
    let Ok(summary) = Summary::deserialize(result) else { return Ok(()) };
    outcome::write(output, "time", &summary, None)?;
    match &args.keep {
        Some(folder) => line(output, "kept in", &folder.display().to_string()),
        None => line(output, "kept", "nothing; --keep FOLDER keeps it for fedflip report"),
    }
}
