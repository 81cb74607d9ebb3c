use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use device_side::*;
use fedflip_learn::layer::{Init, ParamSpec};
use fedflip_net::agent::{AgentSettings, DeviceLearner, DeviceTraining, Farewell, OfferedTask, join};
use fedflip_record::EndReason;
use fedflip_scenario::{InMemory, Source};
use tempfile::TempDir;

use super::*;

/// A device of the tests.
mod device_side {
    use fedflip_learn::{LearnError, Learner, TrainKey};
    use fedflip_net::agent::Credentials;
    use fedflip_net::plain;

    use super::ModelVector;

    /// A device that halves the distance of the model to its own point.
    pub(super) struct Pull {
        pub(super) point: f32,
    }

    impl Learner for Pull {
        type Worker = ();

        fn devices(&self) -> usize {
            1
        }
        fn samples(&self, _: usize) -> usize {
            4
        }
        fn params_len(&self) -> usize {
            2
        }
        fn initial_model(&self, _: u64) -> ModelVector {
            ModelVector::new(vec![0.0; 2])
        }
        fn worker(&self) {}
        fn train(
            &self,
            (): &mut (),
            model: &[f32],
            _: TrainKey,
            update: &mut [f32],
        ) -> Result<f64, LearnError> {
            update.iter_mut().zip(model).for_each(|(update, model)| *update = 0.5 * (self.point - model));
            Ok(f64::from(self.point - model[0]).abs())
        }
    }

    pub(super) fn credentials(name: &str) -> Credentials {
        let name = name.parse().unwrap();
        Credentials { coin: plain::coin(&name).unwrap(), name, tls: None }
    }
}

const SCENARIO: &str = "\
[task]
name = \"external\"
initial = \"first\"
[fleet]
devices = 2
[plan]
scheme = \"full\"
[server]
update_norm_max = 100
[stop]
rounds_max = 40
";

fn scenario(text: &str) -> Scenario {
    let spec = ParamSpec::trained("tensor", &[2], Init::Constant(0.0));
    let bytes = model_file::write(&[("w".to_owned(), spec)], &[0.0, 0.0]).unwrap();
    let initial = Some(Arc::new(InitialModel::new("first", bytes)));
    let source =
        Source::of_text(text, "the scenario").with_memory(InMemory { initial, ..InMemory::default() });
    source.scenario(&[]).unwrap()
}

fn with_target() -> Scenario {
    scenario(&format!("{SCENARIO}metric = \"distance\"\nat = 0.01\nmode = \"min\"\n"))
}

/// The distance of the model to the mean of the devices' points, and what was asked for.
fn distance(asked: &Arc<AtomicUsize>) -> ForeignEvaluate {
    let asked = Arc::clone(asked);
    Box::new(move |model| {
        asked.fetch_add(1, Ordering::Relaxed);
        Ok(vec![("distance".to_owned(), f64::from(model.as_slice()[0] - 2.0).abs())])
    })
}

fn take_part(server: &str, name: &str, point: f32) -> std::thread::JoinHandle<Farewell> {
    let trains = move |_: &OfferedTask| -> Result<Box<dyn DeviceTraining>, NetError> {
        Ok(Box::new(DeviceLearner::of_this_device(Pull { point })))
    };
    let settings = AgentSettings {
        server: server.to_owned(),
        credentials: credentials(name),
        trains: Arc::new(trains),
        compute_at_least: Duration::ZERO,
        save_model: None,
        give_up_after: Some(Duration::from_secs(30)),
    };
    std::thread::spawn(move || join(&settings, &|| false, &mut |_| {}).unwrap())
}

/// Serves a scenario to two devices.
fn served(scenario: &Scenario, out: &Path, evaluate: Option<ForeignEvaluate>) -> Result<Served, RunError> {
    let serving = Serving::on_this_machine(scenario, out);
    serving.check(evaluate.is_some())?;
    let mut devices = Vec::new();
    let result = serving.run(evaluate.map(Into::into), &mut Session::new("data"), &mut |server| {
        let address = server.address().to_string();
        devices = [("one", 1.0), ("three", 3.0)].map(|(name, point)| take_part(&address, name, point)).into();
    });
    if result.is_ok() {
        devices.into_iter().for_each(|device| assert_eq!(device.join().unwrap(), Farewell::Finished));
    }
    result
}

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    (folder, out)
}

