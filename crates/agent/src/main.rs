//! `fedflip-join` does the same as `fedflip join`, for devices that need nothing else.
//!
//! # Layout
//!
//! - here: from arguments to an exit code; everything else is the library's.

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use fedflip_agent::args::ProgramArgs;
use fedflip_agent::{JoinError, advice, config};

fn main() -> ExitCode {
    match join() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Where standard error is closed, the exit code is all there is to say.
            let (text, hint) = (advice::join_text(&error), advice::join_hint(&error));
            let _ = writeln!(std::io::stderr(), "error: {text}\n  hint: {hint}");
            ExitCode::from(if error.is_failure() { 1 } else { 2 })
        }
    }
}

fn join() -> Result<(), JoinError> {
    let words = std::env::args_os().collect();
    let command = ProgramArgs::command();
    let args = ProgramArgs::parse_from(config::complete(&command, words, |name| std::env::var_os(name))?);
    fedflip_agent::join(&args.join).map(drop)
}
