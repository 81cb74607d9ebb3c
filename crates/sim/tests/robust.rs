//! What robust sums withstand: devices that send changed updates, in whole seeded runs.
//!
//! The table in `docs/reference/scenario.md` is made here: `INSTA_UPDATE=always cargo nextest run -p fedflip-sim robust`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::ops::Range;
use std::path::{Path, PathBuf};

use common::{Kept, plan};
use fedflip_engine::{Aggregation, Clip, Engine, EngineError, Optimiser, Outcome, State, Stop};
use fedflip_fleet::Conditions;
use fedflip_fleet::bandwidth::Division;
use fedflip_fleet::{Device, Fleet, Mbps, ModelVector, Probability, Samples, Secs};
use fedflip_learn::sgd::SgdLearner;
use fedflip_learn::task::TaskSettings;
use fedflip_learn::{LearnError, Learner, Metric, Sums, TrainKey, with_crew};
use fedflip_plan::Schedule;
use fedflip_record::Round;
use fedflip_sim::SimWorld;

const DEVICES: usize = 20;
const ROUNDS: u64 = 100;
const SEEDS: [u64; 3] = [1, 2, 3];
const CLIPPED: Aggregation = Aggregation::Clipped(Clip::Auto);
/// The default share, and one that is larger than the share of hostile devices in every case here.
const TRIMMED_LITTLE: Aggregation = Aggregation::Trimmed { share: Aggregation::TRIM, clip: Clip::Auto };
const TRIMMED: Aggregation = Aggregation::Trimmed { share: 0.25, clip: Clip::Auto };

/// A learner some of whose devices send their updates times a factor.
struct Hostile<'a> {
    honest: &'a SgdLearner,
    /// This number of the devices, spread over the fleet.
    devices: usize,
    factor: f32,
}

impl Hostile<'_> {
    fn is_hostile(&self, device: usize) -> bool {
        self.devices > 0 && device.is_multiple_of(DEVICES / self.devices)
    }
}

impl Learner for Hostile<'_> {
    type Worker = <SgdLearner as Learner>::Worker;

    fn devices(&self) -> usize {
        self.honest.devices()
    }
    fn samples(&self, device: usize) -> usize {
        self.honest.samples(device)
    }
    fn params_len(&self) -> usize {
        self.honest.params_len()
    }
    fn initial_model(&self, seed: u64) -> ModelVector {
        self.honest.initial_model(seed)
    }
    fn worker(&self) -> Self::Worker {
        self.honest.worker()
    }
    fn train(
        &self,
        worker: &mut Self::Worker,
        model: &[f32],
        key: TrainKey,
        update: &mut [f32],
    ) -> Result<f64, LearnError> {
        let loss = self.honest.train(worker, model, key, update)?;
        if self.is_hostile(key.device) {
            update.iter_mut().for_each(|number| *number *= self.factor);
        }
        Ok(loss)
    }
    fn test_samples(&self) -> usize {
        self.honest.test_samples()
    }
    fn score(
        &self,
        worker: &mut Self::Worker,
        model: &[f32],
        samples: Range<usize>,
        sums: &mut Sums,
    ) -> Result<(), LearnError> {
        self.honest.score(worker, model, samples, sums)
    }
    fn metrics(&self) -> &[Metric] {
        self.honest.metrics()
    }
}

fn learner() -> SgdLearner {
    let mut settings = TaskSettings::paper("synthetic".parse().unwrap(), DEVICES);
    settings.test_samples_max = 1000;
    settings.sgd.learning_rate = 0.02;
    settings.learner(Path::new("")).unwrap().0
}

fn fleet(learner: &SgdLearner) -> Fleet {
    let mut fleet = Fleet::builder();
    for n in 0..DEVICES {
        let device = Device {
            name: &format!("d{n}"),
            compute_secs: Secs::new(1.0).unwrap(),
            comm_secs: Secs::new(1.0).unwrap(),
            samples: Samples::new(learner.samples(n) as f64).unwrap(),
            availability: Probability::ONE,
            link_mbps: None,
            snr_db: None,
        };
        fleet.push(device).unwrap();
    }
    fleet.build().unwrap()
}

