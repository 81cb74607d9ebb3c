//! The programs of the system that download and unpack: where they are, and running them.
//!
//! Each machine has its own set-up of npm, pip, apt and curl (mirrors, proxies, credentials), so they are
//! asked by package name and left to find it.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use super::error::DataError;

/// How often the listener hears of a download.
const TICK: Duration = Duration::from_millis(200);

/// Of what a program says, the end is kept.
const SAID_BYTES_MAX: usize = 64 << 10;

/// Where programs are looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Programs {
    search_path: OsString,
}

impl Programs {
    /// In these folders, written as `PATH` is.
    pub fn on(search_path: impl Into<OsString>) -> Self {
        Self { search_path: search_path.into() }
    }

    /// Where a program is, if it is anywhere.
    pub fn find(&self, program: &str) -> Option<PathBuf> {
        let folders = std::env::split_paths(&self.search_path);
        folders.map(|folder| folder.join(program)).find(|path| is_executable(path))
    }
}

/// What is to be run.
#[derive(Debug)]
pub(super) struct Job<'a> {
    pub program: &'static str,
    pub args: &'a [&'a str],
    /// What it is asked for, in a word that a refusal can repeat.
    pub about: &'a str,
    /// The folder in which the program runs.
    pub folder: &'a Path,
    /// Variables that it gets.
    pub variables: &'a [(&'a str, &'a Path)],
}

/// Runs programs while a lock is held.
///
/// The lock is their standard input: a program that outlives a killed fedflip still holds it, so nobody
/// writes to the same files before it is done.
#[derive(Debug)]
pub(super) struct Runner<'a> {
    pub programs: &'a Programs,
    pub lock: &'a File,
}

impl Runner<'_> {
    /// Runs a program to its end and gives what it printed; `tick` is called several times a second.
    pub(super) fn run(&self, job: &Job<'_>, tick: &mut dyn FnMut()) -> Result<String, DataError> {
        let path = self.programs.find(job.program).ok_or(DataError::NoProgram { program: job.program })?;
        let failed = |problem: String, code| DataError::Client {
            command: format!("{} {}", job.program, job.about),
            problem,
            code,
        };
        let cannot = |error: std::io::Error| failed(format!("cannot be run: {error}"), None);
        let mut child = Command::new(path)
            .args(job.args)
            .current_dir(job.folder)
            .env("PATH", &self.programs.search_path)
            .envs(job.variables.iter().copied())
            .stdin(self.lock.try_clone().map_err(cannot)?)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(cannot)?;
        let (printed, said) = listen(&mut child, tick);
        let status = child.wait().map_err(cannot)?;
        if status.success() {
            return Ok(printed);
        }
        Err(failed(format!("ended with {status}: {}", gist(&said)), status.code()))
    }
}

/// What the child prints and what it says on standard error, until it closes both.
fn listen(child: &mut Child, tick: &mut dyn FnMut()) -> (String, String) {
    let (done, ended) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let stdout = child.stdout.take().map(|pipe| scope.spawn(|| tail(pipe)));
        let stderr = child.stderr.take();
        let stderr = scope.spawn(move || {
            let said = stderr.map_or(String::new(), tail);
            // Whoever waits learns of it, or has gone.
            let _ = done.send(());
            said
        });
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(TICK) {
            tick();
        }
        let printed = stdout.and_then(|reader| reader.join().ok()).unwrap_or_default();
        (printed, stderr.join().unwrap_or_default())
    })
}

/// The first lines that speak of an error, or else the last: clients also tell where their logs are, which
/// version they would rather be, and much more.
fn gist(said: &str) -> String {
    const LINES: usize = 2;
    const CHARS_MAX: usize = 200;
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut chosen: Vec<&str> =
        lines().filter(|line| line.to_ascii_lowercase().contains("error")).take(LINES).collect();
    if chosen.is_empty() {
        chosen = lines().rev().take(LINES).collect();
        chosen.reverse();
    }
    let short = |line: &str| match line.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    };
    chosen.into_iter().map(short).collect::<Vec<_>>().join(" / ")
}

/// The end of what comes through a pipe: a program that never stops talking costs no memory.
fn tail(mut pipe: impl Read) -> String {
    let mut kept = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(read @ 1..) = pipe.read(&mut piece) {
        kept.extend_from_slice(&piece[..read]);
        let surplus = kept.len().saturating_sub(SAID_BYTES_MAX);
        kept.drain(..surplus);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, tick: &mut dyn FnMut()) -> Result<String, String> {
        let lock = tempfile::tempfile().unwrap();
        let programs = Programs::on("/nowhere:/bin:/usr/bin");
        let job = Job {
            program: "sh",
            args: &["-c", script],
            about: script,
            folder: Path::new("/"),
            variables: &[],
        };
        Runner { programs: &programs, lock: &lock }.run(&job, tick).map_err(|error| error.to_string())
    }

    #[test]
    fn a_program_that_is_not_there_or_fails_is_named() {
        let lock = tempfile::tempfile().unwrap();
        let runner = Runner { programs: &Programs::on("/nowhere"), lock: &lock };
        let job = Job { program: "sh", args: &[], about: "", folder: Path::new("/"), variables: &[] };
        let missing = runner.run(&job, &mut || {}).unwrap_err();
        assert_eq!(missing.to_string(), "sh is not installed");
        assert!(missing.hint().contains("install sh"));
        let failed = sh("echo lost >&2; exit 3", &mut || {}).unwrap_err();
        assert!(failed.starts_with("`sh echo lost") && failed.ends_with("3: lost"), "{failed}");
    }

    #[test]
    fn it_runs_in_its_folder_and_the_listener_hears_of_it() {
        let mut ticks = 0;
        let printed = sh("pwd; sleep 0.5", &mut || ticks += 1).unwrap();
        assert_eq!(printed, "/\n");
        assert!((1..10).contains(&ticks), "{ticks}");
    }

    #[test]
    fn much_talk_on_both_pipes_neither_blocks_nor_stays() {
        let script = "i=0; while [ $i -lt 20000 ]; do echo out$i; echo err$i >&2; i=$((i+1)); done";
        let printed = sh(script, &mut || {}).unwrap();
        assert!(printed.len() <= SAID_BYTES_MAX && printed.ends_with("out19999\n"));
    }

    #[test]
    fn of_much_talk_the_error_is_told() {
        let talk =
            format!("warn: old\nnpm error code ENOTFOUND\nnpm error {}\nA log is there", "x".repeat(500));
        let gist = gist(&talk);
        assert!(
            gist.starts_with("npm error code ENOTFOUND / npm error xx") && gist.ends_with("x…"),
            "{gist}"
        );
        assert!(gist.chars().count() < 250);
        assert_eq!(super::gist("a\n\nb\nc\n"), "b / c");
    }

    /// A folder of that name, or a file that nobody may run, is no program.
    #[test]
    fn only_what_can_be_run_is_found() {
        let desk = tempfile::tempdir().unwrap();
        std::fs::create_dir(desk.path().join("npm")).unwrap();
        std::fs::write(desk.path().join("pip"), "").unwrap();
        let programs = Programs::on(desk.path());
        assert_eq!((programs.find("npm"), programs.find("pip")), (None, None));
    }
}
