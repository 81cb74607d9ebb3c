//! A server and its devices on the shaped network, for some rounds; and what their rounds took.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use super::network::{Network, SERVER_ADDRESS};
use super::predict::Division;
use super::{DEVICES, Size};
use crate::background::Background;
use crate::bench::Bench;
use crate::deployment::{self, Records, Round};
use crate::error::LabError;
use crate::files::json_lines;
use crate::{clock, process};

/// From the start to the first grant: certificates, the first model, five devices that are timed.
const ENROL_SECS_MAX: f64 = 90.0;
const PORT: u16 = 7700;
/// In the line of the server's log that says how it divided the bandwidth.
const DIVIDED: &str = "\"expected_secs\":";

/// One round, as the server expected it and as it went.
#[derive(Debug)]
pub(super) struct Seen {
    /// T̂, by what the server knew when it divided the bandwidth.
    pub(super) expected_secs: f64,
    pub(super) round: Round,
}

impl Seen {
    /// Between the first device's last byte and the last one's.
    pub(super) fn spread_secs(&self) -> f64 {
        let Round { compute_secs, upload_secs, .. } = &self.round;
        let ends = || compute_secs.iter().zip(upload_secs).map(|(compute, upload)| compute + upload);
        ends().fold(f64::NEG_INFINITY, f64::max) - ends().fold(f64::INFINITY, f64::min)
    }

    /// How many bytes on the link the server counted for a byte of numbers.
    pub(super) fn framing(&self, payload_mbit: f64) -> f64 {
        let Round { upload_secs, mbps, .. } = &self.round;
        let mbit: f64 = upload_secs.iter().zip(mbps).map(|(secs, mbps)| secs * mbps).sum();
        mbit / (mbps.len() as f64 * payload_mbit)
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
    let program = bench.program("fedflip");
    let listen = (SERVER_ADDRESS, PORT);
    let mut at_server = network.at_server(&program);
    let mut server = deployment::serve(bench, folder, &mut at_server, listen, &settings(size, division))?;
    let mut certs = bench.fedflip();
    certs.args(["certs", "device", "--dir"]).arg(folder.join("certs"));
    process::output(certs.args((0..DEVICES).map(|device| format!("device-{device}"))))?;
    // A device that finds nobody tries again, so nobody has to wait for the server here.
    let mut agents = Vec::new();
    for (device, secs) in size.compute_secs.iter().enumerate() {
        let identity = folder.join(format!("certs/devices/device-{device}"));
        let mut join = network.at_device(device, &program);
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
    let records = Records::of_run(folder, size.rounds)?;
    let payload_mbit = 32e-6 * records.parameters;
    let rounds = seen(records, &server.printed())
        .ok_or_else(|| LabError::Answer(format!("{}: updates are missing", folder.display())))?;
    Ok(Trial { rounds, payload_mbit, wire_mbit })
}

fn settings(size: &Size, division: Division) -> [String; 6] {
    [
        format!("fleet.devices={DEVICES}"),
        format!("fleet.bandwidth_mbps={}", size.band_mbps),
        format!("task.hidden={}", size.hidden),
        format!("round.allocation={}", division.name()),
        format!("stop.rounds_max={}", size.rounds),
        "plan.scheme=full".to_owned(),
    ]
}

/// The line of the server's log for a round that begins.
#[derive(Deserialize)]
struct Divided {
    expected_secs: f64,
}

/// All rounds with what the server expected of them; none if a device is missing.
fn seen(records: Records, log: &str) -> Option<Vec<Seen>> {
    let expected: Vec<f64> = json_lines(log).map(|line: Divided| line.expected_secs).collect();
    let is_whole = |round: &Round| {
        [&round.compute_secs, &round.upload_secs, &round.mbps].iter().all(|list| list.len() == DEVICES)
    };
    if expected.len() < records.rounds.len() || !records.rounds.iter().all(is_whole) {
        return None;
    }
    let rounds = records.rounds.into_iter().zip(expected);
    Some(rounds.map(|(round, expected_secs)| Seen { expected_secs, round }).collect())
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
        let read = |records: &str| seen(Records::parse(records, 1).unwrap(), LOG);
        let rounds = read(RECORDS).unwrap();
        assert_eq!((rounds[0].round.round_secs, rounds[0].expected_secs), (5.5, 5.25));
        assert_eq!(rounds[0].spread_secs(), 0.5);
        assert_eq!(rounds[0].framing(2.0), 5.8);
        assert!(read(&RECORDS.replace("[4,4,4,4,4]", "[4]")).is_none(), "a device is missing");
        assert!(seen(Records::parse(RECORDS, 1).unwrap(), "{}").is_none(), "no line of the log");
    }
}
