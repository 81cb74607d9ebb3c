//! Running a program: said before it starts, never by way of a shell, checked when it ends.

use std::env;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::error::TaskError;
use crate::repo::Repo;

/// A program with its arguments, printable in a form that can be pasted into a terminal.
#[derive(Debug, Clone)]
pub(crate) struct Cmd {
    program: String,
    args: Vec<String>,
    envs: Vec<(String, String)>,
    /// Where it runs, if not at the root of the work tree.
    folder: Option<PathBuf>,
    /// Programs that come before all others.
    programs: Option<PathBuf>,
}

impl Cmd {
    pub(crate) fn new(program: impl Into<String>) -> Self {
        Self { program: program.into(), args: Vec::new(), envs: Vec::new(), folder: None, programs: None }
    }

    /// A command from words; for the many that need no quoting.
    pub(crate) fn words(line: &str) -> Self {
        let mut words = line.split_whitespace();
        Self::new(words.next().unwrap_or_default()).args(words)
    }

    pub(crate) fn arg(self, arg: impl Into<String>) -> Self {
        self.args([arg])
    }

    pub(crate) fn args<A: Into<String>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.envs.push((name.to_owned(), value.into()));
        self
    }

    /// Runs it in another folder.
    pub(crate) fn inside(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_path_buf());
        self
    }

    /// Finds the programs of a folder before all others.
    pub(crate) fn with_programs_in(mut self, folder: &Path) -> Self {
        self.programs = Some(folder.to_path_buf());
        self
    }

    /// The standard library's form, set up as every child is: at the root of the work tree, with
    /// the pinned tools first on the path, and with nothing to read, so that a question asked by
    /// a tool ends it instead of hanging an unattended run.
    pub(crate) fn prepare(&self, repo: &Repo) -> Command {
        let mut command = Command::new(&self.program);
        let others = repo.search_path();
        let folders = self.programs.clone().into_iter().chain(env::split_paths(&others));
        command
            .args(&self.args)
            .current_dir(self.folder.as_deref().unwrap_or(repo.root()))
            .env("PATH", env::join_paths(folders).unwrap_or_else(|_| others.clone()))
            .env("CARGO_TERM_COLOR", repo.colour())
            .envs(self.envs.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        // Cargo told us who we are. Passed on, it would make ring's build script run again, and all that is built
        // on it, whenever tasks and a person's own commands take turns.
        for (name, _) in env::vars_os() {
            let name = name.to_string_lossy();
            if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|about_us| name.starts_with(about_us)) {
                command.env_remove(&*name);
            }
        }
        command
    }

    /// Says the command, runs it with its output in plain view, and fails if it fails.
    pub(crate) fn run(&self, repo: &Repo) -> Result<(), TaskError> {
        println!("   $ {self}");
        let ended = self.prepare(repo).status().map_err(|source| self.cannot_start(source))?;
        self.check(ended)
    }

    /// Runs it in silence, and returns what it printed if it succeeded.
    pub(crate) fn output(&self, repo: &Repo) -> Result<String, TaskError> {
        let output = self.collect(repo)?;
        self.check(output.status)?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Says the command, runs it, and returns what it printed, however it ended.
    pub(crate) fn printed(&self, repo: &Repo) -> Result<String, TaskError> {
        println!("   $ {self}");
        Ok(String::from_utf8_lossy(&self.collect(repo)?.stdout).into_owned())
    }

    fn collect(&self, repo: &Repo) -> Result<Output, TaskError> {
        self.prepare(repo).stderr(Stdio::inherit()).output().map_err(|source| self.cannot_start(source))
    }

    pub(crate) fn check(&self, ended: std::process::ExitStatus) -> Result<(), TaskError> {
        if ended.success() {
            return Ok(());
        }
        Err(TaskError::Command { command: self.to_string(), ended })
    }

    pub(crate) fn cannot_start(&self, source: std::io::Error) -> TaskError {
        TaskError::Start { command: self.to_string(), source }
    }
}

impl fmt::Display for Cmd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(folder) = &self.folder {
            write!(f, "cd {} && ", quoted(&folder.display().to_string()))?;
        }
        if let Some(folder) = &self.programs {
            write!(f, "PATH={}:$PATH ", quoted(&folder.display().to_string()))?;
        }
        for (name, value) in &self.envs {
            write!(f, "{name}={} ", quoted(value))?;
        }
        f.write_str(&quoted(&self.program))?;
        for arg in &self.args {
            write!(f, " {}", quoted(arg))?;
        }
        Ok(())
    }
}

/// The word as a POSIX shell would need it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// An executable script; one that is there already keeps its time, so that cargo sees no change.
pub(crate) fn write_script(path: &Path, script: &str) -> Result<String, TaskError> {
    let failed = |source| TaskError::File { path: path.to_path_buf(), source };
    if fs::read_to_string(path).ok().as_deref() != Some(script) {
        fs::write(path, script).map_err(failed)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).map_err(failed)?;
        }
    }
    Ok(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_command_can_be_pasted() {
        let cmd = Cmd::words("cargo doc --no-deps").env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(cmd.to_string(), "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps");
        assert_eq!(Cmd::new("echo").arg("it's").to_string(), r"echo 'it'\''s'");
        assert_eq!(Cmd::new("a").with_programs_in(Path::new("b/bin")).to_string(), "PATH=b/bin:$PATH a");
        assert_eq!(Cmd::new("pwd").inside(Path::new("a b")).to_string(), "cd 'a b' && pwd");
    }

    #[test]
    fn a_failure_names_the_command() {
        let error = Cmd::words("cargo no-such-subcommand-of-ours")
            .env("CARGO_TERM_QUIET", "true")
            .output(&Repo::here());
        let message = error.map_err(|error| error.to_string());
        assert!(message.is_err_and(|message| message.contains("cargo no-such-subcommand-of-ours")));
    }

    #[test]
    fn a_program_that_does_not_exist_is_an_error_and_no_panic() {
        let error = Cmd::new("no-such-program-of-ours").run(&Repo::here());
        assert!(matches!(error, Err(TaskError::Start { .. })));
    }
}
