//! Whole runs without rounds: the same bytes for any number of workers, and however often they are interrupted.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::Path;

use fedflip_engine::optimiser::{Adaptive, Rule};
use fedflip_engine::{Aggregation, BoxedError, Control, Engine, Optimiser, Outcome, Sink, State, Stop};
use fedflip_fleet::bandwidth::Division;
use fedflip_fleet::{Columns, Conditions, Downlink, Download, Fleet, Mbps, RoundCosts, Secs};
use fedflip_learn::sgd::{SgdLearner, Steps};
use fedflip_learn::task::TaskSettings;
use fedflip_learn::{Encoding, Learner, with_crew};
use fedflip_plan::{Buffered, Plan, Schedule, Scheme};
use fedflip_record::Round;
use fedflip_sim::{BufferedWorld, Timeline};

const DEVICES: usize = 9;
const STEPS: u64 = 24;
const SEED: u64 = 11;

fn learner() -> SgdLearner {
    let mut settings = TaskSettings::paper("synthetic".parse().unwrap(), DEVICES);
    settings.sgd.steps = Steps::Iterations(4);
    settings.sgd.learning_rate = 0.05;
    settings.test_samples_max = 200;
    settings.learner(Path::new("")).unwrap().0
}

fn fleet() -> Fleet {
    let column = |of: fn(f64) -> f64| (0..DEVICES).map(|n| of(n as f64)).collect::<Vec<f64>>();
    Fleet::from_columns(Columns {
        compute_secs: &column(|n| 0.5 + 0.4 * n),
        comm_secs: &column(|n| 9.0 - 0.5 * n),
        samples: &column(|_| 1.0),
        ..Columns::default()
    })
    .unwrap()
}

struct Case {
    learner: SgdLearner,
    fleet: Fleet,
    scheme: Scheme,
    concurrency: usize,
    costs: RoundCosts,
    conditions: Conditions,
    encodings: [Encoding; 2],
    optimiser: Optimiser,
}

impl Case {
    fn plain(scheme: &str, concurrency: usize) -> Self {
        Self {
            learner: learner(),
            fleet: fleet(),
            scheme: scheme.parse().unwrap(),
            concurrency,
            costs: Mbps::new(6.0).unwrap().into(),
            conditions: Conditions::default(),
            encodings: [Encoding::default(); 2],
            optimiser: Optimiser::default(),
        }
    }

    /// Everything that the simulated world can do to a run.
    fn adverse() -> Self {
        let download = Download { bandwidth: Mbps::new(9.0).unwrap(), per_upload: 0.6 };
        let adaptive = Adaptive { step: 0.02, momentum: 0.9, second_moment: 0.99, epsilon: 1e-3 };
        let plain = Self::plain("fedbuff=3", 5);
        Self {
            costs: plain
                .costs
                .with_overhead(Secs::new(0.4).unwrap())
                .with_downlink(Downlink::Unicast(download)),
            conditions: Conditions { compute_jitter: 0.3, fading_db: 3.0, dropout: 0.2 },
            encodings: [Encoding::Int8; 2],
            optimiser: Optimiser { rule: Rule::Adam(adaptive), averaging: 0.9 },
            ..plain
        }
    }

    fn first(&self) -> State {
        State::new(self.learner.initial_model(SEED)).with_optimiser(&self.optimiser)
    }

    fn schedule(&self) -> Schedule {
        Schedule::new(Plan::baseline(&self.fleet, &self.scheme).unwrap(), 5)
    }

    fn engine<'a>(&'a self, schedule: &'a Schedule, steps: u64) -> Engine<'a> {
        Engine {
            fleet: &self.fleet,
            schedule,
            costs: self.costs,
            division: Division::Adaptive,
            deadline_secs: None,
            deadline_margin: 0.0,
            aggregation: Aggregation::Unbiased,
            optimiser: self.optimiser,
            stop: Stop::after_rounds(steps),
        }
    }

    /// Runs on from a state; `kept` is interrupted where it wants.
    fn run(&self, state: &mut State, kept: &mut Kept, threads: usize) -> Outcome {
        let schedule = self.schedule();
        let updates = self.scheme.method().buffer().unwrap();
        let buffered = Buffered::new(updates, Some(self.concurrency), DEVICES).unwrap();
        let [upload, download] = self.encodings;
        with_crew(&self.learner, threads, |crew| {
            let timeline = Timeline::new(&self.fleet, buffered, self.costs, self.conditions, (SEED, 0.0));
            let mut world = BufferedWorld::new(crew, timeline, buffered, SEED)
                .with_encoding(upload)
                .with_download_encoding(download)
                .resumed(state)
                .unwrap();
            self.engine(&schedule, STEPS).run(&mut world, state, kept).unwrap()
        })
    }
}

/// Keeps records as text, and interrupts the run after a step.
#[derive(Default)]
struct Kept {
    records: Vec<Round>,
    stop_after: Option<u64>,
}

impl Sink for Kept {
    fn round(&mut self, record: Round, (): (), state: &State) -> Result<Control, BoxedError> {
        self.records.push(record);
        Ok(if self.stop_after == Some(state.round) { Control::Stop } else { Control::GoOn })
    }
}

#[test]
fn interrupted_runs_come_to_the_same_bytes_with_any_number_of_workers() {
    let case = Case::adverse();
    let (mut whole, mut state) = (Kept::default(), case.first());
    case.run(&mut state, &mut whole, 1);
    assert!(whole.records.iter().any(|record| !record.lost.is_empty()));
    assert!(whole.records.iter().any(|record| record.lags.iter().any(|&lag| lag > 1)));
    assert!(whole.records.iter().all(|record| record.cohort.len() == 3 + record.lost.len()));
    for threads in [1, 2] {
        for stop_after in [1, 2, 7, 16, 23] {
            let (mut kept, mut parts) =
                (Kept { stop_after: Some(stop_after), ..Kept::default() }, case.first());
            assert_eq!(case.run(&mut parts, &mut kept, 3 - threads), Outcome::Stopped);
            let checkpoint = parts.checkpoint();
            let parameters = parts.model.as_slice().len();
            // Another number of stale models does not belong to this timeline.
            let mut resumed = State::resumed(checkpoint, parameters, &case.optimiser).unwrap();
            assert_eq!(resumed.stale.len(), parts.stale.len());
            kept.stop_after = None;
            case.run(&mut resumed, &mut kept, threads);
            assert_eq!(kept.records, whole.records, "{threads} {stop_after}");
            assert_eq!((&resumed.model, &resumed.memory), (&state.model, &state.memory));
            assert_eq!(resumed.secs.to_bits(), state.secs.to_bits());
        }
    }
}

#[test]
fn a_state_of_another_timeline_is_refused() {
    let case = Case::plain("fedbuff=2", 6);
    let (mut kept, mut state) = (Kept { stop_after: Some(6), ..Kept::default() }, case.first());
    case.run(&mut state, &mut kept, 1);
    assert!(!state.stale.is_empty());
    let buffered = Buffered::new(case.scheme.method().buffer().unwrap(), Some(6), DEVICES).unwrap();
    let accepted = |state: &State| {
        with_crew(&case.learner, 1, |crew| {
            let timeline = Timeline::new(&case.fleet, buffered, case.costs, case.conditions, (SEED, 0.0));
            BufferedWorld::new(crew, timeline, buffered, SEED).resumed(state).is_some()
        })
    };
    assert!(accepted(&state));
    assert!(!accepted(&State { stale: Vec::new(), ..state.clone() }));
    assert!(!accepted(&State { secs: state.secs + 1.0, ..state.clone() }));
}
