//! Devices that are asked, invited and observed: who takes part, and what the clock says.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::path::Path;

use common::{Kept, plan};
use fedflip_engine::{Aggregation, Engine, EngineError, Optimiser, Outcome, State, Stop};
use fedflip_fleet::bandwidth::Division;
use fedflip_fleet::{Columns, Conditions, Downlink, Download, Fleet, Mbps, ModelVector, RoundCosts};
use fedflip_learn::sgd::SgdLearner;
use fedflip_learn::sgd::Steps;
use fedflip_learn::task::TaskSettings;
use fedflip_learn::{LearnError, Learner, TrainKey, with_crew};
use fedflip_plan::{Schedule, Scheme};
use fedflip_record::{EndReason, Round};
use fedflip_sim::SimWorld;

const COMPUTE_SECS: [f64; 3] = [1.0, 2.0, 4.0];
const COMM_SECS: [f64; 3] = [10.0, 20.0, 30.0];
const BAND: f64 = 10.0;
/// One number of 32 bits.
const NUMBER_MBIT: f64 = 32e-6;

fn learner() -> SgdLearner {
    let mut settings = TaskSettings::paper("synthetic".parse().unwrap(), 3);
    (settings.sgd.steps, settings.sgd.batch) = (Steps::Iterations(3), 16);
    settings.learner(Path::new("")).unwrap().0
}

struct Case<'a, L> {
    learner: &'a L,
    scheme: &'a str,
    downlink: Downlink,
    conditions: Conditions,
    threads: usize,
}

impl<'a, L: Learner> Case<'a, L> {
    fn new(learner: &'a L, scheme: &'a str) -> Self {
        let (downlink, conditions) = (Downlink::None, Conditions::default());
        Self { learner, scheme, downlink, conditions, threads: 1 }
    }

    fn fleet(&self) -> Fleet {
        let samples: Vec<f64> = (0..3).map(|device| self.learner.samples(device) as f64).collect();
        let (compute_secs, comm_secs) = (&COMPUTE_SECS, &COMM_SECS);
        let columns = Columns { compute_secs, comm_secs, samples: &samples, ..Columns::default() };
        Fleet::from_columns(columns).unwrap()
    }

    fn run(&self, rounds: u64) -> (Result<Outcome, EngineError>, Vec<Round>, State) {
        let fleet = self.fleet();
        let schedule = Schedule::new(plan(&fleet, self.scheme), u64::MAX);
        let costs = RoundCosts::from(Mbps::new(BAND).unwrap()).with_downlink(self.downlink);
        let engine = Engine {
            fleet: &fleet,
            schedule: &schedule,
            costs,
            division: Division::Adaptive,
            deadline_secs: None,
            deadline_margin: 0.0,
            aggregation: Aggregation::Unbiased,
            optimiser: Optimiser::default(),
            stop: Stop::after_rounds(rounds),
        };
        let scheme: Scheme = self.scheme.parse().unwrap();
        let mut state = State::new(self.learner.initial_model(9));
        let mut kept = Kept::default();
        let outcome = with_crew(self.learner, self.threads, |crew| {
            let mut world = SimWorld::new(crew, &fleet, &schedule, self.conditions, (9, 0.0))
                .with_sampler(scheme.method().sampler(&schedule, &fleet))
                .with_costs(costs);
            engine.run(&mut world, &mut state, &mut kept)
        });
        (outcome, kept.0, state)
    }

    fn rounds(&self, rounds: u64) -> (Vec<Round>, ModelVector) {
        let (outcome, kept, state) = self.run(rounds);
        outcome.unwrap();
        (kept, ModelVector::clone(&state.model))
    }
}

#[track_caller]
fn assert_secs(found: f64, wanted: f64) {
    // Three numbers of 32 bits take 10 µs.
    assert!((found - wanted).abs() < 1e-8, "{found} s instead of {wanted} s");
}

/// The answers arrive together: the fast devices send theirs while the slowest computes, which then has the whole bandwidth.
fn answers_secs(compute_secs: &[f64]) -> f64 {
    compute_secs.iter().copied().fold(0.0, f64::max) + NUMBER_MBIT / BAND
}

