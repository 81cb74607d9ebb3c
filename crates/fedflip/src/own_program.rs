//! How this command line is started again, in a process of its own.

use std::ffi::OsString;
use std::io;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The words that start this command line, where the executable of the process is another program, such as Python.
static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Says how this command line is started. The first call counts.
pub(crate) fn set(words: Vec<OsString>) {
    let _ = WORDS.set(words);
}

/// This command line without arguments, and with nothing to read.
pub(crate) fn command() -> io::Result<Command> {
    let mut command = match WORDS.get().and_then(|words| words.split_first()) {
        Some((program, words)) => {
            let mut command = Command::new(program);
            command.args(words);
            command
        }
        None => Command::new(std::env::current_exe()?),
    };
    command.stdin(Stdio::null());
    Ok(command)
}
