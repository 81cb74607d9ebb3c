//! `load`: many devices at one server: rounds per second, waiting times, memory.
//!
//! The server is the real one, the devices are `crates/net/examples/swarm.rs`: one process with a connection, a
//! certificate and a coin for each, and no training. The model is the synthetic task's with 307 hidden units,
//! 21,807 parameters: as large as the paper's CNN for MNIST (21,840), without its data.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::background::{Background, POLL, memory_bytes, processor_secs};
use crate::bench::Bench;
use crate::clock::{self, Stopwatch};
use crate::deployment::{self, Records};
use crate::error::LabError;
use crate::files::{self, json_lines};
use crate::process;

const HIDDEN: usize = 307;
const PARAMETERS: usize = 21_807;
/// The participation probability of every device.
const Q: f64 = 0.1;
/// For memory to settle, once all devices are connected.
const SETTLE: Duration = Duration::from_secs(2);

/// How large the measurement is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    devices: usize,
    rounds: usize,
    idle: usize,
    /// What the server may hold for a device that is connected and says nothing.
    idle_bytes_max: f64,
    secs_max: f64,
}

/// The fixed memory of a server differs a little from start to start, which counts where devices are few.
pub(crate) const SHORT: Size =
    Size { devices: 100, rounds: 20, idle: 500, idle_bytes_max: 80e3, secs_max: 60.0 };

pub(crate) const FULL: Size =
    Size { devices: 1000, rounds: 100, idle: 10_000, idle_bytes_max: 50e3, secs_max: 600.0 };

/// Rounds, then idleness, each with a server of its own.
pub(crate) fn run(bench: &Bench, size: Size) -> Result<(), LabError> {
    if !cfg!(target_os = "linux") {
        println!("   memory cannot be seen on this system: only rounds are counted");
    }
    bench.build(&["--package", "fedflip-net", "--example", "swarm"])?;
    let folder = bench.scratch("load");
    Load { bench, size, folder: folder.clone() }.run()?;
    // Logs are worth something only after a failure.
    files::remove_folder(&folder)
}

struct Load<'a> {
    bench: &'a Bench,
    size: Size,
    folder: PathBuf,
}

/// A server and the devices that have connected to it.
struct Running {
    server: Background,
    swarm: Background,
    /// What the server held before any device came.
    empty_bytes: Option<f64>,
    attending_secs: f64,
}

