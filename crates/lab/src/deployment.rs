//! A server under test: started on a scenario of its own, and its records read afterwards.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::background::Background;
use crate::bench::Bench;
use crate::error::LabError;
use crate::files::{self, json_lines};
use crate::process;

/// Starts a server that listens at `host:port` and runs the synthetic task with these settings, with everything in
/// `folder`: `certs`, `run` and `server.log`. The command is the program itself, wherever it is to run.
pub(crate) fn serve(
    bench: &Bench,
    folder: &Path,
    serve: &mut Command,
    (host, port): (&str, u16),
    settings: &[String],
) -> Result<Background, LabError> {
    files::create_folder(folder)?;
    let at = |name: &str| folder.join(name).display().to_string();
    let mut certs = bench.fedflip();
    process::output(certs.args(["certs", "init", "--dir", &at("certs"), "--host", host]))?;
    let scenario =
        process::output(bench.fedflip().args(["scenario", "new", "synthetic", "--preset", "paper"]))?;
    files::write(&folder.join("scenario.toml"), &scenario)?;
    serve.args(["serve", &at("scenario.toml"), "--out", &at("run"), "--certs", &at("certs")]);
    serve.args(["--listen", &format!("{host}:{port}"), "--replan-every", "0", "--log", "json"]);
    // Nothing but the number of rounds ends the run, and nobody waits for an evaluation.
    let always =
        ["fleet.types=[\"xiaomi-12s\"]", "stop.target_accuracy=0.999", "record.evaluate_every=1000000"];
    for setting in settings.iter().map(String::as_str).chain(always) {
        serve.args(["--set", setting]);
    }
    println!("   $ {}", process::shown(serve));
    Background::start(serve, &folder.join("server.log"))
}

/// What a deployed run left behind, as far as it matters here.
#[derive(Debug, Default)]
pub(crate) struct Records {
    /// The number of parameters of the model.
    pub(crate) parameters: f64,
    pub(crate) rounds: Vec<Round>,
    /// The length of the run.
    pub(crate) secs: f64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Round {
    pub(crate) cohort: Vec<usize>,
    pub(crate) round_secs: f64,
    /// By device of the cohort, and missing where there is none: from the grant to the first byte …
    #[serde(default)]
    pub(crate) compute_secs: Vec<f64>,
    /// … from there to the last …
    #[serde(default)]
    pub(crate) upload_secs: Vec<f64>,
    /// … at this rate in Mbit/s.
    pub(crate) mbps: Vec<f64>,
    #[serde(default)]
    lost: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    Header {
        parameters: f64,
    },
    Round(Round),
    End {
        secs: f64,
    },
    #[serde(other)]
    Other,
}

impl Records {
    /// The records of a run that committed as many rounds and lost no update.
    pub(crate) fn of_run(folder: &Path, rounds: usize) -> Result<Self, LabError> {
        Self::parse(&files::read(&folder.join("run/records.jsonl"))?, rounds)
    }

    pub(crate) fn parse(text: &str, rounds: usize) -> Result<Self, LabError> {
        let mut records = Self::default();
        for line in json_lines(text) {
            match line {
                Line::Header { parameters } => records.parameters = parameters,
                Line::Round(round) => records.rounds.push(round),
                Line::End { secs } => records.secs = secs,
                Line::Other => {}
            }
        }
        let lost: usize = records.rounds.iter().map(|round| round.lost.len()).sum();
        if records.rounds.len() != rounds || lost > 0 {
            return Err(LabError::Broken(format!(
                "{} of {rounds} rounds were committed; {lost} updates were lost",
                records.rounds.len()
            )));
        }
        Ok(records)
    }

    pub(crate) fn updates(&self) -> usize {
        self.rounds.iter().map(|round| round.cohort.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_round_and_a_lost_update_are_found() {
        let round = "{\"type\":\"round\",\"round\":1,\"round_secs\":5.5,\"cohort\":[0,3],\"mbps\":[4,4],\
                     \"compute_secs\":[1,1],\"upload_secs\":[3,2.5],\"train_loss\":0.5}\n";
        let text = format!(
            "{{\"type\":\"header\",\"parameters\":7}}\n{round}{round}{{\"type\":\"end\",\"secs\":1.5}}\n"
        );
        let records = Records::parse(&text, 2).unwrap();
        assert_eq!((records.parameters, records.updates(), records.secs), (7.0, 4, 1.5));
        assert!(Records::parse(&text, 3).is_err());
        let lost = text.replacen("\"train_loss\"", "\"lost\":[{\"device\":3}],\"train_loss\"", 1);
        assert!(Records::parse(&lost, 2).unwrap_err().to_string().contains("1 updates were lost"));
    }
}
