//! First models from files, and tasks that programs on devices train.

use std::sync::Arc;

use fedflip_fleet::{Columns, Fleet};
use fedflip_learn::layer::{Init, ParamSpec};
use fedflip_learn::model_file;
use fedflip_plan::Scheme;
use fedflip_record::{Target, TargetMode};
use tempfile::TempDir;

use super::parse_in;
use crate::{InMemory, InitialModel, Scenario, Source};

/// A folder with a model of these tensors.
fn with_model(tensors: &[(&str, &[usize])]) -> TempDir {
    let folder = TempDir::new().unwrap();
    let spec = |shape: &[usize]| ParamSpec::trained("tensor", shape, Init::Constant(0.0));
    let params: Vec<_> = tensors.iter().map(|(name, shape)| ((*name).to_owned(), spec(shape))).collect();
    let len = params.iter().map(|(_, spec)| spec.len()).sum();
    let numbers: Vec<f32> = (0..len).map(|n: usize| n as f32).collect();
    let bytes = model_file::write(&params, &numbers).unwrap();
    std::fs::write(folder.path().join("init.safetensors"), bytes).unwrap();
    folder
}

const EXTERNAL: &str = "\
[task]
name = \"external\"
initial = \"init.safetensors\"
[task.settings]
rate = 1.0
when = 2026-01-02
\"a b\" = [1, 0x10, { c = \"d\" }]
[server]
update_norm_max = 10
";

fn read(folder: &TempDir, text: &str) -> Result<Scenario, String> {
    parse_in(folder.path(), text, &[]).map_err(|error| format!("{error}; {}", error.hint()))
}

#[test]
fn an_external_task_has_tensors_and_settings() {
    let folder = with_model(&[("w", &[2, 3]), ("b", &[3])]);
    let scenario = read(&folder, EXTERNAL).unwrap();
    let task = scenario.external().unwrap().unwrap();
    // As written: 1.0 is no whole number.
    assert_eq!(task.settings(), "\"a b\" = [1, 0x10, { c = \"d\" }]\nrate = 1.0\nwhen = 2026-01-02\n");
    let names: Vec<&str> = task.params().iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names, task.params_len()), (vec!["b", "w"], 9));
    assert_eq!(scenario.initial_model(task.params()).unwrap().unwrap().as_slice()[8], 5.0);
    assert_eq!(scenario.target(), None);
    // Payload and work follow from the tensors.
    let printed = scenario.to_toml();
    assert!(printed.contains("payload_mbit = 0.000288"), "{printed}");
    assert!(printed.contains("work_gflop = 0.00001728"), "{printed}");
    assert_eq!(read(&folder, &printed).unwrap(), scenario);
    let json = serde_json::to_value(&scenario).unwrap();
    assert_eq!(json["task"]["settings"]["rate"], "1.0");
}

#[test]
fn a_stored_scenario_names_the_copy_and_its_digest() {
    let folder = with_model(&[("w", &[2])]);
    let stored = read(&folder, EXTERNAL).unwrap().stored();
    assert!(stored.contains("initial = \"initial.safetensors\"") && stored.contains("initial_sha256 = "));
    let copy = folder.path().join("initial.safetensors");
    std::fs::copy(folder.path().join("init.safetensors"), &copy).unwrap();
    assert_eq!(read(&folder, &stored).unwrap().stored(), stored);
    std::fs::copy(with_model(&[("w", &[3])]).path().join("init.safetensors"), &copy).unwrap();
    let refused = read(&folder, &stored).unwrap_err();
    assert!(refused.contains("task.initial_sha256") && refused.contains("is not the digest of"), "{refused}");
}

