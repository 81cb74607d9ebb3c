//! A server and its devices on the shaped network, for some rounds; and what their rounds took.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::network::{Network, SERVER_ADDRESS};
use super::predict::Division;
use super::{DEVICES, Size};
use crate::background::Background;
use crate::bench::Bench;
use crate::error::LabError;
use crate::files::{self, json_lines};
use crate::{clock, process};

/// From the start to the first grant: certificates, the first model, five devices that are timed.
const ENROL_SECS_MAX: f64 = 90.0;
const PORT: u16 = 7700;
/// In the line of the server's log that says how it divided the bandwidth.
const DIVIDED: &str = "\"expected_secs\":";

/// One round, as it was planned and as it went.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) round_secs: f64,
    /// T̂, by what the server knew when it divided the bandwidth.
    pub(super) expected_secs: f64,
    /// By device, in the order of their places in the fleet: from the grant to the first byte …
    pub(super) compute_secs: Vec<f64>,
    /// … from there to the last …
    pub(super) upload_secs: Vec<f64>,
    /// … at this rate.
    pub(super) mbps: Vec<f64>,
}

impl Seen {
    /// Between the first device's last byte and the last one's.
    pub(super) fn spread_secs(&self) -> f64 {
        let ends =
            || self.compute_secs.iter().zip(&self.upload_secs).map(|(compute, upload)| compute + upload);
        ends().fold(f64::NEG_INFINITY, f64::max) - ends().fold(f64::INFINITY, f64::min)
    }

    /// How many bytes on the link the server counted for a byte of numbers.
    pub(super) fn framing(&self, payload_mbit: f64) -> f64 {
        let mbit: f64 = self.upload_secs.iter().zip(&self.mbps).map(|(secs, mbps)| secs * mbps).sum();
        mbit / (self.mbps.len() as f64 * payload_mbit)
    }
}

/// All rounds, and what the link carried.
pub(super) struct Trial {
    pub(super) rounds: Vec<Seen>,
    /// The size of the model.
    pub(super) payload_mbit: f64,
    /// What the last round's uploads were on the wire, by the counter of the link.
    pub(super) wire_mbit: f64,
}

/// Runs one trial in a folder of its own.
pub(super) fn run(
    bench: &Bench,
    network: &Network<'_>,
    folder: &Path,
    (size, division): (&Size, Division),
) -> Result<Trial, LabError> {
    files::create_folder(folder)?;
    let mut server = serve(bench, network, folder, (size, division))?;
    // A device that finds nobody tries again, so nobody has to wait for the server here.
    let mut agents = Vec::new();
    for (device, secs) in size.compute_secs.iter().enumerate() {
        let identity = folder.join(format!("certs/devices/device-{device}"));
        let mut join = network.at_device(device, &bench.program("fedflip"));
        join.args(["join", &format!("{SERVER_ADDRESS}:{PORT}"), "--compute-secs", &secs.to_string()]);
        join.arg("--identity").arg(identity);
        agents.push(Background::start(&mut join, &folder.join(format!("device-{device}.log")))?);
    }

    // In the last round no device fetches the next model: only its uploads pass the link, once the fetching of its
    // own model is over, and nobody sends yet.
    let patience_secs = ENROL_SECS_MAX + 10.0 * size.rounds as f64;
    for (secs_max, what, rounds) in
        [(ENROL_SECS_MAX, "first round", 1), (patience_secs, "last round", size.rounds)]
    {
        let begun = |printed: &str| (printed.matches(DIVIDED).count() >= rounds).then_some(());
        server.wait_for(secs_max, what, begun)?;
    }
    let fastest_secs = size.compute_secs.iter().fold(f64::INFINITY, |a, &b| a.min(b));
    clock::pause(Duration::from_secs_f64(0.7 * fastest_secs));
    let before = network.link_bytes()?;
    server.finish(patience_secs)?;
    let wire_mbit = 8e-6 * (network.link_bytes()? - before);
    for agent in &mut agents {
        agent.finish(10.0)?;
    }
    let records = files::read(&folder.join("run/records.jsonl"))?;
    let (parameters, rounds) = read(&records, &server.printed())
        .filter(|(_, rounds)| rounds.len() == size.rounds)
        .ok_or_else(|| LabError::Answer(format!("{}: rounds are missing or broken", folder.display())))?;
    Ok(Trial { rounds, payload_mbit: 32e-6 * parameters, wire_mbit })
}

