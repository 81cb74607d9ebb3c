//! A server and its devices on the shaped network, for some rounds; and what their rounds took.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::network::{Network, SERVER_ADDRESS};
use super::predict::Division;
use super::{DEVICES, Form};
use crate::background::Background;
use crate::clock;
use crate::error::TaskError;
use crate::json::{number_after, numbers_after};
use crate::repo::Repo;
use crate::shell::Cmd;

/// From the start to the first grant: certificates, the first model, five devices that are timed.
const ENROL_SECS_MAX: f64 = 90.0;
const PORT: u16 = 7700;
/// When it divides the band, the server says so.
const DIVIDED: &str = "\"the band is divided\"";

/// One round, as it was planned and as it went.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) round_secs: f64,
    /// T̂, by what the server knew when it divided the band.
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

    /// What a byte of numbers was taken to load the band with.
    pub(super) fn framing(&self, payload_mbit: f64) -> f64 {
        let mbit: f64 = self.upload_secs.iter().zip(&self.mbps).map(|(secs, mbps)| secs * mbps).sum();
        mbit / (self.mbps.len() as f64 * payload_mbit)
    }
}

/// All rounds, and what the band carried.
pub(super) struct Trial {
    pub(super) rounds: Vec<Seen>,
    /// Of the model.
    pub(super) payload_mbit: f64,
    /// What the last round's uploads were on the wire, by the counter of the band.
    pub(super) wire_mbit: f64,
}

/// Runs it in a folder of its own.
pub(super) fn run(
    repo: &Repo,
    network: &Network<'_>,
    program: &str,
    folder: &Path,
    (form, division): (&Form, Division),
) -> Result<Trial, TaskError> {
    fs::create_dir_all(folder).map_err(|source| TaskError::File { path: folder.to_path_buf(), source })?;
    let at = |name: &str| folder.join(name).display().to_string();
    make_certificates(repo, program, &at("certs"))?;
    let scenario = folder.join("scenario.toml");
    let text = Cmd::new(program).args(["scenario", "new", "synthetic"]).output(repo)?;
    fs::write(&scenario, text).map_err(|source| TaskError::File { path: scenario.clone(), source })?;

    let serve = network.at_server(program).arg("serve").arg(at("scenario.toml"));
    let serve = serve.args(["--out", &at("run"), "--certs", &at("certs"), "--log", "json"]);
    let serve = serve.args(["--listen", &format!("{SERVER_ADDRESS}:{PORT}"), "--scheme", "full"]);
    let serve = settings(form, division).iter().fold(serve, |serve, set| serve.args(["--set", set]));
    let serve = serve.args(["--replan-every", "0"]);
    println!("   $ {serve}");
    let mut server = Background::start(repo, serve, &folder.join("server.log"))?;
    // A device that finds nobody tries again, so nobody has to wait for the server here.
    let mut agents = Vec::new();
    for (device, secs) in form.compute_secs.iter().enumerate() {
        let join = network.at_device(device, program).args(["join", &format!("{SERVER_ADDRESS}:{PORT}")]);
        let join = join.args(["--identity", &at(&format!("certs/devices/device-{device}"))]);
        let join = join.args(["--compute-secs", &secs.to_string()]);
        agents.push(Background::start(repo, join, &folder.join(format!("device-{device}.log")))?);
    }

    // In the last round no device fetches the next model: what passes the band is its uploads alone, once the
    // fetching of its own model is over, and nobody sends yet.
    server.wait_for(ENROL_SECS_MAX, "first round", |said| said.contains(DIVIDED).then_some(()))?;
    let patience_secs = ENROL_SECS_MAX + 10.0 * form.rounds as f64;
    let last = |said: &str| (said.matches(DIVIDED).count() >= form.rounds).then_some(());
    server.wait_for(patience_secs, "last round", last)?;
    clock::pause(Duration::from_secs_f64(
        0.7 * form.compute_secs.iter().fold(f64::INFINITY, |a, &b| a.min(b)),
    ));
    let before = network.band_bytes()?;
    server.finish(patience_secs)?;
    let wire_mbit = 8e-6 * (network.band_bytes()? - before);
    for agent in &mut agents {
        agent.finish(10.0)?;
    }
    let records = folder.join("run/records.jsonl");
    let records = fs::read_to_string(&records).map_err(|source| TaskError::File { path: records, source })?;
    let (parameters, rounds) = read(&records, &server.said())
        .filter(|(_, rounds)| rounds.len() == form.rounds)
        .ok_or_else(|| TaskError::Answer(format!("{}: not the rounds that were to be", folder.display())))?;
    Ok(Trial { rounds, payload_mbit: 32e-6 * parameters, wire_mbit })
}

fn make_certificates(repo: &Repo, program: &str, folder: &str) -> Result<(), TaskError> {
    let certs = |what: &str| Cmd::new(program).args(["certs", what, "--dir", folder]);
    certs("init").args(["--host", SERVER_ADDRESS]).output(repo)?;
    certs("device").args((0..DEVICES).map(|device| format!("device-{device}"))).output(repo)?;
    Ok(())
}

fn settings(form: &Form, division: Division) -> Vec<String> {
    vec![
        format!("fleet.devices={DEVICES}"),
        "fleet.types=[\"xiaomi-12s\"]".to_owned(),
        format!("fleet.bandwidth_mbps={}", form.band_mbps),
        format!("task.hidden={}", form.hidden),
        format!("round.allocation={}", division.name()),
        format!("stop.rounds_max={}", form.rounds),
        "stop.target_accuracy=0.999".to_owned(),
        "record.evaluate_every=1000".to_owned(),
    ]
}

/// The number of parameters and all rounds, from the records and the server's log.
fn read(records: &str, log: &str) -> Option<(f64, Vec<Seen>)> {
    let parameters = number_after(records.lines().next()?, "parameters")?;
    let planned = log.lines().filter(|line| line.contains(DIVIDED));
    let expected: Vec<f64> = planned.filter_map(|line| number_after(line, "expected_secs")).collect();
    let lines = records.lines().filter(|line| line.starts_with("{\"type\":\"round\""));
    let rounds = lines.zip(expected).map(|(line, expected_secs)| {
        let seen = Seen {
            round_secs: number_after(line, "round_secs")?,
            expected_secs,
            compute_secs: numbers_after(line, "compute_secs")?,
            upload_secs: numbers_after(line, "upload_secs")?,
            mbps: numbers_after(line, "mbps")?,
        };
        let whole =
            [&seen.compute_secs, &seen.upload_secs, &seen.mbps].iter().all(|list| list.len() == DEVICES);
        (whole && !line.contains("\"lost\"")).then_some(seen)
    });
    Some((parameters, rounds.collect::<Option<_>>()?))
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
        assert!(read(&RECORDS.replace("train", "lost\":[0],\""), LOG).is_none(), "somebody is lost");
    }
}
