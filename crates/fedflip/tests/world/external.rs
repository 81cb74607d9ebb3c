//! A task that only programs on devices can train: `fedflip serve`, and the example of an own trainer, as processes.

use std::path::Path;
use std::process::{Command, Stdio};

use fedflip_learn::layer::{Init, ParamSpec};
use fedflip_learn::model_file;
use fedflip_record::{folder, reader};

use crate::serve::{ANY_PORT, Running, Serving};

#[allow(dead_code, unreachable_pub, reason = "the example is a whole program")]
#[path = "../../../agent/examples/own_trainer.rs"]
mod own_trainer;

const SCENARIO: &str = "\
preset = \"paper\"
[task]
name = \"external\"
initial = \"init.safetensors\"
[task.settings]
rate = 0.1
[fleet]
devices = 3
[plan]
scheme = \"full\"
[server]
update_norm_max = 100
[stop]
rounds_max = 15
";

fn params() -> Vec<(String, ParamSpec)> {
    let spec = |shape: &[usize]| ParamSpec::trained("tensor", shape, Init::Constant(0.0));
    vec![("b".to_owned(), spec(&[])), ("w".to_owned(), spec(&[1, 1]))]
}

/// Points of y = 3x − 1.
fn points(device: usize) -> Vec<(f32, f32)> {
    let point = |n: usize| {
        let x = (n * 7 + device * 3) as f32 % 16.0 / 8.0 - 1.0;
        (x, 3.0 * x - 1.0)
    };
    (0..20 + device).map(point).collect()
}

fn loss([b, w]: [f32; 2]) -> f32 {
    let errors = (0..3).flat_map(points).map(|(x, y)| (w * x + b - y).powi(2));
    let errors: Vec<f32> = errors.collect();
    errors.iter().sum::<f32>() / errors.len() as f32
}

/// This test is the process of a trainer, and nothing else.
#[test]
fn trainer() {
    let Ok(args) = std::env::var("FEDFLIP_TEST_TRAINER") else { return };
    let args: Vec<&str> = args.split('\n').collect();
    own_trainer::take_part(args[0], args[1], args[2]).unwrap();
}

fn start_trainer(server: &str, name: &str, file: &Path) -> Running {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["external::trainer", "--exact"]).stdin(Stdio::null()).stdout(Stdio::null());
    let file = file.display();
    command.env("FEDFLIP_TEST_TRAINER", format!("{server}\n{name}\n{file}"));
    Running(command.spawn().unwrap())
}

#[test]
fn programs_on_devices_train_a_model_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("s.toml"), SCENARIO).unwrap();
    std::fs::write(at("init.safetensors"), model_file::write(&params(), &[0.0, 0.0]).unwrap()).unwrap();
    let serving = Serving::start_plain(folder.path(), ANY_PORT);
    let mut trainers: Vec<Running> = (0..3)
        .map(|device| {
            let file = at(&format!("points-{device}.csv"));
            let text: String = points(device).iter().map(|(x, y)| format!("{x},{y}\n")).collect();
            std::fs::write(&file, text).unwrap();
            start_trainer(&serving.address, &format!("phone-{device}"), &file)
        })
        .collect();
    let (code, result, log) = serving.end();
    assert_eq!(code, Some(0), "{log:?}");
    assert_eq!((&result["rounds"], &result["end"]), (&15.into(), &"rounds_max".into()), "{result}");
    trainers.iter_mut().for_each(|trainer| assert!(trainer.0.wait().unwrap().success()));

    let bytes = std::fs::read(at("run/model.safetensors")).unwrap();
    let model = model_file::read(&params(), &bytes, "the model").unwrap();
    assert!(loss([model[0], model[1]]) < 0.01 * loss([0.0, 0.0]), "{model:?}");
    let records = reader::read(&at("run").join(folder::RECORDS)).unwrap();
    assert!(records.header.metrics.is_empty() && records.header.stop.is_none());
    assert!(records.rounds.iter().all(|round| round.metrics.is_empty()));
    // The run's folder has what its scenario names.
    let stored = fedflip_scenario::Scenario::read(&at("run/run.toml"), &[]).unwrap();
    assert_eq!(stored.external().unwrap().unwrap().settings(), "rate = 0.1\n");
}
