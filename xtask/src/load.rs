//! `cargo xtask load`: many devices at one server: rounds a second, waiting times, memory.
//!
//! The server is the real one, the devices are `crates/net/examples/swarm.rs`: one process with a connection, a
//! certificate and a coin for each, and no training. The model is the synthetic task's with 307 hidden units,
//! 21,807 parameters: as large as the paper's CNN for MNIST (21,840), without its data.

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::background::{Background, memory_bytes, processor_secs};
use crate::clock::{self, Stopwatch};
use crate::error::TaskError;
use crate::json::number_after;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::speed;

const HIDDEN: usize = 307;
const PARAMETERS: usize = 21_807;
/// How often a device takes part.
const Q: f64 = 0.1;
/// For memory to settle, once all have come.
const SETTLE: Duration = Duration::from_secs(2);

/// How much of it there is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    /// Of cargo: where binaries are, and what makes them.
    profile: &'static str,
    devices: usize,
    rounds: usize,
    idle: usize,
    /// What the server may hold for a device that is connected and says nothing.
    idle_bytes_max: f64,
    secs_max: f64,
}

/// For `cargo xtask test`, with the binaries that its tests are made with. What a server holds anyway is not quite
/// the same from start to start, which counts where devices are few.
pub(crate) const SHORT: Form =
    Form { profile: "debug", devices: 100, rounds: 20, idle: 500, idle_bytes_max: 80e3, secs_max: 60.0 };

/// For the record.
pub(crate) const FULL: Form = Form {
    profile: "release",
    devices: 1000,
    rounds: 100,
    idle: 10_000,
    idle_bytes_max: 50e3,
    secs_max: 600.0,
};

/// Rounds, then idleness, each with a server of its own.
pub(crate) fn run(repo: &Repo, form: &Form) -> Result<(), TaskError> {
    if !cfg!(target_os = "linux") {
        println!("   memory cannot be seen on this system: only rounds are counted");
    }
    match form.profile {
        // In one go: apart, what both need would be built twice.
        "release" => Cmd::words("cargo build --locked --release --package fedflip --bin fedflip")
            .args(["--package", "fedflip-net", "--example", "swarm"])
            .run(repo)?,
        _ => speed::build_as_tests(repo)?,
    }
    let folder = repo.target().join(format!("load-{}", std::process::id()));
    let result = Bench { repo, form, folder: folder.clone() }.run();
    // Its logs are worth something only if it failed.
    if result.is_ok() {
        fs::remove_dir_all(&folder).map_err(|source| TaskError::File { path: folder, source })?;
    }
    result
}

struct Bench<'a> {
    repo: &'a Repo,
    form: &'a Form,
    folder: PathBuf,
}

