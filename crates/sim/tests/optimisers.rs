//! Whole runs with an optimiser at the server: repeatable, resumable at every round, and shown by their average.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::Path;

use fedflip_engine::optimiser::{Adaptive, Rule};
use fedflip_engine::{
    Aggregation, BoxedError, Control, Engine, EngineError, Optimiser, Outcome, Sink, State, Stop,
};
use fedflip_fleet::Conditions;
use fedflip_fleet::bandwidth::Division;
use fedflip_fleet::{Device, Fleet, Mbps, Probability, Samples, Secs};
use fedflip_learn::sgd::{SgdLearner, Steps};
use fedflip_learn::task::TaskSettings;
use fedflip_learn::{Learner, with_crew};
use fedflip_plan::{Plan, Schedule, Scheme};
use fedflip_record::{Checkpoint, Round};
use fedflip_sim::SimWorld;

const DEVICES: usize = 6;
const ROUNDS: u64 = 14;
const SEED: u64 = 9;

struct Kept(Vec<Round>);

impl Sink for Kept {
    fn round(&mut self, record: Round, _: (), _state: &State) -> Result<Control, BoxedError> {
        self.0.push(record);
        Ok(Control::GoOn)
    }
}

struct Bench {
    learner: SgdLearner,
    fleet: Fleet,
    schedule: Schedule,
}

impl Bench {
    /// Every fourth round or so is empty.
    fn new() -> Self {
        let mut settings = TaskSettings::paper("synthetic".parse().unwrap(), DEVICES);
        settings.sgd.learning_rate = 0.05;
        settings.sgd.steps = Steps::Iterations(3);
        settings.test_samples_max = 100;
        let learner = settings.learner(Path::new("")).unwrap().0;
        let mut fleet = Fleet::builder();
        for n in 0..DEVICES {
            let device = Device {
                name: &format!("d{n}"),
                compute_secs: Secs::new(1.0 + n as f64).unwrap(),
                comm_secs: Secs::new(2.0).unwrap(),
                samples: Samples::new(learner.samples(n) as f64).unwrap(),
                availability: Probability::ONE,
                link_mbps: None,
                snr_db: None,
            };
            fleet.push(device).unwrap();
        }
        let fleet = fleet.build().unwrap();
        let plan = Plan::baseline(&fleet, &"fixed=0.2".parse::<Scheme>().unwrap()).unwrap();
        Self { learner, fleet, schedule: Schedule::new(plan, 3) }
    }

    fn start(&self, optimiser: &Optimiser) -> State {
        State::new(self.learner.initial_model(SEED)).with_optimiser(optimiser)
    }

    fn run(
        &self,
        optimiser: Optimiser,
        threads: usize,
        state: &mut State,
        rounds_max: u64,
    ) -> Result<(Vec<Round>, Outcome), EngineError> {
        let engine = Engine {
            fleet: &self.fleet,
            schedule: &self.schedule,
            costs: Mbps::new(20.0).unwrap().into(),
            division: Division::Adaptive,
            deadline_secs: None,
            deadline_margin: 0.0,
            aggregation: Aggregation::Unbiased,
            optimiser,
            stop: Stop::after_rounds(rounds_max),
        };
        let mut kept = Kept(Vec::new());
        let outcome = with_crew(&self.learner, threads, |crew| {
            let clock = (SEED, state.secs);
            let mut world = SimWorld::new(crew, &self.fleet, &self.schedule, Conditions::default(), clock);
            engine.run(&mut world, state, &mut kept)
        })?;
        Ok((kept.0, outcome))
    }
}

fn optimisers() -> Vec<Optimiser> {
    let adaptive = Adaptive { step: 0.05, momentum: 0.9, second_moment: 0.99, epsilon: 1e-3 };
    let rules =
        [Rule::None, Rule::Momentum { step: 1.0, momentum: 0.5 }, Rule::Adam(adaptive), Rule::Yogi(adaptive)];
    rules
        .into_iter()
        .flat_map(|rule| [0.0, 0.8].map(|averaging| Optimiser { averaging, ..rule.into() }))
        .collect()
}

#[test]
fn stopped_after_any_round_and_on_any_number_of_workers_a_run_is_the_same() {
    let bench = Bench::new();
    for optimiser in optimisers() {
        let mut whole = bench.start(&optimiser);
        let (rounds, outcome) = bench.run(optimiser, 1, &mut whole, ROUNDS).unwrap();
        assert!(rounds.iter().any(|round| round.cohort.is_empty()), "empty rounds count, too");
        for stop in 1..ROUNDS {
            let threads = 1 + stop as usize % 3;
            let mut part = bench.start(&optimiser);
            let (mut found, _) = bench.run(optimiser, threads, &mut part, stop).unwrap();
            let bytes = part.checkpoint().to_bytes();
            let checkpoint = Checkpoint::from_bytes(&bytes).unwrap();
            let parameters = bench.learner.params_len();
            let mut again = State::resumed(checkpoint, parameters, &optimiser).unwrap();
            assert_eq!(again, part, "{optimiser:?}, after round {stop}");
            let (rest, end) = bench.run(optimiser, threads, &mut again, ROUNDS).unwrap();
            found.extend(rest);
            assert_eq!((&found, &end, &again), (&rounds, &outcome, &whole), "{optimiser:?}, after {stop}");
        }
    }
}

/// What is recorded is of the average where there is one, in empty rounds too, and devices never see it.
#[test]
fn evaluations_are_of_what_is_shown() {
    let bench = Bench::new();
    let mut worker = bench.learner.worker();
    for optimiser in optimisers() {
        let mut state = bench.start(&optimiser);
        let mut alone = bench.start(&Optimiser { averaging: 0.0, ..optimiser });
        for round in 1..=ROUNDS {
            let (rounds, outcome) = bench.run(optimiser, 1, &mut state, round).unwrap();
            bench.run(Optimiser { averaging: 0.0, ..optimiser }, 1, &mut alone, round).unwrap();
            assert_eq!(state.model, alone.model, "{optimiser:?}: the average stays beside");
            let shown = bench.learner.evaluate(&mut worker, state.result().as_slice()).unwrap();
            let Outcome::Ended(end) = outcome else { panic!("{outcome:?}") };
            let found = [&rounds[0].metrics, &end.metrics].into_iter().find(|metrics| !metrics.is_empty());
            assert_eq!(found.or(state.evaluated.as_ref()), Some(&shown), "{optimiser:?}, round {round}");
        }
        assert_eq!(state.result() != &state.model, optimiser.averaging > 0.0);
    }
}

#[test]
fn the_state_of_another_optimiser_is_refused() {
    let bench = Bench::new();
    let [plain, .., yogi] = &optimisers()[..] else { unreachable!() };
    let error = bench.run(*yogi, 1, &mut bench.start(plain), 1).unwrap_err();
    assert!(error.to_string().contains("second_moment"), "{error}");
    let error = bench.run(*plain, 1, &mut bench.start(yogi), 1).unwrap_err();
    assert!(error.to_string().contains("average"), "{error}");
}

/// A plain run keeps what it always kept: its model.
#[test]
fn without_an_optimiser_nothing_is_remembered() {
    let bench = Bench::new();
    let plain = Optimiser::default();
    let mut state = bench.start(&plain);
    bench.run(plain, 1, &mut state, ROUNDS).unwrap();
    assert_eq!(state.checkpoint().vectors, [state.model.as_slice().to_vec()]);
    assert_eq!(state.memory, fedflip_engine::optimiser::Memory::default());
}
