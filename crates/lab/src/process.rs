//! Running a program: printed before it starts, never by way of a shell, checked when it ends.

use std::env;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use crate::error::LabError;

/// A command at `root`, with nothing to read, so that a question asked by a program ends it instead of hanging an
/// unattended run.
pub(crate) fn command(root: &Path, program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root).stdin(Stdio::null());
    // Cargo describes this package in the environment. Passed on, that would make ring's build script run again,
    // and all that is built on it, whenever measurements and a person's own commands take turns.
    for (name, _) in env::vars_os() {
        if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command
}

/// Prints the command, runs it with its output in plain view, and fails if it fails.
pub(crate) fn run(command: &mut Command) -> Result<(), LabError> {
    println!("   $ {}", shown(command));
    let ended = command.status().map_err(|source| cannot_start(command, source))?;
    check(&shown(command), ended)
}

/// Runs the command and returns what it printed to its standard output.
pub(crate) fn output(command: &mut Command) -> Result<String, LabError> {
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|source| cannot_start(command, source))?;
    check(&shown(command), output.status)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

pub(crate) fn check(shown: &str, ended: ExitStatus) -> Result<(), LabError> {
    if ended.success() {
        return Ok(());
    }
    Err(LabError::Command { command: shown.to_owned(), ended })
}

pub(crate) fn cannot_start(command: &Command, source: std::io::Error) -> LabError {
    LabError::Start { command: shown(command), source }
}

/// The command in a form that can be pasted into a terminal.
pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

/// The word as a POSIX shell needs it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_command_can_be_pasted() {
        let mut command = command(Path::new("."), "echo");
        assert_eq!(shown(command.args(["it's", "a=1"])), r"echo 'it'\''s' a=1");
    }

    #[test]
    fn a_failure_names_the_command() {
        let error = output(command(Path::new("."), "cargo").args(["no-such-subcommand", "--quiet"]));
        assert!(error.unwrap_err().to_string().contains("`cargo no-such-subcommand --quiet`"));
        let error = run(&mut command(Path::new("."), "no-such-program-of-ours"));
        assert!(matches!(error, Err(LabError::Start { .. })));
    }
}
