//! Models that devices evaluate: what honest devices report counts, whatever others send or do not send.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fedflip_fleet::ModelVector;
use fedflip_learn::learner::pieces;
use fedflip_learn::sgd::{SgdLearner, SgdWorker};
use fedflip_learn::task::TaskSettings;
use fedflip_learn::{LearnError, Learner, Sums, TrainKey};
use fedflip_net::agent::{DeviceTraining, OfferedTask, PrepareTask};
use fedflip_net::reason::Reason;
use fedflip_net::server::Ended;
use fedflip_net::wire::limits::SUMS_MAX;
use fedflip_net::wire::v1;
use fedflip_net::wire::v1::evaluated::Sum;
use fedflip_net::wire::v1::from_device;
use fedflip_net::wire::v1::to_device::What as Notice;
use fedflip_record::{EndReason, Target, TargetMode, reader};
use tokio::time::Instant;

use crate::bench::{Agent, Bench, Wanted};
use crate::device::Device;

/// Of the synthetic task.
const CLASSES: usize = 10;

fn sums(named: &[(&str, f64)]) -> Vec<Sum> {
    named.iter().map(|&(name, value)| Sum { name: name.to_owned(), value }).collect()
}

fn many(names: usize) -> Vec<Sum> {
    let names = (0..names).map(|name| Sum { name: format!("sum-{name}"), value: 0.0 });
    names.chain(sums(&[("count", 1.0)])).collect()
}

/// The report of a device whose samples are all of class 0, and whose model takes some of them for class 1.
fn whole([count, correct, loss]: [f64; 3]) -> Vec<Sum> {
    let of_class = |class: usize| {
        let counts = match class {
            0 => [correct, correct, count],
            1 => [0.0, count - correct, 0.0],
            _ => [0.0; 3],
        };
        let prefixes = ["true-positive/", "predicted/", "actual/"].into_iter().zip(counts);
        prefixes.map(move |(prefix, value)| Sum { name: format!("{prefix}{class}"), value })
    };
    let means = sums(&[("count", count), ("correct", correct), ("loss", loss)]);
    means.into_iter().chain((0..CLASSES).flat_map(of_class)).collect()
}

/// The same with other values of some sums.
fn but(report: [f64; 3], others: &[(&str, f64)]) -> Vec<Sum> {
    let other = |sum: &Sum| others.iter().find(|(name, _)| sum.name == *name).map(|(_, value)| *value);
    whole(report).into_iter().map(|sum| Sum { value: other(&sum).unwrap_or(sum.value), ..sum }).collect()
}

/// The same with one sum more.
fn and(report: [f64; 3], more: &str) -> Vec<Sum> {
    whole(report).into_iter().chain(sums(&[(more, 0.0)])).collect()
}

/// The next evaluation that is asked for. Rounds that open before have this device sit out.
async fn asked(device: &mut Device) -> Option<v1::Evaluate> {
    loop {
        match device.notice().await? {
            Notice::Evaluate(asked) => return Some(asked),
            Notice::Opened(opened) => {
                let (round, run) = (opened.round, opened.run);
                let answer = v1::Answer { round, proof: Default::default(), run };
                device.say(Some(from_device::What::Answer(answer))).await;
            }
            Notice::Finished(_) => return None,
            _ => {}
        }
    }
}

async fn report(device: &Device, asked: &v1::Evaluate, sums: Vec<Sum>) {
    let v1::Evaluate { round, run, digest, .. } = asked.clone();
    let failed = false;
    device.say(Some(from_device::What::Evaluated(v1::Evaluated { round, run, digest, sums, failed }))).await;
}

/// Says that the device cannot evaluate the model.
async fn fail(device: &Device, asked: &v1::Evaluate) {
    let v1::Evaluate { round, run, digest, .. } = asked.clone();
    let failed = v1::Evaluated { round, run, digest, sums: Vec::new(), failed: true };
    device.say(Some(from_device::What::Evaluated(failed))).await;
}

async fn come_in(bench: &Bench, name: &str) -> Device {
    let mut device = Device::connect(bench.address, name).await;
    device.come_in(&bench.wanted.learner()).await;
    device
}

fn target(at: f64) -> Option<Target> {
    Some(Target { metric: "accuracy".to_owned(), at, mode: TargetMode::Max })
}