impl Bench<'_> {
    fn run(&self) -> Result<(), TaskError> {
        let Form { devices, rounds, idle, .. } = *self.form;
        let sums = Cmd::new(self.program("examples/swarm"))
            .args(["sums", &PARAMETERS.to_string(), &((devices as f64 * Q) as usize).to_string()])
            .output(self.repo)?;
        let lines = [self.rounds(devices, rounds)?, self.idle(idle)?, added_up(&sums)?];
        println!();
        lines.iter().flat_map(|lines| lines.lines()).for_each(|line| println!("   {line}"));
        Ok(())
    }

    fn program(&self, name: &str) -> String {
        self.repo.target().join(self.form.profile).join(format!("{name}{EXE_SUFFIX}")).display().to_string()
    }

    /// A server for so many devices, and devices that have all come to it.
    fn start(&self, place: &Path, [devices, coming, rounds]: [usize; 3]) -> Result<Running, TaskError> {
        fs::create_dir_all(place).map_err(|source| TaskError::File { path: place.to_path_buf(), source })?;
        let at = |name: &str| place.join(name).display().to_string();
        let fedflip = self.program("fedflip");
        Cmd::new(&fedflip)
            .args(["certs", "init", "--dir", &at("certs"), "--host", "127.0.0.1"])
            .output(self.repo)?;
        let scenario = place.join("scenario.toml");
        let text = Cmd::new(&fedflip).args(["scenario", "new", "synthetic"]).output(self.repo)?;
        fs::write(&scenario, text).map_err(|source| TaskError::File { path: scenario.clone(), source })?;
        let mut serve = Cmd::new(&fedflip).arg("serve").arg(at("scenario.toml"));
        serve = serve.args(["--out", &at("run"), "--certs", &at("certs"), "--listen", "127.0.0.1:0"]);
        serve = serve.args(["--scheme", &format!("fixed={Q}"), "--replan-every", "0", "--log", "json"]);
        for set in [
            format!("fleet.devices={devices}"),
            "fleet.types=[\"xiaomi-12s\"]".to_owned(),
            // More than loopback carries: devices here send as fast as they can.
            "fleet.bandwidth_mbps=100000".to_owned(),
            format!("task.hidden={HIDDEN}"),
            format!("stop.rounds_max={rounds}"),
            "stop.target_accuracy=0.999".to_owned(),
            "record.evaluate_every=1000000".to_owned(),
        ] {
            serve = serve.args(["--set", &set]);
        }
        println!("   $ {serve}");
        let mut server = Background::start(self.repo, serve, &place.join("server.log"))?;
        let address = server.wait_for(self.form.secs_max, "address", listening)?;
        let empty_bytes = memory_bytes(server.id());
        let swarm =
            Cmd::new(self.program("examples/swarm")).args([&address, &at("certs"), &coming.to_string()]);
        println!("   $ {swarm}");
        let mut swarm = Background::start(self.repo, swarm, &place.join("swarm.log"))?;
        let came = |said: &str| said.lines().find_map(|line| number_after(line, "attending_secs"));
        let attending_secs = swarm.wait_for(self.form.secs_max, "devices that attend", came)?;
        Ok(Running { server, swarm, empty_bytes, attending_secs })
    }

    fn rounds(&self, devices: usize, rounds: usize) -> Result<String, TaskError> {
        let place = self.folder.join("rounds");
        let mut running = self.start(&place, [devices, devices, rounds])?;
        let (watch, before) = (Stopwatch::start(), processor_secs(running.server.id()));
        let mut after = before;
        while !running.server.has_ended()? {
            after = processor_secs(running.server.id()).or(after);
            if watch.secs() > self.form.secs_max {
                return Err(TaskError::Promise(format!(
                    "{rounds} rounds were not over after {} s",
                    self.form.secs_max
                )));
            }
            clock::pause(crate::background::LOOK);
        }
        running.swarm.finish(self.form.secs_max)?;
        let path = place.join("run/records.jsonl");
        let records = fs::read_to_string(&path).map_err(|source| TaskError::File { path, source })?;
        let round_of = |line: &&str| line.starts_with("{\"type\":\"round\"");
        let updates: usize = records.lines().filter(round_of).map(cohort).sum();
        let secs = number_after(records.lines().last().unwrap_or_default(), "secs").unwrap_or(f64::NAN);
        let said = running.swarm.said();
        let timing = |what: &str| {
            number_after(said.lines().last().unwrap_or_default(), what)
                .ok_or_else(|| TaskError::Answer(format!("the devices gave no {what}: {said}")))
        };
        let committed = records.lines().filter(round_of).count();
        let taken = timing("upload_count")? as usize;
        if committed != rounds || records.contains("\"lost\"") || updates != taken {
            return Err(TaskError::Promise(format!(
                "{committed} of {rounds} rounds were committed with {updates} updates; devices sent {taken}"
            )));
        }
        let millis = |what: &str| Ok::<_, TaskError>(1000.0 * timing(what)?);
        let processor = match (before, after) {
            (Some(before), Some(after)) => format!("{:.1} ms", 1000.0 * (after - before) / rounds as f64),
            _ => "unknown".to_owned(),
        };
        Ok(format!(
            "{devices} devices, q = {Q}, {PARAMETERS} parameters, {rounds} rounds, {updates} updates, none lost\n\
             rounds             {:.2} a second; {processor} of processor each in the server\n\
             come in            {:.0} devices a second; TLS and hello p50 {:.1} ms, p99 {:.1} ms\n\
             join               p50 {:.1} ms, p99 {:.1} ms   from the opening of a round to the grant\n\
             fetch              p50 {:.1} ms, p99 {:.1} ms   of the model\n\
             upload             p50 {:.1} ms, p99 {:.1} ms   from the call to the receipt",
            rounds as f64 / secs,
            devices as f64 / running.attending_secs,
            millis("connect_p50_secs")?,
            millis("connect_p99_secs")?,
            millis("join_p50_secs")?,
            millis("join_p99_secs")?,
            millis("fetch_p50_secs")?,
            millis("fetch_p99_secs")?,
            millis("upload_p50_secs")?,
            millis("upload_p99_secs")?,
        ))
    }

    fn idle(&self, idle: usize) -> Result<String, TaskError> {
        // One place stays free, so that the server waits for it and no round begins.
        let running = self.start(&self.folder.join("idle"), [idle + 1, idle, 1])?;
        clock::pause(SETTLE);
        let id = running.server.id();
        let (Some(empty), Some(full)) = (running.empty_bytes, memory_bytes(id)) else {
            return Ok(format!("{idle} idle devices attended; memory cannot be seen on this system"));
        };
        let (start, watch) = (processor_secs(id).unwrap_or_default(), Stopwatch::start());
        clock::pause(SETTLE);
        let busy = (processor_secs(id).unwrap_or_default() - start) / watch.secs();
        let each = (full - empty) / idle as f64;
        if each > self.form.idle_bytes_max {
            return Err(TaskError::Promise(format!(
                "an idle device costs the server {:.1} kB; at most {:.0} are promised",
                each / 1e3,
                self.form.idle_bytes_max / 1e3
            )));
        }
        Ok(format!(
            "{idle} idle devices, connected in {:.1} s\n\
             memory             {:.1} kB each ({:.0} MB in all, {:.0} MB before they came)\n\
             processor          {:.1} % of one",
            running.attending_secs,
            each / 1e3,
            full / 1e6,
            empty / 1e6,
            100.0 * busy
        ))
    }
}

