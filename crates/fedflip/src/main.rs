//! `fedflip`: federated learning in which every device flips its own coin.
//!
//! # Layout
//!
//! - `args`: what may be typed, with help and examples.
//! - `settings`: args turned into checked values: files read, units and constants in range.
//! - `commands`: one file a command; takes settings, returns what to print.
//! - `render`: tables, numbers and histograms for people.
//! - `error`: refusals with a hint, and exit codes.
//!
//! This crate is the only one that prints, reads files and looks at the clock.

mod args;
mod commands;
mod error;
mod progress;
mod render;
mod settings;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use crate::args::Args;
use crate::error::CliError;

fn main() -> ExitCode {
    let args = Args::parse();
    let mut output = std::io::BufWriter::new(std::io::stdout().lock());
    let result = commands::run(args, &mut output).and_then(|()| output.flush().map_err(CliError::Output));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads the output has seen enough: `fedflip plan … | head` is not an error.
        Err(CliError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            // What was written before the refusal would only confuse.
            drop(output);
            eprintln!("error: {error}");
            if let Some(hint) = error.hint() {
                eprintln!("  hint: {hint}");
            }
            error.exit_code().into()
        }
    }
}