/// A run in memory: its rounds and how it ended.
fn run<L: Learner>(
    (learner, threads): (&L, usize),
    (fleet, scheme): (&Fleet, &str),
    aggregation: Aggregation,
    (state, rounds_max): (&mut State, u64),
    seed: u64,
) -> Result<(Vec<Round>, Outcome), EngineError> {
    let schedule = Schedule::new(plan(fleet, scheme), u64::MAX);
    let engine = Engine {
        fleet,
        schedule: &schedule,
        costs: Mbps::new(20.0).unwrap().into(),
        division: Division::Adaptive,
        deadline_secs: None,
        deadline_margin: 0.0,
        aggregation,
        optimiser: Optimiser::default(),
        stop: Stop::after_rounds(rounds_max),
    };
    let mut kept = Kept::default();
    let outcome = with_crew(learner, threads, |crew| {
        let mut world = SimWorld::new(crew, fleet, &schedule, Conditions::default(), (seed, state.secs));
        engine.run(&mut world, state, &mut kept)
    })?;
    Ok((kept.0, outcome))
}

/// The accuracy at the end, over some seeds. A run that diverges knows nothing.
fn accuracy(learner: &Hostile<'_>, fleet: &Fleet, aggregation: Aggregation) -> f64 {
    let of = |&seed: &u64| {
        let mut state = State::new(learner.initial_model(seed));
        let run = run((learner, 2), (fleet, "fixed=0.5"), aggregation, (&mut state, ROUNDS), seed);
        match run.unwrap().1 {
            Outcome::Ended(end) => end.metrics.get("accuracy").unwrap_or(0.0),
            Outcome::Stopped => panic!("nobody stops it"),
        }
    };
    SEEDS.iter().map(of).sum::<f64>() / SEEDS.len() as f64
}

const START: &str = "<!-- robust: made by crates/sim/tests/robust.rs -->\n";
const END: &str = "<!-- end of robust -->\n";

fn row(what: &str, accuracies: [f64; 4]) -> String {
    let shown = accuracies.map(|accuracy| format!("{:.0} %", 100.0 * accuracy));
    format!("| {what} | {} |\n", shown.join(" | "))
}

/// Accuracies in a row of the table, in percent.
fn numbers(row: &str) -> Vec<f64> {
    row.split('|').filter_map(|cell| cell.trim().strip_suffix(" %")?.parse().ok()).collect()
}

#[test]
fn robust_sums_withstand_what_the_unbiased_one_does_not() {
    let honest = learner();
    let fleet = fleet(&honest);
    let cases = [
        ("none", 0, 1.0),
        ("2 of 20 send −Δ", 2, -1.0),
        ("2 of 20 send 10 Δ", 2, 10.0),
        ("2 of 20 send −10 Δ", 2, -10.0),
        ("4 of 20 send −10 Δ", 4, -10.0),
    ];
    let mut table =
        "| hostile devices | `unbiased` | `clipped` | `trimmed` | `trimmed`, `trim = 0.25` |\n".to_owned();
    table += "|---|---|---|---|---|\n";
    let mut found = Vec::new();
    for (what, devices, factor) in cases {
        let learner = Hostile { honest: &honest, devices, factor };
        let accuracies = [Aggregation::Unbiased, CLIPPED, TRIMMED_LITTLE, TRIMMED]
            .map(|rule| accuracy(&learner, &fleet, rule));
        table += &row(what, accuracies);
        found.push(accuracies);
    }
    println!("{table}");
    // Without anybody hostile the bias costs something; with −10 Δ the unbiased sum is lost, and the others are not.
    let [unbiased, clipped, _, trimmed] = found[0];
    assert!(clipped > unbiased - 0.1 && trimmed > unbiased - 0.15, "{table}");
    for attacked in &found[3..] {
        assert!(attacked[0] < unbiased - 0.3, "the attack does something: {table}");
        assert!(attacked[1] > attacked[0] + 0.15 && attacked[3] > attacked[0] + 0.15, "{table}");
    }

    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/scenario.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(START).expect("the start of the table");
    let (there, after) = rest.split_once(END).expect("the end of the table");
    if std::env::var_os("INSTA_UPDATE").is_some_and(|value| value == "always") {
        std::fs::write(&path, format!("{before}{START}\n{table}\n{END}{after}")).unwrap();
        return;
    }
    // Other processors round sums otherwise.
    for (row, accuracies) in there.lines().filter(|row| row.contains('%')).zip(&found) {
        let near = |(shown, found): (&f64, &f64)| (shown - 100.0 * found).abs() < 3.0;
        let shown = numbers(row);
        assert!(shown.len() == 4 && shown.iter().zip(accuracies).all(near), "{row}: {accuracies:?}");
    }
    assert_eq!(there.lines().filter(|row| row.contains('%')).count(), found.len());
}

