//! Programs in the background: they end with whoever started them, and what they print is kept.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use crate::clock::{self, Stopwatch};
use crate::error::LabError;
use crate::process;

/// Between two polls of a running program.
pub(crate) const POLL: Duration = Duration::from_millis(20);

/// A program that runs in the background and is stopped when this value is dropped.
pub(crate) struct Background {
    shown: String,
    child: Child,
    log: PathBuf,
}

impl Background {
    /// Starts the program; both of its outputs go to a file.
    pub(crate) fn start(command: &mut Command, log: &Path) -> Result<Self, LabError> {
        let failed = |source| LabError::File { path: log.to_path_buf(), source };
        let file = File::create(log).map_err(failed)?;
        let both = file.try_clone().map_err(failed)?;
        let child = command.stdout(file).stderr(both).spawn();
        let child = child.map_err(|source| process::cannot_start(command, source))?;
        Ok(Self { shown: process::shown(command), child, log: log.to_path_buf() })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// All that the program has printed so far.
    pub(crate) fn printed(&self) -> String {
        fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// Whether the program has ended; an error if it ended badly.
    pub(crate) fn has_ended(&mut self) -> Result<bool, LabError> {
        let ended = self.child.try_wait();
        match ended.map_err(|source| LabError::Start { command: self.shown.clone(), source })? {
            None => Ok(false),
            Some(ended) => {
                process::check(&self.shown, ended).map(|()| true).inspect_err(|_| self.show_tail())
            }
        }
    }

    /// Waits until `found` finds something in what the program has printed.
    pub(crate) fn wait_for<T>(
        &mut self,
        secs_max: f64,
        what: &str,
        found: impl Fn(&str) -> Option<T>,
    ) -> Result<T, LabError> {
        let watch = Stopwatch::start();
        loop {
            let ended = self.has_ended()?;
            if let Some(found) = found(&self.printed()) {
                return Ok(found);
            }
            if ended || watch.secs() > secs_max {
                self.show_tail();
                return Err(LabError::Broken(format!("`{}` gave no {what} in {secs_max} s", self.shown)));
            }
            clock::pause(POLL);
        }
    }

    pub(crate) fn finish(&mut self, secs_max: f64) -> Result<(), LabError> {
        let watch = Stopwatch::start();
        while !self.has_ended()? {
            if watch.secs() > secs_max {
                self.show_tail();
                return Err(LabError::Broken(format!("`{}` did not end within {secs_max} s", self.shown)));
            }
            clock::pause(POLL);
        }
        Ok(())
    }

    /// The last lines that the program printed, for whoever must find out why it failed.
    fn show_tail(&self) {
        let printed = self.printed();
        let lines: Vec<&str> = printed.lines().collect();
        for line in &lines[lines.len().saturating_sub(10)..] {
            println!("   | {line}");
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // The program may have ended by itself, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a running program holds in memory now; none where the system does not tell.
pub(crate) fn memory_bytes(id: u32) -> Option<f64> {
    status_bytes(id, "VmRSS:")
}

/// The most memory that a running program has held so far; none where the system does not tell.
pub(crate) fn peak_memory_bytes(id: u32) -> Option<f64> {
    status_bytes(id, "VmHWM:")
}

fn status_bytes(id: u32, field: &str) -> Option<f64> {
    bytes_in(&fs::read_to_string(format!("/proc/{id}/status")).ok()?, field)
}

fn bytes_in(status: &str, field: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
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
    use crate::bench::Bench;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_program_can_be_watched_and_ends_with_its_owner() {
        let (bench, folder) = (Bench::new(None), tempfile::tempdir().unwrap());
        let log = folder.path().join("log");
        let mut sleeper = Background::start(&mut bench.line("sleep 60"), &log).unwrap();
        let id = sleeper.id();
        assert!(!sleeper.has_ended().unwrap());
        assert!(processor_secs(id).is_some_and(|secs| secs < 10.0));
        assert!(sleeper.finish(0.05).is_err(), "it takes longer");
        drop(sleeper);
        assert_eq!(memory_bytes(id), None);
        let mut echo = Background::start(&mut bench.line("echo answer 42"), &log).unwrap();
        let answer = |said: &str| said.split_once("answer ").map(|(_, number)| number.trim().to_owned());
        assert_eq!(echo.wait_for(20.0, "answer", answer).unwrap(), "42");
        assert!(echo.wait_for(20.0, "question", |said| said.find("question")).is_err());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_holds_memory() {
        let id = std::process::id();
        assert!(memory_bytes(id).is_some_and(|bytes| bytes > 1e5));
        assert!(peak_memory_bytes(id) >= memory_bytes(id));
    }

    #[test]
    fn the_kernel_counts_in_kibibytes() {
        let status = "Name:\tfedflip\nVmPeak:\t  999999 kB\nVmHWM:\t  250000 kB\nVmRSS:\t 1 kB\n";
        assert_eq!(bytes_in(status, "VmHWM:"), Some(256e6));
        assert_eq!(bytes_in("Name:\tzombie\n", "VmHWM:"), None);
    }
}