impl Load<'_> {
    fn run(&self) -> Result<(), LabError> {
        let cohort = (self.size.devices as f64 * Q) as usize;
        let mut sums = self.bench.command(&self.swarm_program());
        let sums = process::output(sums.args(["sums", &PARAMETERS.to_string(), &cohort.to_string()]))?;
        let parts = [self.rounds()?, self.idle()?, aggregation_rate(&sums)?];
        println!();
        parts.iter().flat_map(|part| part.lines()).for_each(|line| println!("   {line}"));
        Ok(())
    }

    fn swarm_program(&self) -> String {
        self.bench.program("examples/swarm")
    }

    /// A server with a number of places, and the devices that connect to it.
    fn start(
        &self,
        folder: &Path,
        places: usize,
        connecting: usize,
        rounds: usize,
    ) -> Result<Running, LabError> {
        let mut serve = self.bench.fedflip();
        let settings = [
            format!("fleet.devices={places}"),
            // More than loopback carries: devices here send as fast as they can.
            "fleet.bandwidth_mbps=100000".to_owned(),
            format!("task.hidden={HIDDEN}"),
            format!("stop.rounds_max={rounds}"),
            format!("plan.scheme=fixed={Q}"),
        ];
        let mut server = deployment::serve(self.bench, folder, &mut serve, ("127.0.0.1", 0), &settings)?;
        let address = server.wait_for(self.size.secs_max, "address", listening)?;
        let empty_bytes = memory_bytes(server.id());
        let mut swarm = self.bench.command(&self.swarm_program());
        swarm.arg(&address).arg(folder.join("certs")).arg(connecting.to_string());
        println!("   $ {}", process::shown(&swarm));
        let mut swarm = Background::start(&mut swarm, &folder.join("swarm.log"))?;
        let connected =
            |printed: &str| json_lines(printed).find_map(|line: Value| line.get("attending_secs")?.as_f64());
        let attending_secs = swarm.wait_for(self.size.secs_max, "devices that attend", connected)?;
        Ok(Running { server, swarm, empty_bytes, attending_secs })
    }

    fn rounds(&self) -> Result<String, LabError> {
        let Size { devices, rounds, secs_max, .. } = self.size;
        let folder = self.folder.join("rounds");
        let mut running = self.start(&folder, devices, devices, rounds)?;
        let (watch, before) = (Stopwatch::start(), processor_secs(running.server.id()));
        let mut after = before;
        while !running.server.has_ended()? {
            after = processor_secs(running.server.id()).or(after);
            if watch.secs() > secs_max {
                return Err(LabError::Broken(format!("{rounds} rounds were not over after {secs_max} s")));
            }
            clock::pause(POLL);
        }
        running.swarm.finish(secs_max)?;
        let records = Records::of_run(&folder, rounds)?;
        let updates = records.updates();
        let printed = running.swarm.printed();
        let last = printed.lines().last().unwrap_or_default();
        let timings = Timings(files::from_json(last, "the last line of the devices")?);
        let sent = timings.get("upload_count")? as usize;
        if updates != sent {
            return Err(LabError::Broken(format!("{updates} updates were committed; devices sent {sent}")));
        }
        let processor = match (before, after) {
            (Some(before), Some(after)) => format!("{:.1} ms", 1000.0 * (after - before) / rounds as f64),
            _ => "unknown".to_owned(),
        };
        Ok(format!(
            "{devices} devices, q = {Q}, {PARAMETERS} parameters, {rounds} rounds, {updates} updates, none lost\n\
             rounds             {:.2} a second; {processor} of processor each in the server\n\
             come in            {:.0} devices a second; TLS and hello {}\n\
             join               {}   from the opening of a round to the grant\n\
             fetch              {}   of the model\n\
             upload             {}   from the call to the receipt",
            rounds as f64 / records.secs,
            devices as f64 / running.attending_secs,
            timings.shown("connect")?,
            timings.shown("join")?,
            timings.shown("fetch")?,
            timings.shown("upload")?,
        ))
    }

    fn idle(&self) -> Result<String, LabError> {
        let Size { idle, idle_bytes_max, .. } = self.size;
        // One place stays free, so that the server waits for it and no round begins.
        let running = self.start(&self.folder.join("idle"), idle + 1, idle, 1)?;
        clock::pause(SETTLE);
        let id = running.server.id();
        let (Some(empty), Some(full)) = (running.empty_bytes, memory_bytes(id)) else {
            return Ok(format!("{idle} idle devices attended; memory cannot be seen on this system"));
        };
        let (start, watch) = (processor_secs(id).unwrap_or_default(), Stopwatch::start());
        clock::pause(SETTLE);
        let busy = (processor_secs(id).unwrap_or_default() - start) / watch.secs();
        let each = (full - empty) / idle as f64;
        if each > idle_bytes_max {
            return Err(LabError::Broken(format!(
                "an idle device costs the server {:.1} kB; at most {:.0} kB are promised",
                each / 1e3,
                idle_bytes_max / 1e3
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

/// Where the server says that it listens.
fn listening(printed: &str) -> Option<String> {
    let mut lines = json_lines(printed).filter(|line: &Value| line["message"] == "listening");
    Some(lines.next()?["address"].as_str()?.to_owned())
}

/// Counts and quantiles that the devices print.
struct Timings(BTreeMap<String, f64>);

impl Timings {
    fn get(&self, name: &str) -> Result<f64, LabError> {
        let value = self.0.get(name).copied();
        value.ok_or_else(|| LabError::Answer(format!("no number `{name}` in {:?}", self.0)))
    }

    fn shown(&self, name: &str) -> Result<String, LabError> {
        let millis = |quantile: &str| Ok::<_, LabError>(1e3 * self.get(&format!("{name}_{quantile}_secs"))?);
        Ok(format!("p50 {:.1} ms, p99 {:.1} ms", millis("p50")?, millis("p99")?))
    }
}

fn aggregation_rate(sums: &str) -> Result<String, LabError> {
    let rates = Timings(files::from_json(sums, "the sums of the swarm")?);
    let (added, copied) = (rates.get("added_bytes_per_sec")?, rates.get("copied_bytes_per_sec")?);
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
    fn the_address_is_found_in_the_log() {
        let log = "{\"message\":\"other\"}\n{\"message\":\"listening\",\"address\":\"127.0.0.1:4711\",\"devices\":3}";
        assert_eq!(listening(log).as_deref(), Some("127.0.0.1:4711"));
        assert_eq!(listening("{}"), None);
    }

    #[test]
    fn rates_and_quantiles_are_read() {
        let text = aggregation_rate("{\"added_bytes_per_sec\":5e9,\"copied_bytes_per_sec\":10000000000}");
        assert!(text.unwrap().contains("50 %"));
        assert!(aggregation_rate("{}").is_err() && aggregation_rate("no JSON").is_err());
        let timings = Timings(BTreeMap::from([("a_p50_secs".into(), 0.001), ("a_p99_secs".into(), 0.0125)]));
        assert_eq!(timings.shown("a").unwrap(), "p50 1.0 ms, p99 12.5 ms");
    }
}
