//! Whole runs in the simulated world: repeatable to the byte, and with the statistics that theory gives.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::path::Path;

use common::{Kept, plan};
use fedflip_engine::{
    Aggregation, BoxedError, Control, Engine, Optimiser, Outcome, Sink, State, Stop, Target, TargetMode,
};
use fedflip_fleet::Conditions;
use fedflip_fleet::bandwidth::Division;
use fedflip_fleet::{Device, Downlink, Download, Fleet, Mbps, RoundCosts, Samples, Secs};
use fedflip_learn::metrics::METRICS;
use fedflip_learn::sgd::{SgdLearner, Steps};
use fedflip_learn::task::{ParamValue, TaskSettings};
use fedflip_learn::{Encoding, LearnError, Learner, Metric, Sums, TrainKey, with_crew};
use fedflip_plan::{Plan, Problem, Schedule, monte_carlo};
use fedflip_record::{EndReason, Initial, Round};
use fedflip_sim::SimWorld;

const DEVICES: usize = 12;

fn learner(iterations: usize) -> SgdLearner {
    let mut settings = TaskSettings::paper("synthetic".parse().unwrap(), DEVICES);
    settings.sgd.steps = Steps::Iterations(iterations);
    settings.sgd.learning_rate = 0.05;
    settings.test_samples_max = 300;
    settings.learner(Path::new("")).unwrap().0
}

fn fleet(learner: &SgdLearner) -> Fleet {
    let mut fleet = Fleet::builder();
    for n in 0..DEVICES {
        let (secs, name) = (|secs| Secs::new(secs).unwrap(), format!("d{n}"));
        let samples = Samples::new(learner.samples(n) as f64).unwrap();
        fleet.push(Device::new(&name, secs(0.5 + 0.25 * n as f64), secs(40.0 - n as f64), samples)).unwrap();
    }
    fleet.build().unwrap()
}

#[derive(Clone, Copy)]
struct Case<'a> {
    learner: &'a SgdLearner,
    fleet: &'a Fleet,
    plan: &'a Plan,
    /// One in this number of rounds has this plan.
    quiet: Option<(u64, &'a Plan)>,
    conditions: Conditions,
    costs: RoundCosts,
    encoding: Encoding,
    aggregation: Aggregation,
    deadline_secs: Option<f64>,
    evaluate_every: u64,
    threads: usize,
}

impl<'a> Case<'a> {
    /// As the fleet says, one worker, nobody looks at the model.
    fn new(learner: &'a SgdLearner, fleet: &'a Fleet, plan: &'a Plan) -> Self {
        let (conditions, encoding) = (Conditions::default(), Encoding::F32);
        let aggregation = Aggregation::Unbiased;
        let (deadline_secs, evaluate_every, threads) = (None, u64::MAX, 1);
        Self {
            learner,
            fleet,
            plan,
            quiet: None,
            conditions,
            costs: band().into(),
            encoding,
            aggregation,
            deadline_secs,
            evaluate_every,
            threads,
        }
    }

    fn run(&self, state: &mut State, rounds_max: u64) -> (Vec<Round>, Outcome) {
        let mut schedule = Schedule::new(self.plan.clone(), self.evaluate_every);
        if let Some((every, quiet)) = self.quiet {
            schedule = schedule.with_quiet(every, quiet.clone()).unwrap();
        }
        let engine = Engine {
            fleet: self.fleet,
            schedule: &schedule,
            costs: self.costs,
            division: Division::Adaptive,
            deadline_secs: self.deadline_secs,
            deadline_margin: 0.0,
            aggregation: self.aggregation,
            optimiser: Optimiser::default(),
            stop: Stop::after_rounds(rounds_max),
        };
        let mut kept = Kept::default();
        let outcome = with_crew(self.learner, self.threads, |crew| {
            let mut world = SimWorld::new(crew, self.fleet, &schedule, self.conditions, (9, state.secs))
                .with_encoding(self.encoding);
            if self.aggregation == Aggregation::CohortMean {
                world = world.with_weighed_rates();
            }
            engine.run(&mut world, state, &mut kept).unwrap()
        });
        (kept.0, outcome)
    }
}