/// Robust runs are the same on any number of workers and in two parts, with norms from the records of the first.
#[test]
fn robust_runs_are_repeatable_to_the_byte() {
    let honest = learner();
    let fleet = fleet(&honest);
    for aggregation in [CLIPPED, TRIMMED, Aggregation::Clipped(Clip::Norm(0.1))] {
        for scheme in ["fixed=0.3", "fixed=0.05"] {
            let whole = |threads| {
                let mut state = State::new(honest.initial_model(7));
                let (rounds, _) =
                    run((&honest, threads), (&fleet, scheme), aggregation, (&mut state, 24), 7).unwrap();
                (rounds, state)
            };
            let (rounds, state) = whole(1);
            assert_eq!((&rounds, &state), (&whole(3).0, &whole(3).1));
            let recorded = rounds.iter().filter(|round| round.update_norm.is_some()).count();
            let reported = rounds.iter().filter(|round| !round.cohort.is_empty()).count();
            assert_eq!(recorded, if aggregation.remembers_norms() { reported } else { 0 });

            let mut part = State::new(honest.initial_model(7));
            let (first, _) = run((&honest, 2), (&fleet, scheme), aggregation, (&mut part, 11), 7).unwrap();
            let mut part =
                State::resumed(part.checkpoint(), honest.params_len(), &Optimiser::default()).unwrap();
            first.iter().for_each(|round| part.norms.take(round));
            let (second, _) = run((&honest, 2), (&fleet, scheme), aggregation, (&mut part, 24), 7).unwrap();
            assert_eq!(([first, second].concat(), part), (rounds, state));
        }
    }
}

/// A device that is alone in its round has no more say than others have had before.
#[test]
fn a_device_alone_in_its_round_is_limited_by_rounds_before() {
    let honest = learner();
    let fleet = fleet(&honest);
    let learner = Hostile { honest: &honest, devices: 2, factor: 50.0 };
    let mut state = State::new(learner.initial_model(5));
    let (mut before, mut alone) = (Vec::new(), 0);
    let weights = plan(&fleet, "uniform").aggregation_weights().to_vec();
    for round in 1..=150 {
        let model = state.model.as_slice().to_vec();
        let (rounds, _) = run((&learner, 1), (&fleet, "uniform"), CLIPPED, (&mut state, round), 5).unwrap();
        let record = &rounds[0];
        if let [device] = record.cohort[..]
            && learner.is_hostile(device)
            && before.len() >= 3
        {
            let moved = state.model.as_slice().iter().zip(&model).map(|(a, b)| f64::from(a - b).powi(2));
            let longest = before.iter().copied().fold(0.0, f64::max);
            let honest_step = weights[device] * longest;
            assert!(moved.sum::<f64>().sqrt() <= 1.001 * honest_step, "round {round}");
            // It is alone, so that the median norm is its own.
            alone += usize::from(record.update_norm.unwrap() > longest);
        }
        if record.cohort.iter().all(|&device| !learner.is_hostile(device)) {
            before.extend(record.update_norm);
        }
    }
    assert!(alone > 2, "{alone}");
}

/// The updates of 20 devices with 100 million parameters each are 7.5 GiB.
#[test]
fn a_trimmed_sum_that_would_not_fit_is_refused_before_the_first_round() {
    let honest = learner();
    let fleet = fleet(&honest);
    let mut state = State::new(ModelVector::new(vec![0.0; 100_000_000]));
    let refused = run((&honest, 1), (&fleet, "full"), TRIMMED, (&mut state, 1), 1).unwrap_err();
    assert!(matches!(refused, EngineError::TooLargeToTrim { .. }), "{refused}");
    assert!(refused.to_string().contains("7.5 GiB") && refused.hint().contains("clipped"), "{refused}");
}
