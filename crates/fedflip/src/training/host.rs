//! `host.json`: what belongs to the machine and not to the run.

use std::path::Path;
use std::time::{Duration, SystemTime};

use fedflip_record::folder::HOST;
use fedflip_record::{RecordError, atomic};
use serde::{Deserialize, Serialize};

#[derive(Default, Serialize, Deserialize)]
struct Host {
    /// One for each time that the run was started or resumed.
    sessions: Vec<Session>,
}

#[derive(Serialize, Deserialize)]
struct Session {
    fedflip: String,
    host: Option<String>,
    system: String,
    threads: usize,
    /// Seconds since 1970.
    ended_unix_secs: u64,
    real_secs: f64,
    rounds: [u64; 2],
}

/// Adds a session to the folder's `host.json`.
pub(crate) fn add_session(
    folder: &Path,
    threads: usize,
    real: Duration,
    rounds: [u64; 2],
) -> Result<(), RecordError> {
    let path = folder.join(HOST);
    // One that cannot be read is replaced: nothing depends on it.
    let mut host: Host =
        std::fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    #[expect(clippy::disallowed_methods, reason = "the one file that has the date")]
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    host.sessions.push(Session {
        fedflip: env!("CARGO_PKG_VERSION").to_owned(),
        host: std::fs::read_to_string("/proc/sys/kernel/hostname").ok().map(|name| name.trim().to_owned()),
        system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        threads,
        ended_unix_secs: now.as_secs(),
        real_secs: real.as_secs_f64(),
        rounds,
    });
    let mut bytes = serde_json::to_vec_pretty(&host).unwrap_or_default();
    bytes.push(b'\n');
    atomic::write(&path, &bytes)
}
