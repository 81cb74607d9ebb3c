//! `fedflip`: federated learning in which every device flips its own coin.
//!
//! # Layout
//!
//! - `args`: what may be typed, with help and examples.
//! - `settings`: args turned into checked values: files read, units and constants in range; `costs`: those of a round.
//! - `training`: what the commands that train share; `bar`, `eta`, `dashboard`: how people watch runs; `interrupt`:
//!   Ctrl-C and the clock.
//! - `commands`: one file a command: settings in, text or JSON out.
//! - `progress`: a word on what takes long, on standard error.
//! - `render`: tables and histograms for people; `sparkline`: curves one line high.
//! - `files`: files that a user names.
//! - `error`: errors and exit codes; `advice`: errors of libraries in the words of the command line.
//!
//! This crate is the only one that prints and looks at the clock.

mod advice;
mod args;
mod bar;
mod commands;
mod costs;
mod dashboard;
mod error;
mod eta;
mod files;
mod interrupt;
mod progress;
mod render;
mod settings;
mod sparkline;
mod training;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use fedflip_fleet::printable::printable_lines;

use crate::args::Args;
use crate::error::{CliError, ExitStatus};

fn main() -> ExitCode {
    let words = match completed(std::env::args_os().collect()) {
        Ok(words) => words,
        Err(error) => return print_error(&error),
    };
    let args = match Args::try_parse_from(words) {
        Ok(args) => args,
        Err(answer) => return print_answer(&answer),
    };
    let mut output = std::io::BufWriter::new(std::io::stdout().lock());
    let result = commands::run(args, &mut output)
        .and_then(|status| output.flush().map(|()| status).map_err(CliError::Output));
    match result {
        Ok(status) => status.into(),
        // Whoever reads the output has seen enough: `fedflip plan … | head` is not an error.
        Err(CliError::Output(error)) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // What was written before the refusal would only confuse: it is dropped, not flushed.
            let _ = output.into_parts();
            print_error(&error)
        }
    }
}

/// The words of the command line; `join` takes more from its file and from the environment.
fn completed(mut words: Vec<OsString>) -> Result<Vec<OsString>, CliError> {
    let command = Args::command();
    match command.find_subcommand("join") {
        Some(join) if words.get(1).is_some_and(|word| word == join.get_name()) => {
            let own = words.split_off(1);
            words.extend(fedflip_agent::config::complete(join, own, |name| std::env::var_os(name))?);
            Ok(words)
        }
        _ => Ok(words),
    }
}

fn print_error(error: &CliError) -> ExitCode {
    let hint = error.hint().map_or(String::new(), |hint| format!("\n  hint: {hint}"));
    // Where standard error is closed too, the exit code is all there is to say.
    // It may quote a file that somebody else made.
    let message = format!("error: {error}{hint}");
    let _ = writeln!(std::io::stderr(), "{}", printable_lines(&message));
    error.exit_code().into()
}

/// Help, version, or what is wrong with the arguments.
fn print_answer(answer: &clap::Error) -> ExitCode {
    match answer.print() {
        Err(error) if !is_broken_pipe(&error) => ExitStatus::Failed.into(),
        _ if answer.use_stderr() => ExitStatus::BadInput.into(),
        _ => ExitCode::SUCCESS,
    }
}

fn is_broken_pipe(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::BrokenPipe
}