/// Two are honest, one lies in every way we could think of, and one never answers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn evaluations_that_make_no_sense_are_refused_and_others_count() {
    let deeds: Vec<Vec<Sum>> = vec![
        but([10.0, 1.0, 1.0], &[("loss", f64::NAN)]),
        but([10.0, 1.0, 1.0], &[("loss", f64::INFINITY)]),
        whole([-1.0, 0.0, 0.0]),
        whole([1e6, 1e6, 0.0]),
        whole([2.0, 3.0, 0.0]),
        whole([10.0, 0.5, 0.0]),
        // Sums that no metric needs would take the server's time, and classes that do not exist lower the mean over classes.
        and([10.0, 1.0, 1.0], "a name\u{7}"),
        and([10.0, 1.0, 1.0], "actual/xyz"),
        and([10.0, 1.0, 1.0], &format!("actual/{CLASSES}")),
        and([10.0, 1.0, 1.0], "correct"),
        whole([10.0, 1.0, 1.0])[1..].to_vec(),
        but([10.0, 5.0, 1.0], &[("true-positive/0", 6.0)]),
        but([10.0, 5.0, 1.0], &[("actual/1", 1.0)]),
        but([10.0, 5.0, 1.0], &[("actual/0", 9.0)]),
        but([10.0, 5.0, 1.0], &[("true-positive/0", 4.0), ("true-positive/1", 1.0)]),
        many(SUMS_MAX),
    ];
    let rounds = deeds.len() as u64 + 2;
    // The honest estimate is above the target in every round, and never surely.
    let wanted = Wanted { device_evaluation: Some(1.0), target: target(0.6), ..Wanted::full(4, rounds) };
    let bench = Bench::serve(wanted);
    let mut honest = Vec::new();
    let mut liar = come_in(&bench, "liar").await;
    let mut mute = come_in(&bench, "mute").await;
    for (name, correct) in [("a", 9.0), ("b", 5.0)] {
        let mut device = come_in(&bench, name).await;
        honest.push(tokio::spawn(async move {
            while let Some(asked) = asked(&mut device).await {
                report(&device, &asked, whole([10.0, correct, 20.0])).await;
            }
        }));
    }
    let mute = tokio::spawn(async move { while asked(&mut mute).await.is_some() {} });
    // The first model is evaluated before the first round.
    let first = asked(&mut liar).await.unwrap();
    assert_eq!((first.round, first.probability), (0, 1.0));
    report(&liar, &first, Vec::new()).await;
    for (round, deed) in (1..).zip(deeds.clone()) {
        let asked = asked(&mut liar).await.unwrap();
        assert_eq!(asked.round, round);
        report(&liar, &asked, deed).await;
        assert_eq!(liar.refusal().await.reason, "bad_message");
        // It has had its turn.
        report(&liar, &asked, whole([1.0, 0.0, 1.0])).await;
    }
    let honestly = whole([1.0, 0.0, 1.0]);
    let late = asked(&mut liar).await.unwrap();
    for other in [
        v1::Evaluate { round: late.round - 1, ..late.clone() },
        v1::Evaluate { round: u64::MAX, ..late.clone() },
        v1::Evaluate { run: vec![1].into(), ..late.clone() },
        v1::Evaluate { digest: vec![7; 32].into(), ..late.clone() },
    ] {
        report(&liar, &other, honestly.clone()).await;
    }
    // More than any message may hold: the line is cut.
    let last = asked(&mut liar).await.unwrap();
    report(&liar, &last, many(100_000)).await;
    for device in honest.into_iter().chain([mute]) {
        device.await.unwrap();
    }
    let refused = |reason| bench.metrics.refused.get(reason);
    assert_eq!(refused(Reason::BadMessage), deeds.len() as u64);
    assert!(refused(Reason::StaleRound) >= deeds.len() as u64 + 4);
    let (ended, _, folder) = bench.ended();
    assert!(matches!(&ended, Ended::Over(end) if end.reason == EndReason::RoundsMax), "{ended:?}");
    let records = reader::read(&folder.path().join("records.jsonl")).unwrap();
    for round in &records.rounds {
        assert_eq!(round.metrics.get("accuracy"), Some(0.7), "round {}", round.round);
        let estimated = round.estimated.as_ref().unwrap();
        assert_eq!((estimated.devices, estimated.share), (2, 0.5));
        // (1 − ½) · 2/(2 − 1) · (2² + 2²) / 20²
        assert!((estimated.se.get("accuracy").unwrap() - 0.02_f64.sqrt()).abs() < 1e-6);
        assert!(estimated.limit.is_empty(), "two of four devices are too few to rely on");
    }
    assert_eq!(records.rounds.len() as u64, rounds);
    let initial = records.initial.unwrap();
    assert_eq!(initial.estimated.unwrap().share, 0.75, "a device without samples was heard");
}

/// Nobody says anything: there are no metrics, and the run continues.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_evaluation_without_reports_has_no_metrics() {
    let bench = Bench::serve(Wanted { device_evaluation: Some(0.5), ..Wanted::full(2, 2) });
    let mut devices = Vec::new();
    for name in ["a", "b"] {
        let mut device = come_in(&bench, name).await;
        devices.push(tokio::spawn(async move { while asked(&mut device).await.is_some() {} }));
    }
    for device in devices {
        device.await.unwrap();
    }
    let (_, _, folder) = bench.ended();
    let records = reader::read(&folder.path().join("records.jsonl")).unwrap();
    assert!(records.rounds.iter().all(|round| round.metrics.is_empty() && round.estimated.is_none()));
}