#[test]
fn updates_in_fewer_bits_are_the_same_on_any_number_of_workers() {
    let learner = learner(3);
    let fleet = fleet(&learner);
    let plan = plan(&fleet, "fixed=0.4");
    let run = |encoding, threads| {
        let case = Case { encoding, threads, ..Case::new(&learner, &fleet, &plan) };
        let mut state = State::new(learner.initial_model(9));
        let (rounds, _) = case.run(&mut state, 12);
        (rounds, state)
    };
    let as_it_is = run(Encoding::F32, 1);
    let off = |state: &State| {
        let (a, b) = (as_it_is.1.model.as_slice(), state.model.as_slice());
        a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt()
    };
    let mut before = 0.0;
    for encoding in [Encoding::F16, Encoding::Int8, Encoding::Int4] {
        let one = run(encoding, 1);
        assert_eq!(one, run(encoding, 3), "{encoding:?}");
        let now = off(&one.1);
        assert!(now > before, "{encoding:?}: the fewer bits, the more noise: {now} after {before}");
        before = now;
    }
    let size = as_it_is.1.model.as_slice().iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    assert!(before < 0.2 * size, "{before} of {size}");
}

fn band() -> Mbps {
    Mbps::new(20.0).unwrap()
}

#[test]
fn the_number_of_workers_does_not_change_a_byte() {
    let learner = learner(3);
    let fleet = fleet(&learner);
    let plan = plan(&fleet, "fixed=0.4");
    let conditions = Conditions { compute_jitter: 0.2, fading_db: 3.0, dropout: 0.1 };
    let download = Download { bandwidth: Mbps::new(50.0).unwrap(), per_upload: 4.0 };
    let costs = RoundCosts::from(band())
        .with_overhead(Secs::new(0.5).unwrap())
        .with_downlink(Downlink::Broadcast(download));
    let run = |threads| {
        let deadline_secs = Some(25.0);
        let case = Case {
            conditions,
            costs,
            deadline_secs,
            evaluate_every: 3,
            threads,
            ..Case::new(&learner, &fleet, &plan)
        };
        let mut state = State::new(learner.initial_model(9));
        let (rounds, outcome) = case.run(&mut state, 40);
        // In two parts it is the same.
        let mut again = State::new(learner.initial_model(9));
        let (mut first, _) = case.run(&mut again, 17);
        let mut again =
            State::resumed(again.checkpoint(), learner.params_len(), &Optimiser::default()).unwrap();
        first.extend(case.run(&mut again, 40).0);
        assert_eq!((&first, &again), (&rounds, &state));
        (rounds, outcome, state)
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(5));
    let Outcome::Ended(end) = &one.1 else { panic!("{:?}", one.1) };
    assert_eq!((end.reason, end.rounds), (EndReason::RoundsMax, 40));
    // All that may happen has happened.
    let lost = |reason: &str| one.0.iter().flat_map(|round| &round.lost).any(|lost| lost.reason == reason);
    assert!(lost("vanished") && lost("deadline"));
    assert!(one.0.iter().all(|round| round.round_secs <= 25.5 + 1e-9));
    assert_eq!(one.0.iter().filter(|round| !round.metrics.is_empty()).count(), 13);
}

/// Coins, round times and the aggregate, against what theory says, over many rounds.
#[test]
fn participation_and_round_times_are_those_of_the_plan() {
    const ROUNDS: u64 = 4_000;
    let learner = learner(0);
    let fleet = fleet(&learner);
    let plan = plan(&fleet, "fixed=0.3");
    let case = Case::new(&learner, &fleet, &plan);
    let (rounds, _) = case.run(&mut State::new(learner.initial_model(1)), ROUNDS);
    let count = ROUNDS as f64;
    for device in 0..DEVICES {
        let took_part = rounds.iter().filter(|round| round.cohort.contains(&device)).count() as f64;
        assert!((took_part / count - 0.3).abs() < 4.5 * (0.21 / count).sqrt(), "{device}: {took_part}");
    }
    let expected = monte_carlo::round_secs(&Problem::new(&fleet, band()), plan.q(), 3, 200_000);
    let mean = rounds.iter().map(|round| round.round_secs).sum::<f64>() / count;
    let variance = rounds.iter().map(|round| (round.round_secs - mean).powi(2)).sum::<f64>() / count;
    let error = (variance / count).sqrt().hypot(expected.std_error);
    assert!((mean - expected.mean).abs() < 4.5 * error, "{mean} for {expected:?} ± {error}");
    // An empty round takes no time; times add up.
    assert!(rounds.iter().filter(|round| round.cohort.is_empty()).all(|round| round.round_secs == 0.0));
    let last = rounds.last().unwrap();
    assert!((last.start_secs + last.round_secs - mean * count).abs() < 1e-6 * mean * count);
}

