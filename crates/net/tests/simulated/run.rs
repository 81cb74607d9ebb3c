//! A deployed run on a simulated clock and network: the real server and agents, on one thread, from a seed.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fedflip_learn::sgd::SgdLearner;
use fedflip_net::NetError;
use fedflip_net::door::Security;
use fedflip_net::measure::Measures;
use fedflip_net::server::{Ended, Server, Surroundings};
use fedflip_net::state::{Departure, StateView, StoredPlan, departed};
use fedflip_record::Round;
use rand::Rng;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::network::{Network, stream};
use crate::replay::Replayed;
use crate::roles::{self, Actor, Stage};
use crate::wanted::Wanted;

/// A run to simulate.
#[derive(Clone)]
pub(crate) struct SimRun {
    /// It decides all that is random: coins, waits and the faults of links.
    pub(crate) seed: u64,
    pub(crate) wanted: Wanted,
    pub(crate) actors: Vec<Actor>,
    /// The server is killed at these moments …
    pub(crate) kill_at_secs: Vec<f64>,
    /// … and started again after so long …
    pub(crate) down_secs: f64,
    /// … with these settings, if others than before.
    pub(crate) restarted: Option<Wanted>,
    /// At these moments devices are retired, as by an operator.
    pub(crate) retire_at_secs: Vec<(f64, usize)>,
    /// A run that is not over by then is stopped.
    pub(crate) secs_max: f64,
}

impl SimRun {
    /// Everybody is asked to take part in every round.
    pub(crate) fn full(seed: u64, actors: Vec<Actor>, rounds: u64) -> Self {
        let wanted = Wanted::full(actors.len(), rounds);
        Self {
            seed,
            wanted,
            actors,
            kill_at_secs: Vec::new(),
            down_secs: 1.0,
            restarted: None,
            retire_at_secs: Vec::new(),
            secs_max: 3600.0,
        }
    }

    /// Runs it to its end, on this thread.
    pub(crate) fn run(&self) -> Outcome {
        assert_eq!(self.wanted.security, Security::Plain, "the keys of TLS would differ from run to run");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = Arc::new(runtime.unwrap());
        let _clock = runtime.enter();
        let folder = folder();
        let learner = Arc::new(self.wanted.learner());
        let network = Network::new(self.seed, self.actors.iter().map(|actor| actor.link));
        let log = Log { since: Instant::now(), lines: Arc::default() };
        let actors = self.begin(&runtime, &network, &learner, &log);
        let mut kills = self.kill_at_secs.iter().map(|secs| log.since + Duration::from_secs_f64(*secs));
        let mut wanted = &self.wanted;
        let ended = loop {
            let served =
                Served { run: self, wanted, runtime: &runtime, network: &network, learner: &learner };
            match served.until(folder.path(), log.since, kills.next()) {
                Some(ended) => break ended.expect("a server that ends well"),
                None => runtime.block_on(tokio::time::sleep(Duration::from_secs_f64(self.down_secs))),
            }
            wanted = self.restarted.as_ref().unwrap_or(wanted);
        };
        let secs = log.since.elapsed().as_secs_f64();
        for actor in actors.into_iter().filter(JoinHandle::is_finished) {
            // A script that fails fails the run.
            if let Err(error) = runtime.block_on(actor) {
                resume_unwind(error.into_panic());
            }
        }
        let events = std::mem::take(&mut *log.lines.lock().unwrap());
        let names = (0..self.actors.len()).map(|number| roles::name(self.seed, number)).collect();
        Outcome::read(folder, (&self.wanted, &learner), names, Ending { ended, secs, events })
    }

    fn begin(
        &self,
        runtime: &Runtime,
        network: &Network,
        learner: &Arc<SgdLearner>,
        log: &Log,
    ) -> Vec<JoinHandle<()>> {
        let actors = self.actors.iter().enumerate();
        let begin = |(number, actor): (usize, &Actor)| {
            let name = roles::name(self.seed, number);
            let (network, learner, log) = (network.clone(), Arc::clone(learner), log.clone());
            let stage = Stage { seed: self.seed, number, name, network, learner, log };
            runtime.spawn(stage.play(actor.role.clone()))
        };
        actors.map(begin).collect()
    }
}

/// A server from its start to its end.
struct Served<'a> {
    run: &'a SimRun,
    wanted: &'a Wanted,
    runtime: &'a Arc<Runtime>,
    network: &'a Network,
    learner: &'a SgdLearner,
}

/// What a killed server unwinds with.
struct Killed;

