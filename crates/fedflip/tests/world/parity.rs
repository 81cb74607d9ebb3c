//! World parity: with the coins of the devices, the simulated world has the same cohorts and the same model, to
//! the byte, as a server with agents at the other end of real sockets.

use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use fedflip_engine::optimiser::{Adaptive, Rule};
use fedflip_engine::{Aggregation, BoxedError, Clip, Control, Engine, Optimiser, Sink, State, Stop};
use fedflip_fleet::Conditions;
use fedflip_fleet::bandwidth::Division;
use fedflip_fleet::{Mbps, csv_file};
use fedflip_learn::sgd::{LocalOptions, SgdLearner, SgdSettings, Steps};
use fedflip_learn::task::TaskSettings;
use fedflip_learn::{Encoding, Learner, Metrics, model_file, with_crew};
use fedflip_net::agent::{
    self, AgentSettings, BuiltInTasks, Credentials, Farewell, News, OfferedTask, PrepareTask,
};
use fedflip_net::door::{Limits, Security};
use fedflip_net::server::{
    Callbacks, Deployment, Ended, FleetCapacity, NormBound, Observer, Offer, PlanStart, Server,
    ServerSettings, Timeouts,
};
use fedflip_net::state::{NewRun, RunState, StateView};
use fedflip_net::{NetError, Toss, plain};
use fedflip_plan::sampler::{Draw, Observed, Sampler};
use fedflip_plan::{Plan, Quiet, Schedule};
use fedflip_record::{Header, Round};
use fedflip_sim::SimWorld;

const DEVICES: usize = 5;
const ROUNDS: u64 = 12;
const SEED: u64 = 11;
const EVALUATE_EVERY: u64 = 4;

/// A task, and who holds which part of its data.
pub(crate) struct Case {
    pub(crate) offered: TaskSettings,
    /// The learner of the simulated world, with the data of all devices.
    pub(crate) simulated: SgdLearner,
    /// The learner of the server.
    pub(crate) host: SgdLearner,
    /// The sample counts that the server knows.
    pub(crate) samples: Vec<u64>,
    pub(crate) agents: Vec<Arc<dyn PrepareTask>>,
}

fn synthetic() -> Case {
    synthetic_with(SgdSettings::plain(0.01, 32, 10))
}

fn synthetic_with(sgd: SgdSettings) -> Case {
    let mut settings = TaskSettings::paper("synthetic".parse().unwrap(), DEVICES);
    settings.test_samples_max = 200;
    settings.sgd = sgd;
    let learner = || settings.learner(Path::new("")).unwrap().0;
    let simulated = learner();
    let samples = (0..DEVICES).map(|slot| simulated.samples(slot) as u64).collect();
    let agents = vec![BuiltInTasks::in_folder(""); DEVICES];
    Case { offered: settings.clone(), host: learner(), simulated, samples, agents }
}

fn band() -> Mbps {
    Mbps::new(100.0).unwrap()
}

fn stop() -> Stop {
    Stop::after_rounds(ROUNDS)
}

struct Silent;

impl Observer for Silent {
    fn planned(&mut self, _planned: &PlanStart<'_>) -> Result<(), NetError> {
        Ok(())
    }
    fn round(&mut self, _round: &Round) -> Result<(), NetError> {
        Ok(())
    }
}

/// What may be asked of a server.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    aggregation: Aggregation,
    optimiser: Optimiser,
    encoding: Encoding,
    download_encoding: Encoding,
    quiet: Option<Quiet>,
}