/// Everybody computes and sends a number; then only the cohort uploads, at the rate of the whole bandwidth together.
#[test]
fn optimal_sampling_takes_everybodys_computation_and_the_cohorts_uploads() {
    let learner = learner();
    let download = Download { bandwidth: Mbps::new(20.0).unwrap(), per_upload: 2.0 };
    // The model goes to all three devices: 60 Mbit to the slowest, 120 Mbit in all.
    for (scheme, numbers) in [("ocs=1", 1.0), ("ocs-approx=1", 9.0)] {
        for (downlink, download_secs) in
            [(Downlink::None, 0.0), (Downlink::Broadcast(download), 3.0), (Downlink::Unicast(download), 6.0)]
        {
            let (rounds, _) = Case { downlink, ..Case::new(&learner, scheme) }.rounds(60);
            let mut empty = 0;
            for round in &rounds {
                assert_eq!(round.download_secs, download_secs);
                assert_secs(round.asked_secs, 4.0 + numbers * NUMBER_MBIT / BAND);
                let uploads: f64 = round.cohort.iter().map(|&device| COMM_SECS[device] / BAND).sum();
                assert_secs(round.round_secs, download_secs + round.asked_secs + uploads);
                let ready = (download_secs + round.asked_secs) as f32;
                assert!(round.compute_secs.iter().all(|&secs| secs == ready), "{round:?}");
                empty += u32::from(round.cohort.is_empty());
            }
            assert!(empty > 0, "an empty round takes the question's time, and none was empty");
            let heads = rounds.iter().map(|round| round.cohort.len()).sum::<usize>() as f64 / 60.0;
            assert!((0.5..=1.5).contains(&heads), "{scheme}: {heads} heads per round");
        }
    }
}

/// If all probabilities are 1, the sum is that of everybody.
#[test]
fn optimal_sampling_of_everybody_is_full_participation() {
    let learner = learner();
    let (_, full) = Case::new(&learner, "full").rounds(5);
    for scheme in ["ocs=3", "ocs-approx=3"] {
        let (rounds, model) = Case::new(&learner, scheme).rounds(5);
        assert!(rounds.iter().all(|round| round.cohort == [0, 1, 2]), "{scheme}");
        let off = model.as_slice().iter().zip(full.as_slice()).map(|(a, b)| (a - b).abs());
        assert!(off.fold(0.0, f32::max) < 1e-5, "{scheme}");
    }
}

/// Two candidates compute their loss; the one with the larger loss trains and uploads.
#[test]
fn power_of_choice_takes_forward_passes_and_one_training() {
    let learner = learner();
    // A pass over the device's samples, at a third of the time for each sample of a step.
    let forward = |device: usize| COMPUTE_SECS[device] * learner.samples(device) as f64 / (3.0 * 3.0 * 16.0);
    let (rounds, _) = Case::new(&learner, "power-of-choice=1").rounds(40);
    let pairs = [[0, 1], [0, 2], [1, 2]];
    for round in &rounds {
        let [device] = round.cohort[..] else { panic!("{round:?}") };
        let asked = |pair: &&[usize; 2]| {
            let wanted = answers_secs(&pair.map(forward));
            (round.asked_secs - wanted).abs() < 1e-8 && pair.contains(&device)
        };
        assert!(pairs.iter().any(|pair| asked(&pair)), "{round:?}");
        let work = COMPUTE_SECS[device] + COMM_SECS[device] / BAND;
        assert_secs(round.round_secs, round.asked_secs + work);
        assert!(round.compute_secs.is_empty(), "times that follow from the fleet are not recorded");
    }
    let model = learner.initial_model(9);
    let loss = |device| learner.loss(&mut learner.worker(), model.as_slice(), device).unwrap();
    let losses = [0, 1, 2].map(loss);
    let least = (0..3).min_by(|&a, &b| losses[a].total_cmp(&losses[b])).unwrap();
    assert_ne!(rounds[0].cohort, [least], "of any two candidates, the other has the larger loss");
}