/// Starts the server, with certificates and a scenario of its own.
fn serve(
    bench: &Bench,
    network: &Network<'_>,
    folder: &Path,
    (size, division): (&Size, Division),
) -> Result<Background, LabError> {
    let at = |name: &str| folder.join(name).display().to_string();
    let certs = |what: &str| {
        let mut certs = bench.fedflip();
        certs.args(["certs", what, "--dir", &at("certs")]);
        certs
    };
    process::output(certs("init").args(["--host", SERVER_ADDRESS]))?;
    process::output(certs("device").args((0..DEVICES).map(|device| format!("device-{device}"))))?;
    let scenario = process::output(bench.fedflip().args(["scenario", "new", "synthetic"]))?;
    files::write(&folder.join("scenario.toml"), &scenario)?;
    let mut serve = network.at_server(&bench.program("fedflip"));
    serve.args(["serve", &at("scenario.toml"), "--out", &at("run"), "--certs", &at("certs")]);
    serve.args(["--listen", &format!("{SERVER_ADDRESS}:{PORT}"), "--scheme", "full"]);
    serve.args(["--replan-every", "0", "--log", "json"]);
    for set in settings(size, division) {
        serve.args(["--set", &set]);
    }
    println!("   $ {}", process::shown(&serve));
    Background::start(&mut serve, &folder.join("server.log"))
}

fn settings(size: &Size, division: Division) -> [String; 8] {
    [
        format!("fleet.devices={DEVICES}"),
        "fleet.types=[\"xiaomi-12s\"]".to_owned(),
        format!("fleet.bandwidth_mbps={}", size.band_mbps),
        format!("task.hidden={}", size.hidden),
        format!("round.allocation={}", division.name()),
        format!("stop.rounds_max={}", size.rounds),
        "stop.target_accuracy=0.999".to_owned(),
        "record.evaluate_every=1000".to_owned(),
    ]
}

/// A line of the records, as far as it matters here.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Record {
    Header {
        parameters: f64,
    },
    Round {
        round_secs: f64,
        compute_secs: Vec<f64>,
        upload_secs: Vec<f64>,
        mbps: Vec<f64>,
        #[serde(default)]
        lost: Vec<IgnoredAny>,
    },
    #[serde(other)]
    Other,
}

/// The line of the server's log for a round that begins.
#[derive(Deserialize)]
struct Divided {
    expected_secs: f64,
}

/// The number of parameters and all rounds, from the records and the server's log; none if an update is missing.
fn read(records: &str, log: &str) -> Option<(f64, Vec<Seen>)> {
    let mut expected = json_lines(log).map(|line: Divided| line.expected_secs);
    let (mut of_model, mut rounds) = (None, Vec::new());
    for record in json_lines(records) {
        match record {
            Record::Header { parameters } => of_model = Some(parameters),
            Record::Round { round_secs, compute_secs, upload_secs, mbps, lost } => {
                let whole = [&compute_secs, &upload_secs, &mbps].iter().all(|list| list.len() == DEVICES);
                if !whole || !lost.is_empty() {
                    return None;
                }
                let expected_secs = expected.next()?;
                rounds.push(Seen { round_secs, expected_secs, compute_secs, upload_secs, mbps });
            }
            Record::Other => {}
        }
    }
    Some((of_model?, rounds))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDS: &str = concat!(
        "{\"type\":\"header\",\"parameters\":290826,\"bandwidth_mbps\":20.0}\n",
        "{\"type\":\"round\",\"round\":1,\"round_secs\":5.5,\"cohort\":[0,1,2,3,4],\"mbps\":[4,4,4,4,4],",
        "\"compute_secs\":[1,1,1,1,2],\"upload_secs\":[3,3,3,3,2.5],\"train_loss\":0.5}\n",
        "{\"type\":\"end\",\"rounds\":1}\n",
    );
    const LOG: &str = "{\"message\":\"the band is divided\",\"round\":1,\"expected_secs\":5.25}\n{}\n";

    #[test]
    fn rounds_are_read_from_records_and_log() {
        let (parameters, rounds) = read(RECORDS, LOG).unwrap();
        assert_eq!((parameters, rounds.len()), (290_826.0, 1));
        assert_eq!((rounds[0].round_secs, rounds[0].expected_secs), (5.5, 5.25));
        assert_eq!(rounds[0].spread_secs(), 0.5);
        assert_eq!(rounds[0].framing(2.0), 5.8);
        assert!(read(&RECORDS.replace("[4,4,4,4,4]", "[4]"), LOG).is_none(), "somebody is missing");
        assert!(read(&RECORDS.replace("\"train", "\"lost\":[0],\"train"), LOG).is_none(), "somebody is lost");
    }
}
