//! `bench-peers`: fedflip and PyTorch timed in turn on the same work, one client per core, so that a busy moment hits
//! both.

mod report;

use std::num::NonZero;
use std::process::Command;
use std::thread::available_parallelism;

use serde_json::Value;

use crate::bench::Bench;
use crate::error::LabError;
use crate::process;
use report::{Report, Row};

const PEER: &str = "crates/lab/peers/torch_peer.py";
/// Names a Python in which PyTorch can be imported.
const TORCH_PYTHON: &str = "FEDFLIP_TORCH_PYTHON";
/// As `fedflip bench` names them.
const MODELS: [&str; 4] = ["mnist-cnn", "mnist-cnn-wide", "cifar10-mobilenet", "shakespeare-lstm"];
/// Images go through the other models, and only images have two layouts in memory.
const WITHOUT_IMAGES: [&str; 1] = ["shakespeare-lstm"];

/// What to time, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Check that it works, not how fast it is: one short repetition.
    #[arg(long)]
    quick: bool,
    /// Time only this model; may be given several times.
    #[arg(long = "model", value_name = "NAME", value_parser = MODELS)]
    models: Vec<String>,
    /// Use this Python for PyTorch; by default FEDFLIP_TORCH_PYTHON, else python3.
    #[arg(long)]
    python: Option<String>,
    /// Train as many clients at a time; by default one per core.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=4096))]
    threads: Option<u16>,
    /// Take at least as many seconds for each measurement (default 5).
    #[arg(long, value_parser = seconds)]
    secs: Option<f64>,
    /// Repeat each measurement so often (default 5).
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1000))]
    repetitions: Option<u16>,
}

fn seconds(text: &str) -> Result<f64, String> {
    let secs = text.parse().ok().filter(|secs| (0.01..=3600.0).contains(secs));
    secs.ok_or_else(|| "must be between 0.01 and 3600".to_owned())
}

/// The work that both sides are given.
struct Work {
    threads: String,
    secs: f64,
    python: String,
}

pub(crate) fn run(bench: &Bench, options: &Options) -> Result<(), LabError> {
    let work = Work::of(options);
    bench.build(&[])?;
    let torch = torch_version(bench, &work.python);
    if torch.is_none() {
        eprintln!(
            "PyTorch is left out, because `{python}` cannot import it: install it with `{python} -m pip install \
             torch`, or name another Python with --python or {TORCH_PYTHON}.",
            python = work.python
        );
    }
    let all = MODELS.map(str::to_owned);
    let models = if options.models.is_empty() { &all[..] } else { &options.models };
    let mut rows: Vec<Row> = models.iter().map(|model| Row::new(model)).collect();
    let repetitions = options.repetitions.unwrap_or(if options.quick { 1 } else { 5 });
    for repetition in 1..=repetitions {
        for row in &mut rows {
            eprintln!("{repetition}/{repetitions}: {}", row.model);
            row.fedflip.push(rate(&mut work.fedflip(bench, &row.model))?);
            if torch.is_some() {
                row.torch.push(rate(&mut work.peer(bench, &row.model, false))?);
                if !WITHOUT_IMAGES.contains(&row.model.as_str()) {
                    row.torch_channels_last.push(rate(&mut work.peer(bench, &row.model, true))?);
                }
            }
        }
    }
    let fedflip = process::output(bench.fedflip().arg("--version"))?.trim().to_owned();
    let report = Report { threads: work.threads, secs: work.secs, fedflip, torch, rows };
    if options.json {
        println!("{}", report.json());
    } else {
        print!("{}", report.table());
    }
    Ok(())
}

impl Work {
    fn of(options: &Options) -> Self {
        let cores = || available_parallelism().map_or(1, NonZero::get).to_string();
        let named = || std::env::var(TORCH_PYTHON).ok().filter(|python| !python.is_empty());
        Self {
            threads: options.threads.map_or_else(cores, |threads| threads.to_string()),
            secs: options.secs.unwrap_or(if options.quick { 0.05 } else { 5.0 }),
            python: options.python.clone().or_else(named).unwrap_or_else(|| "python3".to_owned()),
        }
    }

    fn fedflip(&self, bench: &Bench, model: &str) -> Command {
        let mut command = bench.fedflip();
        command.args(["bench", "--json", "--model", model, "--threads", &self.threads]);
        command.args(["--secs", &self.secs.to_string()]);
        command
    }

    fn peer(&self, bench: &Bench, model: &str, channels_last: bool) -> Command {
        let mut command = bench.command(&self.python);
        command.args([PEER, "--model", model, "--processes", &self.threads]);
        command.args(["--secs", &self.secs.to_string()]).args(channels_last.then_some("--channels-last"));
        command
    }
}

/// The version of PyTorch, if this Python has it.
fn torch_version(bench: &Bench, python: &str) -> Option<String> {
    let code = "import torch; print(torch.__version__)";
    let asked = bench.command(python).args(["-c", code]).output().ok()?;
    let version = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
    (asked.status.success() && !version.is_empty()).then_some(version)
}

/// The client updates per second that the command prints: PyTorch's for one model, fedflip's in a list of one.
fn rate(command: &mut Command) -> Result<f64, LabError> {
    let printed = process::output(command)?;
    let answer: Value = serde_json::from_str(&printed).unwrap_or_default();
    let model = answer.get("models").map_or(&answer, |models| &models[0]);
    let rate = model["client_updates_per_sec"].as_f64();
    rate.filter(|rate| rate.is_finite() && *rate > 0.0).ok_or_else(|| {
        let shown = process::shown(command);
        LabError::Answer(format!("`{shown}` printed no `client_updates_per_sec`, but: {}", printed.trim()))
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn parse(line: &str) -> Result<Options, clap::Error> {
        Line::try_parse_from(format!("lab {line}").split_whitespace()).map(|line| line.options)
    }

    #[test]
    fn both_sides_are_asked_for_the_same_work() {
        let (bench, work) = (Bench::new(None), Work::of(&parse("--quick --threads 3 --python py").unwrap()));
        let ours = process::shown(&work.fedflip(&bench, "mnist-cnn"));
        let theirs = process::shown(&work.peer(&bench, "mnist-cnn", true));
        assert!(ours.ends_with("fedflip bench --json --model mnist-cnn --threads 3 --secs 0.05"), "{ours}");
        assert!(theirs.ends_with("--model mnist-cnn --processes 3 --secs 0.05 --channels-last"), "{theirs}");
        assert!(bench.path(PEER).is_file() && WITHOUT_IMAGES.iter().all(|model| MODELS.contains(model)));
    }

    #[test]
    fn what_cannot_be_measured_is_refused_with_its_name() {
        for line in ["--modle x", "--model x", "--threads 0", "--secs nan", "--repetitions 1001", "quick"] {
            let message = parse(line).unwrap_err().to_string();
            let word = line.split_whitespace().last().unwrap_or_default();
            assert!(message.contains(word) || message.contains("--modle"), "{message}");
        }
        assert_eq!(parse("--model shakespeare-lstm --model=mnist-cnn").unwrap().models.len(), 2);
    }

    #[test]
    fn a_python_without_torch_has_no_version() {
        assert_eq!(torch_version(&Bench::new(None), "no-such-python-of-ours"), None);
    }

    #[test]
    fn an_answer_without_a_rate_is_an_error_that_quotes_it() {
        let error = rate(&mut Bench::new(None).line("cargo --version")).unwrap_err().to_string();
        assert!(error.contains("client_updates_per_sec") && error.contains("cargo 1."), "{error}");
    }
}