/// A server and as many agents as there are devices, over plain text on loopback.
fn deployed(folder: &Path, case: &Case, asked: Asked) {
    let Asked { aggregation, optimiser, encoding, download_encoding, quiet } = asked;
    let (learner, devices) = (&case.host, case.agents.len());
    let params = learner.network().params();
    let memory = optimiser.names();
    let new_run =
        NewRun { run_toml: "seed = 11\n", free_keys: &[], stop: None, params: &params, memory: &memory };
    let (mut state, resumed) = RunState::open(folder, &new_run).unwrap();
    let server = Server::start(
        &ServerSettings {
            listen: "127.0.0.1:0".parse().unwrap(),
            security: Security::Plain,
            limits: Limits::default(),
            status: None,
        },
        &Offer {
            task: OfferedTask::BuiltIn(case.offered.clone()),
            seed: SEED,
            parameters: learner.params_len(),
            samples: case.samples.clone().into(),
            samples_max: 1_000_000,
            weights: Default::default(),
            bandwidth_mbps: band().get(),
            encoding,
            download_encoding,
            signals: Default::default(),
            capacity: FleetCapacity { devices_max: devices, slots_max: Some(devices) },
            update_norm: NormBound::of_trial(learner, SEED).unwrap(),
        },
    )
    .unwrap();
    let address = server.address().to_string();
    let trains = case.agents.clone();
    let agents = std::thread::spawn(move || start_agents(&address, &trains));
    let deployment = Deployment {
        scheme: "fixed=0.6".parse().unwrap(),
        constants: None,
        variance: fedflip_plan::DEFAULT_VARIANCE,
        quiet,
        costs: band().into(),
        planned_overhead: None,
        division: Division::Adaptive,
        deadline_secs: None,
        deadline_margin: 0.1,
        aggregation,
        optimiser,
        evaluate_every: EVALUATE_EVERY,
        device_evaluation: None,
        stop: stop(),
        seed: SEED,
        devices_min: devices,
        replan_every: Some(5),
        timeouts: Timeouts { quorum: 1.0, ..Timeouts::default() },
        operators_folder: None,
    };
    let mut worker = learner.worker();
    let header = |planned: &fedflip_net::server::Planned| Header {
        version: fedflip_record::schema::VERSION,
        fedflip: "test".to_owned(),
        task: case.offered.task.name().to_owned(),
        scheme: "fixed=0.6".to_owned(),
        seed: SEED,
        devices: planned.fleet.len(),
        parameters: learner.params_len(),
        bandwidth_mbps: band().get(),
        costs: Default::default(),
        metrics: learner.metrics().iter().map(|metric| metric.info.clone()).collect(),
        stop: None,
        pilot: false,
        expected_participants: planned.expected.participants,
        expected_rounds: None,
        expected_round_secs: None,
        unbiased: None,
        deployed: None,
    };
    let mut callbacks = Callbacks {
        evaluate: &mut |model| learner.evaluate(&mut worker, model.as_slice()),
        metrics: learner.metrics(),
        test: None,
        stop: &|| false,
        observer: &mut Silent,
        enrolled: &mut |_| Ok(()),
    };
    let initial = || learner.initial_model(SEED);
    let ended = deployment.run(&server, (&mut state, resumed), initial, &header, &mut callbacks).unwrap();
    assert!(matches!(ended, Ended::Over(end) if end.rounds == ROUNDS));
    server.finish(None);
    for agent in agents.join().unwrap() {
        assert_eq!(agent.join().unwrap(), Farewell::Finished);
    }
}

/// One after the other, so that the n-th device has the n-th place.
fn start_agents(server: &str, trains: &[Arc<dyn PrepareTask>]) -> Vec<JoinHandle<Farewell>> {
    let start = |(n, trains): (usize, &Arc<dyn PrepareTask>)| {
        let name = format!("device-{n}").parse().unwrap();
        let settings = AgentSettings {
            server: server.to_owned(),
            credentials: Credentials { coin: plain::coin(&name).unwrap(), name, tls: None },
            trains: Arc::clone(trains),
            compute_at_least: Duration::ZERO,
            save_model: None,
            give_up_after: Some(Duration::from_secs(20)),
        };
        let (tell, told) = mpsc::channel();
        let mut attends = move |news| {
            if let News::Attending { slot, .. } = news {
                let _ = tell.send(slot);
            }
        };
        let agent = std::thread::spawn(move || agent::join(&settings, &|| false, &mut attends).unwrap());
        assert_eq!(told.recv_timeout(Duration::from_secs(60)).unwrap(), n);
        agent
    };
    (0..).zip(trains).map(start).collect()
}

/// The coins that the devices have flipped, flipped again.
struct TheirCoins<'a> {
    run: [u8; 16],
    coins: Vec<fedflip_net::CoinKey>,
    schedule: &'a Schedule,
}

impl Sampler for TheirCoins<'_> {
    fn draw(&mut self, round: u64, _: u64, _: &Observed<'_>, draws: &mut Vec<Draw>) {
        draws.clear();
        let toss = Toss { run: self.run, round };
        let plan = self.schedule.plan(round);
        let joins = |n: &usize| self.coins[*n].flip(toss).0.joins(plan.q()[*n]);
        let draw = |device| Draw { device, weight: plan.aggregation_weights()[device] };
        draws.extend((0..self.coins.len()).filter(joins).map(draw));
    }

    fn is_unbiased(&self) -> bool {
        true
    }
}

#[derive(Default)]
struct Kept(Vec<(Vec<usize>, Metrics)>);

impl Sink for Kept {
    fn round(&mut self, record: Round, (): (), _state: &State) -> Result<Control, BoxedError> {
        self.0.push((record.cohort, record.metrics));
        Ok(Control::GoOn)
    }
}

#[test]
fn both_worlds_have_the_same_cohorts_and_the_same_model() {
    parity(&synthetic(), Asked::default());
}

#[test]
fn and_with_quiet_rounds() {
    let quiet = Some(Quiet { variance: 0.2, every: 3 });
    parity(&synthetic(), Asked { quiet, ..Asked::default() });
}

