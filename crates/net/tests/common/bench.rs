//! A real server with a deployment on a thread of its own, small and impatient; and real agents.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use fedflip_engine::{Aggregation, Optimiser, Stop};
use fedflip_fleet::Mbps;
use fedflip_fleet::bandwidth::Division;
use fedflip_learn::sgd::SgdLearner;
use fedflip_learn::task::TaskSettings;
use fedflip_learn::{Encoding, Learner};
use fedflip_net::NetError;
use fedflip_net::agent::{self, AgentSettings, Credentials, Farewell};
use fedflip_net::door::{Limits, Security};
use fedflip_net::plain;
use fedflip_net::server::{
    Announced, Deployment, Ended, Helpers, Observer, Offer, Patience, Planned, Server, ServerSettings,
};
use fedflip_net::state::{Founding, RunState};
use fedflip_net::status::Metrics;
use fedflip_plan::{Quiet, Scheme};
use fedflip_record::{Header, Round};
use tempfile::TempDir;

use crate::patience::within;
use crate::replay::{Replayed, replay};

pub(crate) const SEED: u64 = 1;
const BAND_MBPS: f64 = 100.0;
/// A run takes a few seconds; this is for a machine that has other things to do.
const RUN_TIME_MAX: Duration = Duration::from_secs(90);

/// What a test wants of its run.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) devices: usize,
    pub(crate) devices_min: usize,
    pub(crate) rounds: u64,
    pub(crate) scheme: Scheme,
    pub(crate) optimiser: Optimiser,
    pub(crate) replan_every: Option<u64>,
    pub(crate) patience: Patience,
    pub(crate) security: Security,
    pub(crate) encoding: Encoding,
    pub(crate) quiet: Option<Quiet>,
}

impl Wanted {
    /// Everybody takes part in every round, and nobody is waited for long.
    pub(crate) fn full(devices: usize, rounds: u64) -> Self {
        let patience = Patience {
            window: Duration::from_millis(1500),
            quorum: 1.0,
            deadline_factor: 1.0,
            deadline_slack: Duration::from_millis(1500),
            come_back: Duration::from_millis(1000),
            finish: Duration::from_secs(1),
            ..Patience::default()
        };
        let (scheme, security) = (Scheme::Full, Security::Plain);
        let optimiser = Optimiser::default();
        Self {
            devices,
            devices_min: devices,
            rounds,
            scheme,
            optimiser,
            replan_every: None,
            patience,
            security,
            encoding: Encoding::F32,
            quiet: None,
        }
    }

    pub(crate) fn task(&self) -> TaskSettings {
        TaskSettings {
            test_samples_max: 20,
            ..TaskSettings::paper("synthetic".parse().unwrap(), self.devices)
        }
    }

    pub(crate) fn learner(&self) -> SgdLearner {
        self.task().learner(Path::new("no data set is needed")).unwrap().0
    }
}

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
        let wanted = &self.wanted;
        let how = (&wanted.optimiser, wanted.encoding, wanted.quiet.map(|quiet| quiet.every));
        let replayed = replay(self.folder.path(), &wanted.learner(), SEED, how);
        (ended, replayed, self.folder)
    }
}

fn serve(
    folder: &Path,
    wanted: &Wanted,
    tell: &mpsc::Sender<(SocketAddr, Arc<Metrics>)>,
) -> Result<Ended, NetError> {
    let learner = wanted.learner();
    let params = learner.network().params();
    let memory = wanted.optimiser.names();
    let founding = Founding { run_toml: "seed = 1\n", free_keys: &[], params: &params, memory: &memory };
    let (mut state, resumed) = RunState::open(folder, &founding)?;
    let settings = ServerSettings {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        security: wanted.security.clone(),
        limits: Limits::default(),
        status: None,
    };
    let parameters = learner.params_len();
    let offer = Offer {
        task: wanted.task(),
        seed: SEED,
        parameters,
        samples: (0..wanted.devices).map(|slot| learner.samples(slot) as u64).collect(),
        band_mbps: BAND_MBPS,
        encoding: wanted.encoding,
    };
    let server = Server::start(&settings, &offer)?;
    // A test that does not listen has failed already.
    let _ = tell.send((server.address(), Arc::clone(server.metrics())));
    let deployment = Deployment {
        scheme: wanted.scheme,
        constants: None,
        noise: fedflip_plan::solve::auto::NOISE,
        quiet: wanted.quiet,
        band: Mbps::new(BAND_MBPS).unwrap(),
        division: Division::Adaptive,
        deadline_secs: None,
        aggregation: Aggregation::Unbiased,
        optimiser: wanted.optimiser,
        evaluate_every: 1000,
        stop: Stop { accuracy: None, loss: None, rounds_max: wanted.rounds, secs_max: None },
        seed: SEED,
        devices_min: wanted.devices_min,
        replan_every: wanted.replan_every,
        patience: wanted.patience,
    };
    let header = |planned: &Planned| Header {
        version: fedflip_record::schema::VERSION,
        fedflip: "test".to_owned(),
        task: "synthetic".to_owned(),
        scheme: planned.schedule.usual().scheme().to_string(),
        seed: SEED,
        devices: planned.fleet.len(),
        parameters,
        bandwidth_mbps: BAND_MBPS,
        target_accuracy: None,
        target_loss: None,
        expected_participants: planned.expected.participants,
        expected_rounds: None,
        expected_round_secs: None,
        deployed: None,
    };
    let mut worker = learner.worker();
    let mut helpers = Helpers {
        evaluate: &mut |model| Ok(learner.evaluate(&mut worker, model.as_slice())?),
        stop: &|| false,
        observer: &mut Nobody,
        enrolled: &mut |_| Ok(()),
    };
    let initial = || learner.initial_model(SEED);
    let ended = deployment.run(&server, (&mut state, resumed), initial, &header, &mut helpers)?;
    server.finish();
    Ok(ended)
}

struct Nobody;

impl Observer for Nobody {
    fn planned(&mut self, _: &Announced<'_>) -> Result<(), NetError> {
        Ok(())
    }

    fn round(&mut self, _: &Round) -> Result<(), NetError> {
        Ok(())
    }
}

/// A real agent on a thread of its own.
pub(crate) struct Agent {
    stop: Arc<AtomicBool>,
    running: JoinHandle<Result<Farewell, NetError>>,
}

impl Agent {
    pub(crate) fn join(server: SocketAddr, name: &str) -> Self {
        let name: fedflip_net::identity::DeviceName = name.parse().unwrap();
        let coin = plain::coin(&name).unwrap();
        let settings = AgentSettings {
            server: server.to_string(),
            credentials: Credentials { name, coin, tls: None },
            data_dir: "no data set is needed".into(),
            compute_at_least: Duration::ZERO,
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
