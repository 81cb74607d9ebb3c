//! Experiments and measurements on the `fedflip` binary: what docs/results.md and the README claim, made again.
//!
//! The program under test is run as a user runs it, as a process of its own. `cargo xtask` passes the commands on,
//! so that both `cargo xtask load` and `cargo run --release --package fedflip-lab -- load` work.
//!
//! # Layout
//!
//! - [`experiments`]: the paper's evaluation and what goes beyond it, run, checked and archived.
//! - [`convert`]: run folders of earlier programs, made readable for this one.
//! - [`speed`]: the times and the memory that the page on performance promises.
//! - [`load`]: many devices at one server.
//! - [`band`]: rounds on a real shared link, against what the model says of them.
//! - [`deployment`]: a server under test, for both of them.
//! - [`peers`]: PyTorch on the same work.
//! - [`mod@bench`]: the work tree and the programs under test; [`process`], [`background`]: running them;
//!   [`files`], [`clock`], [`stats`]: small helpers.
//! - [`error`]: what can go wrong, and the exit codes.

mod background;
mod band;
mod bench;
mod clock;
mod convert;
mod deployment;
mod error;
mod experiments;
mod files;
mod load;
mod peers;
mod process;
mod speed;
mod stats;

use std::path::PathBuf;
use std::process::ExitCode;

use bench::Bench;
use clap::{Parser, Subcommand};
use error::LabError;

/// Run experiments and measurements on the fedflip binary.
#[derive(Debug, Parser)]
#[command(name = "fedflip-lab", version)]
struct Cli {
    /// Use the programs in this folder instead of building the release ones.
    #[arg(long, global = true, value_name = "FOLDER")]
    built: Option<PathBuf>,
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Run, check and archive the experiments behind docs/results.md.
    Experiments(experiments::Options),
    /// Convert run folders and archives of format version 1 to version 3, in place.
    Convert(convert::Options),
    /// Measure the speed and memory that the page on performance promises.
    Speed(Length),
    /// Measure rounds with 1,000 devices and the memory of 10,000 idle ones.
    Load(Length),
    /// Compare rounds of five devices on a real shared link with the model.
    Band(Length),
    /// Time client updates per second of fedflip and PyTorch in turn.
    BenchPeers(peers::Options),
    #[command(name = band::network::CLEANER, hide = true)]
    BandClean { owner: u32 },
}

#[derive(Debug, clap::Args)]
struct Length {
    /// Take seconds instead of minutes, with wider margins, as `cargo xtask test` does.
    #[arg(long)]
    short: bool,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.task.run(&Bench::new(cli.built)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fedflip-lab: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

impl Task {
    fn run(&self, bench: &Bench) -> Result<(), LabError> {
        match self {
            Self::Experiments(options) => experiments::run(bench, options),
            Self::Convert(options) => convert::run(options),
            Self::Speed(length) => speed::run(bench, length.of(1.0, speed::SHORT_SLACK)),
            Self::Load(length) => load::run(bench, length.of(load::FULL, load::SHORT)),
            Self::Band(length) => band::run(bench, &length.of(band::FULL, band::SHORT)),
            Self::BenchPeers(options) => peers::run(bench, options),
            Self::BandClean { owner } => {
                band::network::clean_up_after(bench, *owner);
                Ok(())
            }
        }
    }
}

impl Length {
    fn of<T>(&self, full: T, short: T) -> T {
        if self.short { short } else { full }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn an_experiment_is_listed_or_run_in_one_form() {
        let accepted =
            |line: &str| Cli::try_parse_from(format!("lab experiments {line}").split_whitespace()).is_ok();
        for right in ["--list", "--run a", "--quick --run a --run b", "--run a --as-is"] {
            assert!(accepted(right), "{right}");
        }
        for wrong in
            ["", "--run", "--quick", "--list --quick", "--list --run a", "table1", "--run a --quick --as-is"]
        {
            assert!(!accepted(wrong), "{wrong}");
        }
    }
}