/// The authors' rule, by hand: the plain mean of the cohort, each device with its own learning rate.
#[test]
fn the_mean_of_a_cohort_is_that_of_devices_with_rates_of_their_own() {
    let learner = learner(2);
    let fleet = fleet(&learner);
    let plan = plan(&fleet, "fixed=0.5");
    let start = learner.initial_model(9);
    let mut state = State::new(start.clone());
    let aggregation = Aggregation::CohortMean;
    let (rounds, _) = Case { aggregation, ..Case::new(&learner, &fleet, &plan) }.run(&mut state, 1);
    let cohort = &rounds[0].cohort;
    assert!(cohort.len() > 1, "a cohort of one says nothing about means");
    let (mut worker, mut sum) = (learner.worker(), vec![0.0_f64; learner.params_len()]);
    for &device in cohort {
        let rate_factor = plan.aggregation_weights()[device] as f32;
        let key = TrainKey { rate_factor, ..TrainKey::new(9, 1, device) };
        let mut delta = vec![0.0; sum.len()];
        learner.train(&mut worker, start.as_slice(), key, &mut delta).unwrap();
        sum.iter_mut().zip(&delta).for_each(|(sum, delta)| *sum += f64::from(*delta));
    }
    let mut moved = 0.0_f64;
    for ((after, before), sum) in state.model.as_slice().iter().zip(start.as_slice()).zip(sum) {
        let step = sum / cohort.len() as f64;
        moved = moved.max(step.abs());
        assert!((f64::from(after - before) - step).abs() < 1e-6, "{after} from {before} by {step}");
    }
    assert!(moved > 1e-3, "{moved}");
}

/// E[x + Σ (a/q) Δ] over the coins is the step of full participation.
#[test]
fn aggregation_is_unbiased() {
    const DRAWS: u64 = 300;
    let learner = learner(2);
    let fleet = fleet(&learner);
    let start = learner.initial_model(9);
    let step_after = |plan: &Plan, round: u64| -> Vec<f64> {
        let mut state = State { round, ..State::new(start.clone()) };
        let case = Case::new(&learner, &fleet, plan);
        case.run(&mut state, round + 1);
        let pairs = state.model.as_slice().iter().zip(start.as_slice());
        pairs.map(|(after, before)| f64::from(after - before)).collect()
    };
    // The batches differ from round to round, so both sides are means over rounds.
    let (some, all) = (plan(&fleet, "fixed=0.5"), plan(&fleet, "full"));
    let parameters = learner.params_len();
    let (mut mean, mut square, mut full) =
        (vec![0.0; parameters], vec![0.0; parameters], vec![0.0; parameters]);
    for round in 0..DRAWS {
        let (part, whole) = (step_after(&some, round), step_after(&all, round));
        for k in 0..parameters {
            mean[k] += part[k] / DRAWS as f64;
            square[k] += (part[k] - whole[k]).powi(2) / DRAWS as f64;
            full[k] += whole[k] / DRAWS as f64;
        }
    }
    let mut worst = 0.0_f64;
    for k in 0..parameters {
        let error = (square[k] / DRAWS as f64).sqrt().max(1e-9);
        worst = worst.max((mean[k] - full[k]).abs() / error);
    }
    // 610 parameters: five standard errors happen once in three thousand such tests.
    assert!(worst < 5.0, "{worst} standard errors");
}

/// A quiet round is a round of its own plan, coins, weights, learning rates and all; the others are of theirs, and
/// nobody looks at them.
#[test]
fn quiet_rounds_are_rounds_of_another_plan() {
    const EVERY: u64 = 4;
    let learner = learner(2);
    let fleet = fleet(&learner);
    let (usual, quiet) = (plan(&fleet, "fixed=0.15"), plan(&fleet, "fixed=0.8"));
    for aggregation in [Aggregation::Unbiased, Aggregation::CohortMean] {
        let all = Case { aggregation, evaluate_every: 3, ..Case::new(&learner, &fleet, &usual) };
        let with_quiet = Case { quiet: Some((EVERY, &quiet)), threads: 2, ..all };
        let mut state = State::new(learner.initial_model(9));
        let (rounds, _) = with_quiet.run(&mut state, 3 * EVERY);

        let mut by_hand = State::new(learner.initial_model(9));
        let mut taken = [0, 0];
        for (round, found) in (1..).zip(&rounds) {
            let is_quiet = round % EVERY == 0;
            let own = Case { plan: if is_quiet { &quiet } else { &usual }, ..all };
            let own = Case { evaluate_every: EVERY, ..own };
            assert_eq!(*found, own.run(&mut by_hand, round).0[0], "round {round}");
            assert_eq!(!found.metrics.is_empty(), is_quiet, "round {round}");
            taken[usize::from(is_quiet)] += found.cohort.len();
        }
        assert_eq!(state, by_hand);
        // Nine rounds of one plan, three of the other.
        assert!(taken[1] > taken[0] && taken[0] > 0, "{taken:?}");
    }
}