#[test]
fn and_with_an_optimiser_and_updates_in_fewer_bits() {
    let adam = Adaptive { step: 0.05, momentum: 0.9, second_moment: 0.99, epsilon: 1e-3 };
    let optimiser = Optimiser { averaging: 0.8, ..Rule::Adam(adam).into() };
    parity(&synthetic(), Asked { optimiser, encoding: Encoding::Int8, ..Asked::default() });
}

/// Devices are told all options of local training.
#[test]
fn and_with_the_options_of_local_training() {
    let options = LocalOptions { momentum: 0.9, weight_decay: 1e-3, proximal: 0.5 };
    let iterations = SgdSettings { options, ..SgdSettings::plain(0.01, 32, 10) };
    parity(&synthetic_with(iterations), Asked::default());
    parity(&synthetic_with(SgdSettings { steps: Steps::Epochs(2), ..iterations }), Asked::default());
}

/// Devices of both worlds train from the same rounded model.
#[test]
fn and_with_downloads_in_fewer_bits() {
    for download_encoding in [Encoding::F16, Encoding::Int8] {
        parity(&synthetic(), Asked { download_encoding, encoding: Encoding::Int4, ..Asked::default() });
    }
}

/// The deployed world has robust sums too, with limits learnt from the same norms.
#[test]
fn and_with_robust_sums() {
    parity(&synthetic(), Asked { aggregation: Aggregation::Clipped(Clip::Auto), ..Asked::default() });
    let trimmed = Aggregation::Trimmed { share: 0.2, clip: Clip::Auto };
    parity(&synthetic(), Asked { aggregation: trimmed, ..Asked::default() });
}

pub(crate) fn parity(case: &Case, asked: Asked) {
    let Asked { aggregation, optimiser, encoding, download_encoding, quiet } = asked;
    let desk = tempfile::tempdir().unwrap();
    deployed(desk.path(), case, asked);
    let view = StateView::open(desk.path()).unwrap();

    let learner = &case.simulated;
    let stored = view.plan(1).unwrap().unwrap();
    let fleet = csv_file::read(&stored.fleet_csv[..], "fleet.csv").unwrap();
    let plan = Plan::from_q(&fleet, stored.devices.iter().map(|device| device.q).collect()).unwrap();
    let coins =
        view.devices().unwrap().into_iter().map(|device| plain::coin(&device.name.parse().unwrap()).unwrap());
    let mut schedule = Schedule::new(plan, EVALUATE_EVERY);
    if let Some(Quiet { every, .. }) = quiet {
        let quiet_q = stored.devices.iter().map(|device| device.quiet.unwrap()[0]).collect();
        let quiet = Plan::from_q(&fleet, quiet_q).unwrap();
        schedule = schedule.with_quiet(every, quiet).unwrap();
    }
    let coins = TheirCoins { run: view.run_id().unwrap(), coins: coins.collect(), schedule: &schedule };
    let engine = Engine {
        fleet: &fleet,
        schedule: &schedule,
        costs: band().into(),
        division: Division::Adaptive,
        deadline_secs: None,
        deadline_margin: 0.0,
        aggregation,
        optimiser,
        stop: stop(),
    };
    let mut state = State::new(learner.initial_model(SEED)).with_optimiser(&optimiser);
    let mut kept = Kept::default();
    with_crew(learner, 2, |crew| {
        let conditions = Conditions::default();
        let mut world = SimWorld::new(crew, &fleet, &schedule, conditions, (SEED, 0.0))
            .with_sampler(coins)
            .with_encoding(encoding)
            .with_download_encoding(download_encoding);
        engine.run(&mut world, &mut state, &mut kept).unwrap();
    });

    assert_eq!(kept.0.len() as u64, ROUNDS);
    let mut taken = 0;
    for (round, (cohort, metrics)) in (1..).zip(&kept.0) {
        let there = view.round(round).unwrap().unwrap().record;
        assert_eq!(there.cohort, *cohort, "round {round}");
        assert!(there.lost.is_empty());
        assert_eq!(there.metrics, *metrics, "round {round}");
        taken += cohort.len();
    }
    assert!(taken > 10, "the coins were not all tails");
    let params = learner.network().params();
    let theirs = view.model(&params, &optimiser.names()).unwrap().unwrap();
    let bits = |model: &[f32]| model.iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
    assert_eq!(bits(&theirs.numbers), bits(state.model.as_slice()), "to the byte");
    let ours: Vec<Vec<u32>> = state.memory.vectors().map(|(_, vector)| bits(vector)).collect();
    assert_eq!(theirs.memory.iter().map(|vector| bits(vector)).collect::<Vec<_>>(), ours, "to the byte");
    let shown = std::fs::read(desk.path().join("model.safetensors")).unwrap();
    let shown = model_file::read(&params, &shown, "model.safetensors").unwrap();
    assert_eq!(bits(&shown), bits(state.result().as_slice()), "what both have to show");
}
