//! A task that only programs on devices can train: `fedflip serve`, and the example of an own trainer, as processes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fedflip_learn::layer::{Init, ParamSpec};
use fedflip_learn::model_file;
use fedflip_record::{folder, reader};

use crate::serve::{ANY_PORT, Running, Serving};

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

/// Whether a program is newer than all files that it was built from, which cargo lists beside it.
fn is_fresh(program: &Path) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    let (Some(built), Ok(list)) = (changed(program), std::fs::read_to_string(program.with_extension("d")))
    else {
        return false;
    };
    let sources: Vec<&str> = list.split_whitespace().skip(1).collect();
    // A list of another checkout says nothing about this one.
    let is_its_list = list.starts_with(&format!("{}:", program.display()));
    is_its_list
        && !sources.is_empty()
        && sources.iter().all(|source| changed(Path::new(source)).is_some_and(|at| at <= built))
}

/// The program of the example: tests of the whole workspace build it beside themselves. Otherwise it is built here, as its
/// page says.
fn example() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let beside = tests.ancestors().nth(2).map(|folder| folder.join("examples/own_trainer"));
    if let Some(program) = beside.filter(|program| is_fresh(program)) {
        return program;
    }
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "-p", "fedflip-agent", "--example", "own_trainer"]);
    let built = build.args(["--message-format", "json"]).stderr(Stdio::inherit()).output().unwrap();
    assert!(built.status.success());
    let text = String::from_utf8(built.stdout).unwrap();
    let mut programs = text.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        (message["target"]["name"] == "own_trainer")
            .then(|| message["executable"].as_str().map(PathBuf::from))?
    });
    programs.next_back().expect("the program of the example")
}

fn start_trainer(example: &Path, server: &str, name: &str, file: &Path) -> Running {
    let mut command = Command::new(example);
    command.args([server, name]).arg(file).stdin(Stdio::null()).stdout(Stdio::null());
    Running(command.spawn().unwrap())
}

#[test]
fn programs_on_devices_train_a_model_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("s.toml"), SCENARIO).unwrap();
    std::fs::write(at("init.safetensors"), model_file::write(&params(), &[0.0, 0.0]).unwrap()).unwrap();
    let example = example();
    let serving = Serving::start_plain(folder.path(), ANY_PORT);
    let mut trainers: Vec<Running> = (0..3)
        .map(|device| {
            let file = at(&format!("points-{device}.csv"));
            let text: String = points(device).iter().map(|(x, y)| format!("{x},{y}\n")).collect();
            std::fs::write(&file, text).unwrap();
            start_trainer(&example, &serving.address, &format!("phone-{device}"), &file)
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
