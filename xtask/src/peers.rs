//! `cargo xtask bench-peers`: fedflip and PyTorch timed in turn on the same work, one client per core, so
//! that a busy moment hits both.

mod options;
mod report;

use std::env::consts::EXE_SUFFIX;

use crate::error::TaskError;
use crate::json::number_after;
use crate::repo::Repo;
use crate::shell::Cmd;
use options::Options;
use report::{Report, Row};

const PEER: &str = "xtask/peers/torch_peer.py";
/// As `fedflip bench` names them, and whether images go through them: only those have two layouts.
const MODELS: [(&str, bool); 4] =
    [("mnist-cnn", true), ("mnist-cnn-wide", true), ("cifar10-mobilenet", true), ("shakespeare-lstm", false)];

pub(crate) fn run(repo: &Repo, args: &[String]) -> Result<(), TaskError> {
    let options = Options::parse(args)?;
    Cmd::words("cargo build --locked --release --package fedflip").output(repo)?;
    let program = repo.target().join("release").join(format!("fedflip{EXE_SUFFIX}")).display().to_string();
    let torch = torch_version(repo, &options.python);
    if torch.is_none() {
        eprintln!(
            "PyTorch is left out, because `{python}` cannot import it: install it with `{python} -m pip install \
             torch`, or name another Python with --python or FEDFLIP_TORCH_PYTHON.",
            python = options.python
        );
    }

    let mut rows: Vec<Row> = options.models.iter().map(|&model| Row { model, ..Row::default() }).collect();
    for repetition in 1..=options.repetitions {
        for row in &mut rows {
            eprintln!("{repetition}/{}: {}", options.repetitions, row.model);
            row.fedflip.push(rate(repo, &fedflip(&program, row.model, &options))?);
            if torch.is_some() {
                row.torch.push(rate(repo, &peer(row.model, false, &options))?);
                if MODELS.contains(&(row.model, true)) {
                    row.torch_channels_last.push(rate(repo, &peer(row.model, true, &options))?);
                }
            }
        }
    }
    let fedflip = Cmd::new(&program).arg("--version").output(repo)?.trim().to_owned();
    let report = Report { threads: options.threads, secs: options.secs, fedflip, torch, rows };
    if options.json {
        println!("{}", report.json());
    } else {
        print!("{}", report.table());
    }
    Ok(())
}

/// What PyTorch calls itself, if this Python has it.
fn torch_version(repo: &Repo, python: &str) -> Option<String> {
    let code = "import torch; print(torch.__version__)";
    let asked = Cmd::new(python).args(["-c", code]).prepare(repo).output().ok()?;
    let version = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
    (asked.status.success() && !version.is_empty()).then_some(version)
}

fn fedflip(program: &str, model: &str, options: &Options) -> Cmd {
    Cmd::new(program).args(["bench", "--json", "--model", model]).args([
        "--threads",
        &options.threads.to_string(),
        "--secs",
        &options.secs.to_string(),
    ])
}

fn peer(model: &str, channels_last: bool, options: &Options) -> Cmd {
    Cmd::new(&options.python)
        .args([PEER, "--model", model])
        .args(["--processes", &options.threads.to_string(), "--secs", &options.secs.to_string()])
        .args(channels_last.then_some("--channels-last"))
}

/// The client updates per second that the command prints.
fn rate(repo: &Repo, cmd: &Cmd) -> Result<f64, TaskError> {
    let printed = cmd.output(repo)?;
    let rate = number_after(&printed, "client_updates_per_sec");
    rate.filter(|rate| rate.is_finite() && *rate > 0.0).ok_or_else(|| {
        TaskError::Answer(format!("`{cmd}` printed no `client_updates_per_sec`, but: {}", printed.trim()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_are_asked_for_the_same_work() {
        let options = Options::parse(&["--quick".to_owned()]).unwrap();
        let ours = fedflip("fedflip", "mnist-cnn", &options).to_string();
        let theirs = peer("mnist-cnn", true, &options).to_string();
        let load = format!("{} --secs {}", options.threads, options.secs);
        assert_eq!(ours, format!("fedflip bench --json --model mnist-cnn --threads {load}"));
        assert!(
            theirs.ends_with(&format!("--model mnist-cnn --processes {load} --channels-last")),
            "{theirs}"
        );
        assert!(Repo::here().path(PEER).is_file());
    }

    #[test]
    fn a_python_without_torch_has_no_version() {
        assert_eq!(torch_version(&Repo::here(), "no-such-python-of-ours"), None);
    }

    #[test]
    fn an_answer_without_a_rate_is_an_error_that_quotes_it() {
        let error = rate(&Repo::here(), &Cmd::words("cargo --version")).unwrap_err().to_string();
        assert!(error.contains("client_updates_per_sec") && error.contains("cargo 1."), "{error}");
    }
}