/// A device that cannot evaluate says so: nobody waits for it until the deadline, and it is not among those who were heard.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_cannot_evaluate_makes_nobody_wait() {
    let mut wanted = Wanted { device_evaluation: Some(1.0), ..Wanted::full(2, 3) };
    wanted.timeouts.deadline_slack = Duration::from_secs(20);
    let bench = Bench::serve(wanted);
    let [mut able, mut unable] = [come_in(&bench, "able").await, come_in(&bench, "unable").await];
    let start = Instant::now();
    let able = tokio::spawn(async move {
        while let Some(asked) = asked(&mut able).await {
            report(&able, &asked, whole([20.0, 10.0, 20.0])).await;
        }
    });
    while let Some(asked) = asked(&mut unable).await {
        fail(&unable, &asked).await;
    }
    able.await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
    assert_eq!(bench.metrics.refused.get(Reason::Failed), 4);
    let (_, _, folder) = bench.ended();
    let records = reader::read(&folder.path().join("records.jsonl")).unwrap();
    for round in &records.rounds {
        let estimated = round.estimated.as_ref().unwrap();
        assert_eq!((estimated.devices, estimated.share), (1, 0.5));
    }
}

/// A device that was silent for a while is not waited for, so its reports are late. They are signs of life: it is waited for
/// again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_reports_are_signs_of_life() {
    let mut wanted = Wanted { device_evaluation: Some(1.0), ..Wanted::full(2, 14) };
    wanted.timeouts.deadline_slack = Duration::from_millis(300);
    let bench = Bench::serve(wanted);
    let [mut quick, mut slow] = [come_in(&bench, "quick").await, come_in(&bench, "slow").await];
    let quick = tokio::spawn(async move {
        while let Some(asked) = asked(&mut quick).await {
            report(&quick, &asked, whole([20.0, 10.0, 20.0])).await;
        }
    });
    while let Some(asked) = asked(&mut slow).await {
        if asked.round > 3 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            report(&slow, &asked, whole([20.0, 10.0, 20.0])).await;
        }
    }
    quick.await.unwrap();
    let (_, _, folder) = bench.ended();
    let records = reader::read(&folder.path().join("records.jsonl")).unwrap();
    let heard: Vec<usize> =
        records.rounds.iter().map(|round| round.estimated.as_ref().unwrap().devices).collect();
    assert_eq!((heard[2], heard[13]), (1, 2), "{heard:?}");
}

/// Trains as the scenario says, and evaluates on all test samples.
struct Honest {
    learner: SgdLearner,
    worker: Mutex<SgdWorker>,
}

impl DeviceTraining for Honest {
    fn params_len(&self) -> usize {
        self.learner.params_len()
    }

    fn samples(&self, slot: usize) -> usize {
        self.learner.samples(slot)
    }

    fn initial_model(&self, seed: u64) -> ModelVector {
        self.learner.initial_model(seed)
    }

    fn train(&self, model: &[f32], key: TrainKey, update: &mut [f32]) -> Result<f64, LearnError> {
        self.learner.train(&mut self.worker.lock().unwrap(), model, key, update)
    }

    fn evaluate(&self, model: &[f32]) -> Result<Sums, LearnError> {
        let mut sums = Sums::default();
        for piece in pieces(self.learner.test_samples()) {
            self.learner.score(&mut self.worker.lock().unwrap(), model, piece, &mut sums)?;
        }
        Ok(sums)
    }
}

/// Real agents, whose evaluation coins say yes in two of three cases: the run ends at its target, and every evaluation is
/// that of the model.
#[test]
fn a_run_reaches_its_target_by_the_evaluations_of_its_devices() {
    let wanted = Wanted { device_evaluation: Some(0.67), target: target(0.6), ..Wanted::full(3, 60) };
    let learner = wanted.learner();
    let bench = Bench::serve(wanted);
    let trains: Arc<dyn PrepareTask> = Arc::new(|offered: &OfferedTask| {
        let OfferedTask::BuiltIn(settings) = offered else { panic!("{offered:?}") };
        // The server does not tell devices how many test samples are enough for itself.
        let settings = TaskSettings { test_samples_max: 20, ..settings.clone() };
        let (learner, _) = settings.learner(Path::new("no data set is needed"))?;
        let worker = Mutex::new(learner.worker());
        Ok(Box::new(Honest { learner, worker }) as Box<dyn DeviceTraining>)
    });
    let agents = ["a", "b", "c"].map(|name| Agent::join_with(bench.address, name, Arc::clone(&trains)));
    let (ended, _, folder) = bench.ended();
    for agent in agents {
        agent.leave();
    }
    assert!(matches!(&ended, Ended::Over(end) if end.reason == EndReason::Target), "{ended:?}");
    let records = reader::read(&folder.path().join("records.jsonl")).unwrap();
    let initial = records.initial.unwrap();
    let truth = learner.evaluate(&mut learner.worker(), learner.initial_model(1).as_slice()).unwrap();
    for (name, value) in initial.metrics.iter() {
        assert!((truth.get(name).unwrap() - value).abs() < 1e-9, "{name}: {value}");
    }
    let last = records.rounds.last().unwrap();
    let limit = last.estimated.as_ref().unwrap().limit.get("accuracy").unwrap();
    assert!(limit >= 0.6, "{last:?}");
    for round in &records.rounds {
        let devices = round.estimated.as_ref().map_or(0, |estimated| estimated.devices);
        assert_eq!(round.metrics.is_empty(), devices == 0);
    }
}