/// Two of three are invited and the first one counts: the slowest device never does. Both download the model.
#[test]
fn oort_counts_the_first_of_the_invited() {
    let learner = learner();
    let download = Download { bandwidth: Mbps::new(20.0).unwrap(), per_upload: 2.0 };
    let case = Case { downlink: Downlink::Unicast(download), ..Case::new(&learner, "oort=1") };
    let (rounds, _) = case.rounds(60);
    for round in &rounds {
        let [device] = round.cohort[..] else { panic!("{round:?}") };
        assert!(device < 2, "{round:?}");
        let pairs = [[0, 1], [0, 2], [1, 2]];
        let invited = |pair: &[usize; 2]| pair.iter().map(|&n| 2.0 * COMM_SECS[n] / 20.0).sum::<f64>();
        assert!(pairs.iter().any(|pair| (invited(pair) - round.download_secs).abs() < 1e-9), "{round:?}");
        let work = COMPUTE_SECS[device] + COMM_SECS[device] / BAND;
        assert_secs(round.round_secs, round.download_secs + work);
        assert_eq!(round.train_losses, [round.train_loss.unwrap()]);
    }
    // Whoever vanishes is not ready first, unless all do.
    let conditions = Conditions { dropout: 0.5, ..Conditions::default() };
    let (rounds, _) = Case { conditions, ..Case::new(&learner, "oort=1") }.rounds(200);
    let lost = rounds.iter().filter(|round| !round.lost.is_empty()).count();
    assert!((25..75).contains(&lost), "both of two vanish in a quarter of the rounds, not in {lost} of 200");
    assert!(rounds.iter().all(|round| round.lost.len() + round.train_losses.len() == 1));
    assert!(rounds.iter().any(|round| round.cohort == [2]), "the slowest counts where the other vanishes");
}

/// Everything varies, and nothing depends on the number of threads.
#[test]
fn threads_do_not_change_a_round() {
    let learner = learner();
    for scheme in ["ocs=2", "ocs-approx=2", "power-of-choice=1", "oort=2"] {
        let conditions = Conditions { compute_jitter: 0.3, fading_db: 2.0, dropout: 0.2 };
        let of = |threads| Case { conditions, threads, ..Case::new(&learner, scheme) }.rounds(40);
        let (one, two) = (of(1), of(2));
        assert_eq!(one, two, "{scheme}");
        // No round is shorter than its question, whoever vanishes. Its time is a difference, which rounds.
        assert!(one.0.iter().all(|round| round.round_secs > round.asked_secs - 1e-9), "{scheme}");
        assert!(one.0.iter().any(|round| !round.lost.is_empty()), "{scheme}");
    }
}

/// A device that diverges while it is asked ends the run as one of the cohort does.
#[test]
fn a_run_diverges_also_in_a_question() {
    for scheme in ["ocs=1", "oort=1"] {
        let (outcome, ..) = Case::new(&Foreign { diverges: true }, scheme).run(50);
        let Outcome::Ended(end) = outcome.unwrap() else { panic!("{scheme} was stopped") };
        assert_eq!(end.reason, EndReason::Diverged, "{scheme}");
    }
}

/// A learner of somebody else's that trains, or diverges, and knows no losses.
struct Foreign {
    diverges: bool,
}

impl Learner for Foreign {
    type Worker = ();

    fn devices(&self) -> usize {
        3
    }
    fn samples(&self, device: usize) -> usize {
        device + 1
    }
    fn params_len(&self) -> usize {
        1
    }
    fn initial_model(&self, _seed: u64) -> ModelVector {
        ModelVector::new(vec![0.0])
    }
    fn worker(&self) {}
    fn train(&self, (): &mut (), _: &[f32], key: TrainKey, update: &mut [f32]) -> Result<f64, LearnError> {
        update.fill(1.0);
        let error =
            LearnError::Diverged { device: key.device, iteration: 1, what: "the loss", value: f64::NAN };
        if self.diverges { Err(error) } else { Ok(1.0) }
    }
}

#[test]
fn a_learner_without_losses_is_an_error_and_only_where_they_are_asked_for() {
    for scheme in ["ocs=1", "oort=1"] {
        Case::new(&Foreign { diverges: false }, scheme).rounds(3);
    }
    let (outcome, ..) = Case::new(&Foreign { diverges: false }, "power-of-choice=1").run(3);
    assert!(matches!(outcome, Err(EngineError::Learn(LearnError::NoOwnLoss))), "{outcome:?}");
}