/// What is recorded of a model is of that model, also when nobody takes part in the round that looks at it.
#[test]
fn evaluations_are_of_the_model_that_is_there() {
    let learner = learner(2);
    let fleet = fleet(&learner);
    let plan = plan(&fleet, "fixed=0.05");
    let case = Case { evaluate_every: 3, ..Case::new(&learner, &fleet, &plan) };
    let mut state = State::new(learner.initial_model(9));
    let mut worker = learner.worker();
    let (mut moved, mut covered) = (false, 0);
    for round in 1..=60 {
        let (rounds, outcome) = case.run(&mut state, round);
        let expected = learner.evaluate(&mut worker, state.model.as_slice()).unwrap();
        let Outcome::Ended(end) = outcome else { panic!("{outcome:?}") };
        // In the round, or at the end of a run whose last round was not looked at.
        let found = [&rounds[0].metrics, &end.metrics].into_iter().find(|metrics| !metrics.is_empty());
        assert_eq!(found.or(state.evaluated.as_ref()), Some(&expected), "round {round}");
        assert_eq!(!rounds[0].metrics.is_empty(), round % 3 == 0);
        covered += u64::from(round % 3 == 0 && moved && rounds[0].cohort.is_empty());
        moved = if round % 3 == 0 { false } else { moved || !rounds[0].cohort.is_empty() };
    }
    assert!(covered > 0, "an empty round that looks at a model that has moved");
}

/// A device that vanishes late does not hold the round up past its deadline.
#[test]
fn no_round_outlasts_its_deadline() {
    let learner = learner(0);
    let fleet = fleet(&learner);
    let plan = plan(&fleet, "full");
    let case = Case {
        conditions: Conditions { dropout: 0.9, ..Conditions::default() },
        deadline_secs: Some(10.0),
        ..Case::new(&learner, &fleet, &plan)
    };
    let (rounds, _) = case.run(&mut State::new(learner.initial_model(1)), 200);
    assert!(rounds.iter().all(|round| round.round_secs <= 10.0 + 1e-9));
    let reasons =
        |reason: &str| rounds.iter().flat_map(|round| &round.lost).any(|lost| lost.reason == reason);
    assert!(reasons("vanished") && reasons("deadline"));
}

/// A learner of somebody else's that panics on one device.
struct Fragile;

impl Learner for Fragile {
    type Worker = ();

    fn devices(&self) -> usize {
        DEVICES
    }
    fn samples(&self, _device: usize) -> usize {
        1
    }
    fn params_len(&self) -> usize {
        1
    }
    fn initial_model(&self, _seed: u64) -> fedflip_fleet::ModelVector {
        fedflip_fleet::ModelVector::new(vec![0.0])
    }
    fn worker(&self) {}
    fn train(&self, (): &mut (), _: &[f32], key: TrainKey, _: &mut [f32]) -> Result<f64, LearnError> {
        assert!(key.device != 3, "device {} broke its worker", key.device);
        Ok(0.0)
    }
    fn test_samples(&self) -> usize {
        0
    }
    fn metrics(&self) -> &[Metric] {
        &METRICS[..2]
    }
    fn score(
        &self,
        (): &mut (),
        _: &[f32],
        _: std::ops::Range<usize>,
        _: &mut Sums,
    ) -> Result<(), LearnError> {
        Ok(())
    }
}

#[test]
fn a_worker_that_dies_is_an_error_and_no_hang() {
    let fleet = fleet(&learner(0));
    let schedule = Schedule::new(plan(&fleet, "full"), 1);
    let engine = Engine {
        fleet: &fleet,
        schedule: &schedule,
        costs: band().into(),
        division: Division::Equal,
        deadline_secs: None,
        deadline_margin: 0.0,
        aggregation: Aggregation::Unbiased,
        optimiser: Optimiser::default(),
        stop: Stop::after_rounds(5),
    };
    for threads in [1, 4] {
        let mut state = State::new(Fragile.initial_model(1));
        with_crew(&Fragile, threads, |crew| {
            let conditions = Conditions::default();
            let mut world = SimWorld::new(crew, &fleet, &schedule, conditions, (1, 0.0));
            let error = engine.run(&mut world, &mut state, &mut Kept::default()).unwrap_err();
            assert!(error.to_string().contains("device 3 broke its worker"), "{error}");
        });
    }
}

