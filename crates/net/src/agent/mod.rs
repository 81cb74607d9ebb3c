//! A device: it flips its coin, trains on its own data, and uploads its updates.
//!
//! # Layout
//!
//! - here: an agent from start to end, over any number of connections.
//! - `session`: from a connection to its end; `work`: a device's part in a round.
//! - [`platform`]: the resources of the machine, or of a simulation.
//! - `talk`: the agent's side of each call; `refusal`: the errors of calls; `renewal`: an identity that is renewed
//!   meanwhile.
//! - `training`: the seam to whatever trains the model; `own_files`: the device's own files, which may change; `trainer`: a
//!   round's training behind it.
//! - [`pace`]: sending at a granted rate; [`backoff`]: the length of waits; `attempts`: connecting again, and giving
//!   up.

mod attempts;
pub mod backoff;
mod own_files;
pub mod pace;
pub mod platform;
mod refusal;
mod renewal;
mod session;
mod talk;
mod trainer;
mod training;
mod work;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls_pki_types::UnixTime;

use self::attempts::Attempts;
use self::backoff::Waits;
use self::platform::Platform;
use self::renewal::RenewableIdentity;
use self::session::{AgentState, Session};
use self::talk::Talk;
use crate::error::{Doubt, NetError};
use crate::wire::v1::HelloReply;

pub use self::training::{BuiltInTasks, DeviceLearner, DeviceTraining, PrepareTask};
pub use crate::door::Credentials;
pub use crate::wire::task::OfferedTask;

#[derive(Clone)]
pub struct AgentSettings {
    /// The address of the server, as `HOST:PORT`.
    pub server: String,
    pub credentials: Credentials,
    /// It trains whatever task the server offers; [`BuiltInTasks`] trains those that fedflip includes.
    pub trains: Arc<dyn PrepareTask>,
    /// The least time of a round's training, to emulate a slower device.
    pub compute_at_least: Duration,
    /// The file for the model at the end of the run, if this device keeps it.
    pub save_model: Option<PathBuf>,
    /// The time to try to reach a server that does not answer; none tries for ever, and zero tries once.
    pub give_up_after: Option<Duration>,
}

/// An event that an agent reports to the program that started it.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// The agent reads the data of this task.
    Reading {
        /// The name of the task, such as `mnist-cnn`.
        task: &'static str,
    },
    Calibrating,
    Enrolled {
        compute_secs: f64,
        /// t: the load of one upload.
        comm_mbit: f64,
    },
    Attending {
        slot: usize,
        samples: usize,
    },
    TookPart {
        round: u64,
        train_loss: f64,
    },
    /// The device could not do its part in a round, and has told the server.
    Failed {
        round: u64,
        problem: String,
    },
    /// The model at the end of the run is in its file.
    Saved {
        file: PathBuf,
    },
    /// The connection broke, or could not be made.
    Waiting {
        problem: String,
        /// Why the device does not trust the server's certificate, if this is the problem.
        doubt: Option<Doubt>,
        /// The time until the next attempt.
        wait: Duration,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Farewell {
    Finished,
    Stopped,
}

/// The agent checks this often whether it should stop.
const LOOK: Duration = Duration::from_millis(100);

/// Takes part until the run is over, `stop` returns true, or the server refuses the device for good.
pub fn join(
    settings: &AgentSettings,
    stop: &(dyn Fn() -> bool + Sync),
    tell: &mut (dyn FnMut(News) + Send),
) -> Result<Farewell, NetError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(NetError::system("the agent's runtime cannot be started"))?;
    let farewell = runtime.block_on(stay(settings, &Platform::of_this_machine(), stop, tell));
    // A training whose update nobody needs is not waited for.
    runtime.shutdown_background();
    farewell
}

/// Does the same as [`join`], on the caller's runtime and platform.
pub async fn stay(
    settings: &AgentSettings,
    platform: &Platform,
    stop: &(dyn Fn() -> bool + Sync),
    tell: &mut (dyn FnMut(News) + Send),
) -> Result<Farewell, NetError> {
    let waits = Waits::seeded(platform.waits_seed);
    let mut state = AgentState::new(platform.compute, waits.clone());
    let mut attempts = Attempts::new(waits, settings.give_up_after);
    let mut identity = RenewableIdentity::new(settings.credentials.clone());
    loop {
        let (mut answered, mut attended) = (false, false);
        let session = async {
            let reached = reach(settings, &identity.credentials, platform);
            let (talk, hello) = attempts.bound(&settings.server, reached).await?;
            answered = true;
            let tell: &mut (dyn FnMut(News) + Send) = &mut |news| {
                attended |= matches!(news, News::Attending { .. });
                tell(news);
            };
            Session { settings, state: &mut state, tell }.run(talk, hello).await
        };
        let ended = tokio::select! {
            biased;
            ended = session => Some(ended),
            () = told_to(stop) => return Ok(Farewell::Stopped),
            () = identity.renewed() => None,
        };
        if answered {
            attempts.answered();
        }
        if attended {
            attempts.attended();
        }
        if matches!(ended, Some(Ok(()))) {
            return Ok(Farewell::Finished);
        }
        // The server cuts connections whose certificate expires, and a renewed one may be there by then.
        let is_renewed = identity.take_up();
        let Some(Err(error)) = ended.filter(|_| !is_renewed) else { continue };
        let error = match identity.valid_until_unix_secs() {
            Some(until_unix_secs) => refusal::by_own_clock(error, until_unix_secs, now_unix_secs()),
            None => error,
        };
        if error.is_final() || attempts.is_over() {
            return Err(error);
        }
        let wait = attempts.wait_after(&error);
        tell(waiting(&error, attempts.has_attended, wait));
        tokio::select! {
            biased;
            () = tokio::time::sleep(wait) => {}
            () = told_to(stop) => return Ok(Farewell::Stopped),
        }
        if attempts.is_over() {
            return Err(error);
        }
    }
}

/// Connects to the server and says hello.
async fn reach(
    settings: &AgentSettings,
    credentials: &Credentials,
    platform: &Platform,
) -> Result<(Talk, HelloReply), NetError> {
    let mut talk = Talk::connect(&settings.server, &platform.transport, credentials).await?;
    let hello = session::hello(&mut talk, credentials.tls.is_none()).await?;
    Ok((talk, hello))
}

fn now_unix_secs() -> i64 {
    i64::try_from(UnixTime::now().as_secs()).unwrap_or(i64::MAX)
}

/// Resolves when the agent should stop.
async fn told_to(stop: &(dyn Fn() -> bool + Sync)) {
    while !stop() {
        tokio::time::sleep(LOOK).await;
    }
}

fn waiting(error: &NetError, has_attended: bool, wait: Duration) -> News {
    let doubt = match error {
        NetError::ServerNotTrusted { doubt } => Some(doubt.clone()),
        _ => None,
    };
    News::Waiting { problem: in_words(error, has_attended), doubt, wait }
}

/// The reason for a wait. A server that is gone cannot tell that its run is over.
fn in_words(error: &NetError, has_attended: bool) -> String {
    match error {
        NetError::Unreachable { .. } if has_attended => {
            format!("{error}; it may come back, or the run may be over")
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_was_there_may_have_ended() {
        let gone = NetError::Unreachable { server: "a:1".to_owned(), problem: "refused".to_owned() };
        assert!(in_words(&gone, true).ends_with("the run may be over"));
        assert_eq!(in_words(&gone, false), "a:1 cannot be reached: refused");
        assert_eq!(in_words(&NetError::Hung, true), "the server has closed the connection");
    }
}
