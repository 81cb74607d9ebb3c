//! A real server with a deployment on a thread of its own, small and impatient; and real agents.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use fedflip_net::NetError;
use fedflip_net::agent::{self, AgentSettings, BuiltInTasks, Credentials, Farewell, PrepareTask};
use fedflip_net::door::Limits;
use fedflip_net::plain;
use fedflip_net::server::{Ended, Server, ServerSettings};
use fedflip_net::status::Metrics;
use tempfile::TempDir;

use crate::replay::Replayed;
use crate::timeouts::within;
pub(crate) use crate::wanted::Wanted;

/// A run takes a few seconds; this is for a machine that has other things to do.
const RUN_TIME_MAX: Duration = Duration::from_secs(90);

/// A run that is being served.
pub(crate) struct Bench {
    pub(crate) address: SocketAddr,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) wanted: Wanted,
    folder: TempDir,
    serving: JoinHandle<Result<Ended, NetError>>,
}

impl Bench {
    pub(crate) fn serve(wanted: Wanted) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (tell, told) = mpsc::channel();
        let serving = {
            let (path, wanted) = (folder.path().to_owned(), wanted.clone());
            std::thread::spawn(move || serve(&path, &wanted, &tell))
        };
        let (address, metrics) = told.recv().expect("a server that starts");
        Self { address, metrics, wanted, folder, serving }
    }

    /// Waits for the end: how it ended, and what it left, computed again to the byte.
    pub(crate) fn ended(self) -> (Ended, Replayed, TempDir) {
        assert!(within(RUN_TIME_MAX, || self.serving.is_finished()), "the run does not end");
        let ended =
            self.serving.join().expect("a server that does not panic").expect("a server that ends well");
        let replayed = self.wanted.replay(self.folder.path(), &self.wanted.learner());
        (ended, replayed, self.folder)
    }
}

pub(crate) fn serve(
    folder: &Path,
    wanted: &Wanted,
    tell: &mpsc::Sender<(SocketAddr, Arc<Metrics>)>,
) -> Result<Ended, NetError> {
    let learner = wanted.learner();
    let (mut state, resumed) = wanted.open(folder, &learner, None)?;
    let settings = ServerSettings {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        security: wanted.security.clone(),
        limits: Limits::default(),
        status: None,
    };
    let server = Server::start(&settings, &wanted.offer(&learner))?;
    // A test that does not listen has failed already.
    let _ = tell.send((server.address(), Arc::clone(server.metrics())));
    let ended = wanted.run(&server, &learner, (&mut state, resumed), &|| false)?;
    server.finish(None);
    Ok(ended)
}

/// A real agent on a thread of its own.
pub(crate) struct Agent {
    stop: Arc<AtomicBool>,
    running: JoinHandle<Result<Farewell, NetError>>,
}

impl Agent {
    pub(crate) fn join(server: SocketAddr, name: &str) -> Self {
        Self::join_with(server, name, BuiltInTasks::in_folder("no data set is needed"))
    }

    /// With a training of its own.
    pub(crate) fn join_with(server: SocketAddr, name: &str, trains: Arc<dyn PrepareTask>) -> Self {
        let name: fedflip_net::identity::DeviceName = name.parse().unwrap();
        let coin = plain::coin(&name).unwrap();
        let settings = AgentSettings {
            server: server.to_string(),
            credentials: Credentials { name, coin, tls: None },
            trains,
            compute_at_least: Duration::ZERO,
            save_model: None,
            give_up_after: None,
        };
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let running = std::thread::spawn(move || {
            agent::join(&settings, &|| asked.load(Ordering::Relaxed), &mut |_| {})
        });
        Self { stop, running }
    }

    /// Tells it to stop; it must not have given up before.
    pub(crate) fn leave(self) -> Farewell {
        self.stop.store(true, Ordering::Relaxed);
        self.running.join().expect("an agent that does not panic").expect("an agent that does not give up")
    }
}