/// The first model is evaluated once: before the first round, at the time at which the run begins.
#[test]
fn the_first_model_is_evaluated_and_may_already_meet_the_target() {
    #[derive(Default)]
    struct Initials(Vec<Initial>);

    impl Sink for Initials {
        fn initial(&mut self, initial: Initial, state: &State) -> Result<Control, BoxedError> {
            assert_eq!(state.evaluated.as_ref(), Some(&initial.metrics));
            self.0.push(initial);
            Ok(Control::GoOn)
        }

        fn round(&mut self, _: Round, (): (), _: &State) -> Result<Control, BoxedError> {
            Ok(Control::Stop)
        }
    }

    let learner = learner(0);
    let fleet = fleet(&learner);
    let schedule = Schedule::new(plan(&fleet, "full"), 1);
    let first = learner.evaluate(&mut learner.worker(), learner.initial_model(1).as_slice()).unwrap();
    let target = |metric: &str, at, mode| Some(Target { metric: metric.to_owned(), at, mode });
    let run = |target, state: &mut State| {
        let engine = Engine {
            fleet: &fleet,
            schedule: &schedule,
            costs: band().into(),
            division: Division::Equal,
            deadline_secs: None,
            deadline_margin: 0.0,
            aggregation: Aggregation::Unbiased,
            optimiser: Optimiser::default(),
            stop: Stop { target, ..Stop::after_rounds(5) },
        };
        let mut initials = Initials::default();
        let outcome = with_crew(&learner, 2, |crew| {
            let mut world = SimWorld::new(crew, &fleet, &schedule, Conditions::default(), (1, state.secs));
            engine.run(&mut world, state, &mut initials)
        });
        (outcome, initials.0)
    };
    let start = || State { secs: 12.5, ..State::new(learner.initial_model(1)) };
    let mut state = start();
    let (outcome, initials) = run(None, &mut state);
    assert_eq!(outcome.unwrap(), Outcome::Stopped);
    assert_eq!(initials, [Initial { secs: 12.5, metrics: first.clone(), estimated: None }]);
    assert_eq!(run(None, &mut state).1, [], "a run that is resumed does not evaluate it again");

    for met in [
        target("accuracy", first.get("accuracy").unwrap(), TargetMode::Max),
        target("loss", first.get("loss").unwrap() + 0.1, TargetMode::Min),
        target("f1", 0.0, TargetMode::Max),
    ] {
        let Outcome::Ended(end) = run(met, &mut start()).0.unwrap() else { panic!("it must end") };
        assert_eq!((end.reason, end.rounds, end.secs), (EndReason::Target, 0, 12.5));
    }
    let error = run(target("rmse", 1.0, TargetMode::Min), &mut start()).0.unwrap_err().to_string();
    assert!(error.contains("rmse") && error.contains("accuracy, loss, f1"), "{error}");
}

#[test]
fn divergence_ends_the_run_with_the_last_good_model() {
    let mut settings = TaskSettings::paper("synthetic".parse().unwrap(), DEVICES);
    settings.sgd.learning_rate = 1e6;
    for (name, value) in [
        ("model_spread", ParamValue::Number(1.0)),
        ("data_spread", ParamValue::Number(1.0)),
        ("hidden", ParamValue::Count(16)),
    ] {
        settings.task.set(name, value).unwrap();
    }
    let (learner, _) = settings.learner(Path::new("")).unwrap();
    let fleet = fleet(&learner);
    let plan = plan(&fleet, "full");
    let run = |threads| {
        let case = Case { evaluate_every: 1, threads, ..Case::new(&learner, &fleet, &plan) };
        let mut state = State::new(learner.initial_model(1));
        let (rounds, outcome) = case.run(&mut state, 100);
        assert_eq!(rounds.len() as u64, state.round);
        assert!(state.model.as_slice().iter().all(|x| x.is_finite()));
        outcome
    };
    let Outcome::Ended(end) = run(1) else { panic!("it must end") };
    assert_eq!(end.reason, EndReason::Diverged);
    assert!(end.detail.as_ref().unwrap().contains("device"), "{end:?}");
    assert_eq!(Outcome::Ended(end), run(3));
}
