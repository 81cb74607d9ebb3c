//! The command line of fedflip as a library: [`run`] is what the program `fedflip` does with its arguments.
//!
//! The Python package has the same commands, so they are not locked inside a binary.
//!
//! # Layout
//!
//! - `args`: what may be typed, with help and examples.
//! - `settings`: args turned into checked values: files read, units and constants in range; `costs`: those of a round.
//! - `training`: what the commands that train share; `bar`, `eta`, `dashboard`: how people watch runs; `interrupt`:
//!   Ctrl-C and the clock; `crews`: workers of the host in the place of threads.
//! - [`planner`]: what `plan`, `bound` and `fleet show` find out and say, for other front ends too.
//! - `commands`: one file a command: settings in, text or JSON out.
//! - `own_program`: how this command line is started in another process.
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
mod crews;
pub mod dashboard;
mod error;
mod eta;
mod files;
mod interrupt;
mod own_program;
pub mod planner;
mod progress;
mod render;
mod settings;
mod sparkline;
mod training;

use clap::{CommandFactory, Parser};
use fedflip_fleet::printable::printable_lines;
use std::ffi::OsString;
use std::io::Write;

use crate::args::Args;
pub use crate::crews::{CrewRequest, MakeCrews};
use crate::error::{CliError, ExitStatus};

/// Does what the words of a command line ask for, as [`run`] does, in a process whose executable is another program.
/// The words of `program` start this command line: `demo` and `bench` run parts of their work in processes of their own.
/// `crews` makes the workers of `--crew`.
pub fn run_inside(program: Vec<OsString>, words: Vec<OsString>, crews: Box<MakeCrews>) -> u8 {
    own_program::set(program);
    crews::set(crews);
    run(words)
}

/// Does what the words of a command line ask for, the name of the program first, and returns the exit code.
pub fn run(words: Vec<OsString>) -> u8 {
    status(words) as u8
}

fn status(words: Vec<OsString>) -> ExitStatus {
    let words = match completed(words) {
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
        Ok(status) => status,
        // Whoever reads the output has seen enough: `fedflip plan … | head` is not an error.
        Err(CliError::Output(error)) if is_broken_pipe(&error) => ExitStatus::Done,
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

fn print_error(error: &CliError) -> ExitStatus {
    let hint = error.hint().map_or(String::new(), |hint| format!("\n  hint: {hint}"));
    // Where standard error is closed too, the exit code is all there is to say.
    // It may quote a file that somebody else made.
    let message = format!("error: {error}{hint}");
    let _ = writeln!(std::io::stderr(), "{}", printable_lines(&message));
    error.exit_code()
}

/// Help, version, or what is wrong with the arguments.
fn print_answer(answer: &clap::Error) -> ExitStatus {
    match answer.print() {
        Err(error) if !is_broken_pipe(&error) => ExitStatus::Failed,
        _ if answer.use_stderr() => ExitStatus::BadInput,
        _ => ExitStatus::Done,
    }
}

fn is_broken_pipe(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::BrokenPipe
}
