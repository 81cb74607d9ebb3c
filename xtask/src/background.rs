//! Programs in the background: they end with whoever started them, and what they say is kept.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use crate::clock::{self, Stopwatch};
use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;

/// Between two looks at a running program.
pub(crate) const LOOK: Duration = Duration::from_millis(20);

/// A program that runs.
pub(crate) struct Background {
    cmd: Cmd,
    child: Child,
    log: PathBuf,
}

impl Background {
    /// Starts it; both of its outputs go to a file.
    pub(crate) fn start(repo: &Repo, cmd: Cmd, log: &Path) -> Result<Self, TaskError> {
        let failed = |source| TaskError::File { path: log.to_path_buf(), source };
        let file = File::create(log).map_err(failed)?;
        let both = file.try_clone().map_err(failed)?;
        let child = cmd.prepare(repo).stdout(file).stderr(both).spawn();
        let child = child.map_err(|source| cmd.cannot_start(source))?;
        Ok(Self { cmd, child, log: log.to_path_buf() })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has said so far.
    pub(crate) fn said(&self) -> String {
        fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// Whether it has ended; an error if it ended badly.
    pub(crate) fn has_ended(&mut self) -> Result<bool, TaskError> {
        match self.child.try_wait().map_err(|source| self.cmd.cannot_start(source))? {
            None => Ok(false),
            Some(ended) => self.cmd.check(ended).map(|()| true).inspect_err(|_| self.show()),
        }
    }

    /// Waits until it says something of this kind.
    pub(crate) fn wait_for<T>(
        &mut self,
        secs_max: f64,
        what: &str,
        found: impl Fn(&str) -> Option<T>,
    ) -> Result<T, TaskError> {
        let watch = Stopwatch::start();
        loop {
            let ended = self.has_ended()?;
            if let Some(found) = found(&self.said()) {
                return Ok(found);
            }
            if ended || watch.secs() > secs_max {
                self.show();
                return Err(TaskError::Promise(format!("`{}` gave no {what} in {secs_max} s", self.cmd)));
            }
            clock::pause(LOOK);
        }
    }

    /// Waits for its end.
    pub(crate) fn finish(&mut self, secs_max: f64) -> Result<(), TaskError> {
        let watch = Stopwatch::start();
        while !self.has_ended()? {
            if watch.secs() > secs_max {
                self.show();
                return Err(TaskError::Promise(format!(
                    "`{}` was still running after {secs_max} s",
                    self.cmd
                )));
            }
            clock::pause(LOOK);
        }
        Ok(())
    }

    /// The last that it said, for whoever must find out why.
    fn show(&self) {
        let said = self.said();
        let lines: Vec<&str> = said.lines().collect();
        for line in &lines[lines.len().saturating_sub(10)..] {
            println!("   | {line}");
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // It may have ended by itself, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a running program holds in memory, in bytes; none where the system does not tell.
pub(crate) fn memory_bytes(id: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024.0)
}

/// Seconds of processor that a running program has used; none where the system does not tell.
pub(crate) fn processor_secs(id: u32) -> Option<f64> {
    // In hundredths on every Linux, whatever the kernel's own clock; the name before them may hold anything.
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |place: usize| fields.get(place)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_program_can_be_looked_at_and_ends_with_its_owner() {
        let repo = Repo::here();
        let log = std::env::temp_dir().join(format!("fedflip-background-{}", std::process::id()));
        let mut sleeper = Background::start(&repo, Cmd::words("sleep 60"), &log).unwrap();
        let id = sleeper.id();
        assert!(!sleeper.has_ended().unwrap());
        assert!(processor_secs(id).is_some_and(|secs| secs < 10.0));
        assert!(sleeper.finish(0.05).is_err(), "it takes longer");
        drop(sleeper);
        assert_eq!(memory_bytes(id), None);
        let mut echo = Background::start(&repo, Cmd::words("echo answer 42"), &log).unwrap();
        let found =
            echo.wait_for(20.0, "answer", |said| said.split_once("answer ").map(|(_, n)| n.to_owned()));
        assert_eq!(found.unwrap().trim(), "42");
        assert!(echo.wait_for(20.0, "question", |said| said.find("question")).is_err());
        fs::remove_file(&log).unwrap();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn we_ourselves_hold_memory() {
        assert!(memory_bytes(std::process::id()).is_some_and(|bytes| bytes > 1e5));
    }
}