struct Running {
    server: Background,
    swarm: Background,
    /// Of the server, before anybody came.
    empty_bytes: Option<f64>,
    /// Until all had come.
    attending_secs: f64,
}

/// Where the server says that it listens.
fn listening(said: &str) -> Option<String> {
    let line = said.lines().find(|line| line.contains("\"listening\""))?;
    let (_, rest) = line.split_once("\"address\":\"")?;
    Some(rest.split_once('"')?.0.to_owned())
}

/// How many took part in a round.
fn cohort(record: &str) -> usize {
    let list = record.split_once("\"cohort\":[").and_then(|(_, rest)| rest.split_once(']'));
    list.map_or(0, |(list, _)| list.split(',').filter(|device| !device.is_empty()).count())
}

fn added_up(sums: &str) -> Result<String, TaskError> {
    let rate = |what: &str| {
        number_after(sums, what).ok_or_else(|| TaskError::Answer(format!("no number `{what}` in {sums}")))
    };
    let (added, copied) = (rate("added_bytes_per_sec")?, rate("copied_bytes_per_sec")?);
    Ok(format!(
        "updates added up at {:.1} GB/s, copied at {:.1} GB/s: {:.0} % of memcpy",
        added / 1e9,
        copied / 1e9,
        100.0 * added / copied
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_what_was_written() {
        let log = "{\"message\":\"other\"}\n{\"message\":\"listening\",\"address\":\"127.0.0.1:4711\",\"devices\":3}";
        assert_eq!(listening(log).as_deref(), Some("127.0.0.1:4711"));
        assert_eq!(listening("{}"), None);
        assert_eq!(cohort("{\"cohort\":[1,2,30],\"mbps\":[1]}"), 3);
        assert_eq!(cohort("{\"cohort\":[],\"mbps\":[]}"), 0);
        let text = added_up("{\"added_bytes_per_sec\":5e9,\"copied_bytes_per_sec\":10000000000}").unwrap();
        assert!(text.contains("50 %"), "{text}");
        assert!(added_up("{}").is_err());
    }
}