#[test]
fn a_program_evaluates_a_model_of_its_own_and_the_run_ends_at_its_target() {
    let (_folder, out) = folder();
    let (scenario, asked) = (with_target(), Arc::new(AtomicUsize::new(0)));
    let summary = served(&scenario, &out, Some(distance(&asked))).unwrap().summary.unwrap();
    assert_eq!(summary.end, Some(EndReason::Target));
    let rounds = summary.rounds as usize;
    assert_eq!(asked.load(Ordering::Relaxed), rounds + 1, "the first model is evaluated once");
    let records = reader::read(&out.join(RECORDS)).unwrap();
    let names: Vec<&str> = records.header.metrics.iter().map(|metric| &*metric.name).collect();
    assert_eq!(names, ["distance"]);
    assert_eq!(records.header.metrics[0].better, fedflip_fleet::Direction::Smaller, "as the target says");
    assert_eq!(records.initial.unwrap().metrics.get("distance"), Some(2.0));
    let last = records.rounds.last().unwrap().metrics.get("distance").unwrap();
    assert!(last <= 0.01 && out.join("best.safetensors").exists(), "{last}");
    // A run that is over is not evaluated again.
    let again = served_again(&scenario, &out, &asked);
    assert_eq!((again.rounds, asked.load(Ordering::Relaxed)), (summary.rounds, rounds + 1));
}

fn served_again(scenario: &Scenario, out: &Path, asked: &Arc<AtomicUsize>) -> Summary {
    let serving = Serving::on_this_machine(scenario, out);
    let result = serving.run(Some(distance(asked).into()), &mut Session::new("data"), &mut |_| {});
    result.unwrap().summary.unwrap()
}

#[test]
fn an_evaluation_without_a_target_is_recorded() {
    let (_folder, out) = folder();
    let text = SCENARIO.replace("rounds_max = 40", "rounds_max = 3");
    let asked = Arc::new(AtomicUsize::new(0));
    let summary = served(&scenario(&text), &out, Some(distance(&asked))).unwrap().summary.unwrap();
    assert_eq!((summary.rounds, summary.end), (3, Some(EndReason::RoundsMax)));
    let records = reader::read(&out.join(RECORDS)).unwrap();
    assert!(records.rounds.iter().all(|round| round.metrics.get("distance").is_some()));
}

#[test]
fn a_failed_evaluation_stops_the_run_and_a_loss_that_is_not_finite_ends_it() {
    let (_folder, out) = folder();
    let scenario = with_target();
    let fails: ForeignEvaluate = Box::new(|model| match model.as_slice()[0] > 0.0 {
        true => Err(LearnError::Foreign { message: "no more samples".to_owned(), trace: String::new() }),
        false => Ok(vec![("distance".to_owned(), 2.0)]),
    });
    let error = served(&scenario, &out, Some(fails)).err().unwrap();
    assert!(error.to_string().contains("no more samples"), "{error}");
    // The same call with a better evaluation resumes the run.
    let asked = Arc::new(AtomicUsize::new(0));
    let summary = served(&scenario, &out, Some(distance(&asked))).unwrap().summary.unwrap();
    assert_eq!(summary.end, Some(EndReason::Target));

    let (_folder, out) = folder_of("diverged");
    let diverges: ForeignEvaluate = Box::new(|model| {
        let loss = if model.as_slice()[0] > 0.0 { f64::NAN } else { 1.0 };
        Ok(vec![("distance".to_owned(), 2.0), ("loss".to_owned(), loss)])
    });
    let summary = served(&scenario, &out, Some(diverges)).unwrap().summary.unwrap();
    assert_eq!(summary.end, Some(EndReason::Diverged));
}

fn folder_of(name: &str) -> (TempDir, PathBuf) {
    let (folder, out) = folder();
    let out = out.with_file_name(name);
    (folder, out)
}