impl Served<'_> {
    /// How it ended; none if it was killed.
    fn until(&self, folder: &Path, since: Instant, kill: Option<Instant>) -> Option<Result<Ended, NetError>> {
        let Self { run, wanted, runtime, network, learner } = self;
        let stop = || {
            for (secs, actor) in &run.retire_at_secs {
                if since.elapsed().as_secs_f64() >= *secs {
                    let name = roles::name(run.seed, *actor);
                    departed::add(folder, [(name.as_str(), Departure::Retired)]).unwrap();
                }
            }
            // Unwinding leaves everything as it is, in the middle of a round too; and no panic is reported.
            if kill.is_some_and(|at| Instant::now() >= at) {
                resume_unwind(Box::new(Killed));
            }
            since.elapsed().as_secs_f64() >= run.secs_max
        };
        let serve = || -> Result<Ended, NetError> {
            let mut run_id = [0; 16];
            stream(run.seed, 1 << 35).fill_bytes(&mut run_id);
            let (mut state, resumed) = wanted.open(folder, learner, Some(run_id))?;
            let address = ([10, 255, 0, 1], 1).into();
            let surroundings =
                Surroundings { runtime: Arc::clone(runtime), address, incoming: network.listen() };
            let server = Server::start_in(surroundings, &wanted.offer(learner));
            let ended = wanted.run(&server, learner, (&mut state, resumed), &stop)?;
            server.finish(None);
            Ok(ended)
        };
        match catch_unwind(AssertUnwindSafe(serve)) {
            Ok(ended) => Some(ended),
            Err(killed) if killed.is::<Killed>() => {
                network.lose_server();
                None
            }
            Err(panic) => resume_unwind(panic),
        }
    }
}

/// What devices report, in the order and at the time it happens.
#[derive(Clone)]
pub(crate) struct Log {
    since: Instant,
    lines: Arc<Mutex<Vec<Noted>>>,
}

/// One line of a log.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Noted {
    pub(crate) secs: f64,
    pub(crate) actor: usize,
    pub(crate) what: String,
}

impl Log {
    pub(crate) fn note(&self, actor: usize, what: String) {
        let secs = self.since.elapsed().as_secs_f64();
        self.lines.lock().unwrap().push(Noted { secs, actor, what });
    }
}

/// How a run came to its end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ending {
    /// Over, or stopped where it took too long.
    pub(crate) ended: Ended,
    /// Virtual time from the start of the first server to the end of the last.
    pub(crate) secs: f64,
    /// What agents reported.
    pub(crate) events: Vec<Noted>,
}

/// What came of a run.
pub(crate) struct Outcome {
    pub(crate) ending: Ending,
    pub(crate) rounds: Vec<Round>,
    /// The slot of each actor; none if it has not enrolled.
    pub(crate) slots: Vec<Option<usize>>,
    /// Round, device and reason.
    pub(crate) incidents: Vec<(u64, Option<String>, String)>,
    pub(crate) plans: Vec<StoredPlan>,
    /// The samples of each slot, as the state has them.
    pub(crate) samples: Vec<f64>,
    pub(crate) model_sha256: Option<[u8; 32]>,
    /// Every committed round, computed again.
    pub(crate) replayed: Replayed,
    folder: TempDir,
}

impl Outcome {
    fn read(
        folder: TempDir,
        (wanted, learner): (&Wanted, &SgdLearner),
        names: Vec<String>,
        ending: Ending,
    ) -> Self {
        let view = StateView::open(folder.path()).unwrap();
        let devices = view.devices().unwrap();
        let slot = |name: String| devices.iter().position(|device| device.name == name);
        let samples = devices.iter().map(|device| device.samples).collect();
        let stored: Vec<_> =
            (1..=view.rounds().unwrap()).map(|round| view.round(round).unwrap().unwrap()).collect();
        let incidents = view.incidents().unwrap().into_iter();
        Self {
            ending,
            samples,
            slots: names.into_iter().map(slot).collect(),
            incidents: incidents.map(|noted| (noted.round, noted.device, noted.reason)).collect(),
            plans: (1..=view.plans().unwrap()).map(|plan| view.plan(plan).unwrap().unwrap()).collect(),
            model_sha256: stored.last().and_then(|round| round.model_sha256),
            replayed: wanted.replay(folder.path(), learner),
            rounds: stored.into_iter().map(|round| round.record).collect(),
            folder,
        }
    }

    /// Rounds in which an actor took part and its update was lost, with the reason.
    pub(crate) fn lost(&self, actor: usize) -> Vec<(u64, &str)> {
        let lost = self.rounds.iter().flat_map(|round| round.lost.iter().map(|lost| (round.round, lost)));
        let of_actor = lost.filter(|(_, lost)| Some(lost.device) == self.slots[actor]);
        of_actor.map(|(round, lost)| (round, lost.reason.as_str())).collect()
    }

    /// Updates of an actor that count.
    pub(crate) fn accepted(&self, actor: usize) -> usize {
        let took_part = |round: &&Round| round.cohort.iter().any(|slot| Some(*slot) == self.slots[actor]);
        self.rounds.iter().filter(took_part).count() - self.lost(actor).len()
    }

    /// The longest round.
    pub(crate) fn round_secs_max(&self) -> f64 {
        self.rounds.iter().map(|round| round.round_secs).fold(0.0, f64::max)
    }

    /// What the server had measured by the last commit.
    pub(crate) fn measures(&self, run: &SimRun) -> Measures {
        let (_, resumed) = run.wanted.open(self.folder.path(), &run.wanted.learner(), None).unwrap();
        serde_json::from_str(&resumed.measures.unwrap()).unwrap()
    }

    /// A file of the run's folder.
    pub(crate) fn file(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.folder.path().join(name)).unwrap()
    }
}

/// In memory where the system has such a folder: the state waits for the disk at every commit, and a simulated run
/// commits as fast as it can.
fn folder() -> TempDir {
    let in_memory = Path::new("/dev/shm");
    if in_memory.is_dir() { tempfile::tempdir_in(in_memory) } else { tempfile::tempdir() }.unwrap()
}
