//! What a round costs besides training: coins, bandwidth, clock, aggregation, records.

use std::hint::black_box;

use fedflip_engine::aggregate::{Aggregator, Rule};
use fedflip_engine::{Aggregation, BoxedError, Control, Engine, Optimiser, Sink, State, Stop};
use fedflip_fleet::Conditions;
use fedflip_fleet::bandwidth::Division;
use fedflip_fleet::{Columns, Fleet, Mbps, Probability};
use fedflip_learn::sgd::{SgdLearner, SgdSettings};
use fedflip_learn::shards::{SampleBuffer, Shards};
use fedflip_learn::task::Task;
use fedflip_learn::{Learner, with_crew};
use fedflip_plan::{Plan, Schedule, Scheme};
use fedflip_record::folder::{Caps, Contents};
use fedflip_record::schema::VERSION;
use fedflip_record::{Header, RecordedCosts, Round, RunFolder};
use fedflip_sim::SimWorld;
use serde::{Deserialize, Serialize};

use super::bench::on_threads;
use super::bench_buffered;
use crate::error::CliError;
use crate::interrupt::now;

/// Of the rounds that are measured, on average.
const COHORT: f64 = 10.0;
/// Numbers of the vectors that are added up: those of the wide CNN, more than fit a cache.
const NUMBERS: usize = 1_663_370;

#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct EngineJson {
    /// With no local iterations, the 21,840-parameter model, ten of a hundred devices a round, and records.
    pub rounds_per_sec: f64,
    /// The same for ten of a million devices.
    pub million_devices_round_ms: f64,
    /// Starts and ends of computations and uploads under a scheme without rounds, with their steps.
    #[serde(default)]
    pub events_per_sec: f64,
    /// Bytes read and written per second while updates are added up.
    pub aggregation_gb_per_sec: f64,
    /// Bytes read and written per second while memory is copied.
    pub memcpy_gb_per_sec: f64,
}

pub(super) fn measure(threads: usize, secs: f64) -> Result<EngineJson, CliError> {
    Ok(EngineJson {
        rounds_per_sec: rounds_per_sec(100, threads, secs, true)?,
        million_devices_round_ms: 1e3 / rounds_per_sec(1_000_000, threads, secs, false)?,
        events_per_sec: bench_buffered::events_per_sec(threads, secs)?,
        aggregation_gb_per_sec: aggregation_gb_per_sec(secs),
        memcpy_gb_per_sec: memcpy_gb_per_sec(secs),
    })
}

/// Devices with a sample each, of which nobody ever sees anything: there are no iterations.
struct Blank {
    devices: usize,
}

impl Shards for Blank {
    fn devices(&self) -> usize {
        self.devices
    }

    fn samples(&self, _device: usize) -> usize {
        1
    }

    fn samples_max(&self) -> usize {
        1
    }

    fn write_batch(&self, _: usize, _: &SampleBuffer, _: &[u32], _: &mut [f32], _: &mut [f32]) {}

    fn test_samples(&self) -> usize {
        0
    }

    fn write_test_batch(&self, _first: usize, _features: &mut [f32], _labels: &mut [f32]) {}
}

/// Keeps records, if there is a folder, until the time is up.
pub(super) struct Clocked {
    pub folder: Option<RunFolder>,
    pub end: std::time::Instant,
}

impl Sink for Clocked {
    fn round(&mut self, record: Round, (): (), _state: &State) -> Result<Control, BoxedError> {
        if let Some(folder) = &mut self.folder {
            folder.append(record)?;
        }
        Ok(if now() < self.end { Control::GoOn } else { Control::Stop })
    }
}

/// A learner whose trainings are over at once: the 21,840-parameter model, and no local iterations.
pub(super) fn idle_learner(devices: usize) -> Result<SgdLearner, CliError> {
    let settings = SgdSettings::plain(0.01, 1, 0);
    let network = Task::by_name("mnist-cnn")?.network()?;
    Ok(SgdLearner::new(network, Box::new(Blank { devices }), settings)?)
}