#[test]
fn what_nobody_can_serve_is_refused_before_anything_is_made() {
    let (_folder, out) = folder();
    let refusal = |scenario: &Scenario, evaluates: bool, change: &dyn Fn(&mut Serving<'_>)| {
        let mut serving = Serving::on_this_machine(scenario, &out);
        change(&mut serving);
        match serving.check(evaluates) {
            Err(RunError::Deploy(error)) => {
                assert!(!error.hint().is_empty() && !error.place().is_empty(), "{error}");
                error
            }
            other => panic!("{:?}", other.err()),
        }
    };
    let plain = scenario(SCENARIO);
    assert_eq!(
        refusal(&with_target(), false, &|_| {}),
        DeployError::NoEvaluator { metric: "distance".to_owned() }
    );
    let unbound = scenario(&SCENARIO.replace("update_norm_max = 100", ""));
    assert_eq!(refusal(&unbound, true, &|_| {}), DeployError::NoUpdateNorm);
    let pilots = |serving: &mut Serving<'_>| serving.pilots = true;
    assert_eq!(refusal(&plain, false, &pilots), DeployError::NoLoss { evaluates: false });
    for (setting, change) in [
        ("devices_min", (|serving| serving.devices_min = Some(3)) as fn(&mut Serving<'_>)),
        ("devices_min", |serving| serving.devices_min = Some(0)),
        ("devices_max", |serving| serving.devices_max = Some(0)),
        ("samples_max", |serving| serving.samples_max = 0),
        ("window_secs", |serving| serving.window_secs = f64::NAN),
        ("quorum", |serving| serving.quorum = 1.1),
    ] {
        let refused = refusal(&plain, false, &change);
        assert!(matches!(&refused, DeployError::Range { setting: s, .. } if *s == setting), "{refused}");
    }
    let drawn = scenario(&SCENARIO.replace("\"full\"", "\"fedavg=1\""));
    assert!(matches!(refusal(&drawn, false, &|_| {}), DeployError::DrawsCohorts { .. }));
    let buffered = scenario(&SCENARIO.replace("\"full\"", "\"fedbuff=1\""));
    assert!(matches!(refusal(&buffered, false, &|_| {}), DeployError::NoRounds { .. }));
    assert!(!out.exists(), "nothing was made");
}

#[test]
fn an_evaluation_that_does_not_report_the_target_is_refused_before_devices_join() {
    let (_folder, out) = folder();
    let scenario = with_target();
    let other: ForeignEvaluate = Box::new(|_| Ok(vec![("distances".to_owned(), 1.0)]));
    let error = served(&scenario, &out, Some(other)).err().unwrap();
    assert!(error.to_string().contains("the evaluation reports distances"), "{error}");
    assert!(error.hint().contains("did you mean distances?") && !out.exists(), "{}", error.hint());
    let many: ForeignEvaluate = Box::new(|_| Ok((0..65).map(|n| (format!("m{n}"), 0.0)).collect()));
    let error = served(&scenario, &out, Some(many)).err().unwrap();
    assert!(error.to_string().contains("65 metrics"), "{error}");
}

#[test]
fn a_built_in_task_may_be_evaluated_by_a_program_too() {
    let (_folder, out) = folder();
    let text = "[task]\nname = \"synthetic\"\n[fleet]\ndevices = 2\n[stop]\nrounds_max = 1\n";
    let scenario = Scenario::from_toml(text).unwrap();
    let evaluate: ForeignEvaluate = Box::new(|_| Ok(vec![("accuracy".to_owned(), 0.5)]));
    let mut session = Session::new("data");
    let host = Host::new(&scenario, &mut session).unwrap();
    let native = host.metrics().len();
    let host = host.evaluated_by(evaluate.into(), (&scenario, &out), false).unwrap();
    assert!(native > 1 && host.metrics().len() == 1 && host.metrics()[0].info.name == "accuracy");
    assert!(host.samples().len() == 2 && host.update_norm(&scenario, &mut session).is_ok());
}
