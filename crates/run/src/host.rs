//! `host.json`: what belongs to the machine and not to the run.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use fedflip_record::folder::HOST;
use fedflip_record::{RecordError, atomic};
use serde::{Deserialize, Serialize};

use crate::trainer::WorkersNote;

#[derive(Default, Serialize, Deserialize)]
struct Host {
    /// One for each time that the run was started or resumed.
    sessions: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    fedflip: String,
    host: Option<String>,
    system: String,
    threads: usize,
    /// The workers in the place of threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    workers: Option<WorkersNote>,
    /// The start of the run, in seconds since 1970.
    started_unix_secs: u64,
    /// None if the session was killed.
    real_secs: Option<f64>,
    first_round: u64,
    /// None if the session was killed.
    last_round: Option<u64>,
}

/// The present session: the last entry of the folder's `host.json`.
pub(crate) struct Sitting {
    path: PathBuf,
    host: Host,
}

impl Sitting {
    /// Notes that a session begins after `rounds` recorded rounds.
    pub(crate) fn begin(folder: &Path, threads: usize, rounds: u64) -> Result<Self, RecordError> {
        let path = folder.join(HOST);
        // One that cannot be read is replaced: nothing depends on it.
        let before = std::fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let mut host: Host = before.unwrap_or_default();
        #[expect(clippy::disallowed_methods, reason = "the one file that has the date")]
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
        host.sessions.push(Entry {
            fedflip: env!("CARGO_PKG_VERSION").to_owned(),
            host: name.map(|name| name.trim().to_owned()),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            threads,
            workers: None,
            started_unix_secs: now.as_secs(),
            real_secs: None,
            first_round: rounds + 1,
            last_round: None,
        });
        let sitting = Self { path, host };
        sitting.write()?;
        Ok(sitting)
    }

    /// Notes the workers that have taken part so far.
    pub(crate) fn meet(&mut self, workers: Option<WorkersNote>) -> Result<(), RecordError> {
        match self.host.sessions.last_mut() {
            Some(entry) if entry.workers != workers => {
                entry.workers = workers;
                self.write()
            }
            _ => Ok(()),
        }
    }

    /// Notes how it ended, and the workers that took part.
    pub(crate) fn end(
        mut self,
        real: Duration,
        last_round: u64,
        workers: Option<WorkersNote>,
    ) -> Result<(), RecordError> {
        if let Some(entry) = self.host.sessions.last_mut() {
            entry.real_secs = Some(real.as_secs_f64());
            entry.last_round = Some(last_round);
            entry.workers = workers;
        }
        self.write()
    }

    fn write(&self) -> Result<(), RecordError> {
        let mut bytes = serde_json::to_vec_pretty(&self.host).unwrap_or_default();
        bytes.push(b'\n');
        atomic::write(&self.path, &bytes)
    }
}