#[test]
fn what_an_external_task_lacks_is_named() {
    let folder = with_model(&[("w", &[2])]);
    for (text, words) in [
        (EXTERNAL.replace("initial = \"init.safetensors\"", ""), "task.initial: is missing"),
        (EXTERNAL.replace("init.safetensors", "gone.safetensors"), "gone.safetensors cannot be read"),
        (format!("{EXTERNAL}[train]\nbatch = 3\n"), "train.batch is for synthetic"),
        (format!("{EXTERNAL}[stop]\nat = 0.5\n"), "stop.at is given without stop.metric"),
        (format!("{EXTERNAL}[stop]\nmetric = \"bleu\"\n"), "stop.metric is \"bleu\", and stop.at is missing"),
        (format!("{EXTERNAL}[stop]\nmetric = \"\"\nat = 1\n"), "is no name of a metric"),
        ("[task]\nname = \"synthetic\"\nsettings = {}\n".to_owned(), "task.settings is for external"),
        (
            EXTERNAL.replace("rate = 1.0", &format!("rate = {:?}", "x".repeat(70_000))),
            "longer than 65536 bytes",
        ),
    ] {
        let refused = read(&folder, &text).unwrap_err();
        assert!(refused.contains(words), "{refused}");
    }
    std::fs::write(folder.path().join("init.safetensors"), b"no model").unwrap();
    assert!(read(&folder, EXTERNAL).unwrap_err().contains("task.initial: init.safetensors"));
}

/// Whoever evaluates the model names the metric.
#[test]
fn an_external_task_may_have_a_target_of_any_name() {
    let folder = with_model(&[("w", &[2])]);
    let target = |stop: &str| {
        let scenario = read(&folder, &format!("{EXTERNAL}[stop]\n{stop}")).unwrap();
        assert_eq!(read(&folder, &scenario.to_toml()).unwrap(), scenario);
        scenario.target().cloned().unwrap()
    };
    let of = |metric: &str, at: f64, mode| Target { metric: metric.to_owned(), at, mode };
    assert_eq!(target("metric = \"bleu\"\nat = 30\n"), of("bleu", 30.0, TargetMode::Max));
    assert_eq!(target("metric = \"mae\"\nat = 0.5\nmode = \"min\"\n"), of("mae", 0.5, TargetMode::Min));
    assert_eq!(target("target_loss = 0.5\n"), of("loss", 0.5, TargetMode::Min));
}

#[test]
fn values_in_memory_take_the_place_of_files() {
    let folder = with_model(&[("w", &[2])]);
    let bytes = std::fs::read(folder.path().join("init.safetensors")).unwrap();
    let fleet = Fleet::from_columns(Columns {
        compute_secs: &[1.0, 2.0],
        comm_secs: &[3.0, 4.0],
        samples: &[5.0, 6.0],
        ..Columns::default()
    });
    let memory = InMemory {
        fleet: Some(Arc::new(fleet.unwrap())),
        initial: Some(Arc::new(InitialModel::new("first", bytes))),
        scheme: Some(Scheme::Full),
    };
    let text = "[task]\nname = \"external\"\ninitial = \"first\"\n[fleet]\nfile = \"fleet\"\n[plan]\nscheme = \"mine\"\n";
    let scenario = Source::of_text(text, "the scenario").with_memory(memory).scenario(&[]).unwrap();
    assert_eq!((scenario.devices(), &scenario.plan.scheme), (2, &Scheme::Full));
    let on_disk = read(&folder, &format!("{EXTERNAL}[plan]\nscheme = \"full\"\n")).unwrap();
    let digest = |scenario: &Scenario| scenario.initial.as_ref().unwrap().sha256.clone();
    assert_eq!(digest(&scenario), digest(&on_disk));
}

#[test]
fn a_first_model_must_be_one_of_the_task() {
    let text = "[task]\nname = \"synthetic\"\ninitial = \"init.safetensors\"\n";
    let right = with_model(&[("fc.weight", &[10, 60]), ("fc.bias", &[10])]);
    let scenario = read(&right, text).unwrap();
    assert_eq!(read(&right, &scenario.to_toml()).unwrap(), scenario);
    for (tensors, words) in [
        (&[("fc.weight", &[10, 60][..])][..], "there is no array fc.bias"),
        (
            &[("fc.weight", &[60, 10]), ("fc.bias", &[10])],
            "fc.weight is F32 [60, 10], and should be F32 [10, 60]",
        ),
        (&[("fc.weight", &[10, 60]), ("fc.bias", &[10]), ("more", &[1])], "there is an array more"),
    ] {
        let refused = read(&with_model(tensors), text).unwrap_err();
        assert!(refused.contains("s.toml, line 3: task.initial") && refused.contains(words), "{refused}");
    }
}