fn rounds_per_sec(devices: usize, threads: usize, secs: f64, records: bool) -> Result<f64, CliError> {
    let learner = idle_learner(devices)?;
    let fleet = fleet(devices)?;
    let q = Probability::new(COHORT / devices as f64).map_err(CliError::flag("q"))?;
    let scheme = Scheme::Fixed(q);
    let plan = Plan::baseline(&fleet, &scheme)?;
    // Nobody looks at the model.
    let schedule = Schedule::new(plan, u64::MAX);
    let engine = Engine {
        fleet: &fleet,
        schedule: &schedule,
        costs: Mbps::new(100.0).map_err(CliError::flag("bandwidth"))?.into(),
        division: Division::Adaptive,
        deadline_secs: None,
        deadline_margin: 0.0,
        aggregation: Aggregation::Unbiased,
        optimiser: Optimiser::default(),
        stop: Stop::after_rounds(u64::MAX),
    };
    let path = std::env::temp_dir().join(format!("fedflip-bench-{}-{devices}", std::process::id()));
    // One of its own: what is there already is somebody else's.
    if records {
        std::fs::create_dir(&path)?;
    }
    let mut state = State::new(learner.initial_model(1));
    let outcome = with_crew(&learner, threads, |crew| -> Result<f64, CliError> {
        let folder = if records {
            Some(RunFolder::open(&path, &contents(&scheme, schedule.usual()), false)?.0)
        } else {
            None
        };
        let conditions = Conditions::default();
        let mut world = SimWorld::new(crew, &fleet, &schedule, conditions, (1, 0.0));
        let start = now();
        let mut sink = Clocked { folder, end: start + std::time::Duration::from_secs_f64(secs) };
        engine.run(&mut world, &mut state, &mut sink)?;
        Ok(state.round as f64 / start.elapsed().as_secs_f64())
    });
    if records {
        // Whatever came of it, nothing stays.
        let _ = std::fs::remove_dir_all(&path);
    }
    outcome
}

pub(super) fn fleet(devices: usize) -> Result<Fleet, CliError> {
    let column = |value: fn(usize) -> f64| (0..devices).map(value).collect::<Vec<f64>>();
    Ok(Fleet::from_columns(Columns {
        compute_secs: &column(|n| 0.1 + (n % 7) as f64 * 0.01),
        comm_secs: &column(|n| 0.7 + (n % 5) as f64 * 0.1),
        samples: &column(|_| 1.0),
        ..Columns::default()
    })?)
}

fn contents(scheme: &Scheme, plan: &Plan) -> Contents<'static> {
    let header = Header {
        version: VERSION,
        fedflip: env!("CARGO_PKG_VERSION").to_owned(),
        task: "mnist-cnn".to_owned(),
        scheme: scheme.to_string(),
        seed: 1,
        devices: plan.q().len(),
        parameters: 21_840,
        bandwidth_mbps: 100.0,
        costs: RecordedCosts::default(),
        metrics: Vec::new(),
        stop: None,
        pilot: false,
        expected_participants: COHORT,
        expected_rounds: None,
        expected_round_secs: None,
        unbiased: None,
        deployed: None,
    };
    Contents {
        run: String::new(),
        free_keys: &[],
        caps: Caps::NONE,
        fleet: Vec::new(),
        plan: Vec::new(),
        header,
        copies: Vec::new(),
    }
}

fn aggregation_gb_per_sec(secs: f64) -> f64 {
    let updates = on_threads(1, secs, || {
        let mut aggregator = Aggregator::default();
        let mut delta = vec![0.5_f32; NUMBERS];
        aggregator.begin(NUMBERS, Rule::Plain);
        let mut place = 0;
        move || {
            let mut used = Vec::new();
            aggregator.take(place, Some(std::mem::take(&mut delta)), |_| 0.25, |back| used = back);
            delta = used;
            place += 1;
        }
    });
    // The sum is read and written, the update is read.
    updates * 12.0 * NUMBERS as f64 * 1e-9
}

fn memcpy_gb_per_sec(secs: f64) -> f64 {
    let copies = on_threads(1, secs, || {
        let (from, mut to) = (vec![0.5_f32; NUMBERS], vec![0.0_f32; NUMBERS]);
        move || {
            to.copy_from_slice(black_box(&from));
            black_box(&mut to);
        }
    });
    copies * 8.0 * NUMBERS as f64 * 1e-9
}
