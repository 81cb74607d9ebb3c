//! First models from files, and tasks whose model fedflip does not know.

use std::fs;

use super::Desk;

const QUICK: &str =
    "--quiet --set fleet.devices=10 --set data.test_samples_max=200 --set stop.target_accuracy=1";

fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("s.toml", "task.name = \"synthetic\"\n");
    desk
}

fn records(desk: &Desk, run: &str) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(desk.folder.path().join(run).join("records.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn refused(desk: &Desk, line: &str) -> String {
    let output = desk.run(line);
    assert_eq!(output.status.code(), Some(2), "{line}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_run_begins_with_the_model_of_another() {
    let desk = desk();
    desk.stdout(&format!("run s.toml {QUICK} --set stop.rounds_max=4 --out first"));
    let line =
        format!("run s.toml {QUICK} --set stop.rounds_max=2 --set task.initial=first/model.safetensors");
    desk.stdout(&format!("{line} --out then"));
    let (first, then) = (records(&desk, "first"), records(&desk, "then"));
    let last = first.iter().rfind(|line| line["type"] == "round").unwrap();
    let initial = then.iter().find(|line| line["type"] == "initial").unwrap();
    assert_eq!(last["metrics"], initial["metrics"], "where the one ended the other begins");
    // The folder of the run can be moved: it has a copy of the model, and the digest tells another one.
    let at = |name: &str| fs::read(desk.folder.path().join(name)).unwrap();
    assert_eq!(at("then/initial.safetensors"), at("first/model.safetensors"));
    desk.stdout("run then/run.toml --quiet --out again");
    assert_eq!(at("then/records.jsonl"), at("again/records.jsonl"));
    let other = line.replace("first/model", "then/model");
    let said = refused(&desk, &format!("{other} --out then --resume"));
    assert!(said.contains("initial_sha256"), "{said}");
    let said = refused(&desk, &format!("{line} --set task.hidden=3"));
    assert!(said.contains("task.initial") && said.contains("fc1.weight"), "{said}");
}

#[test]
fn the_best_model_is_kept_beside_the_last() {
    let desk = desk();
    // The loss of a fixed share swings, so the best model is not the last.
    let line = format!("run s.toml {QUICK} --scheme fixed=0.2 --set preset=paper --set stop.rounds_max=40");
    desk.stdout(&format!("{line} --out whole"));
    let lines = records(&desk, "whole");
    let accuracy = |line: &serde_json::Value| line["metrics"]["accuracy"].as_f64();
    let best = lines.iter().filter_map(accuracy).fold(0.0, f64::max);
    let next = format!("{line} --set task.initial=whole/best.safetensors --set stop.rounds_max=1 --out next");
    desk.stdout(&next);
    let initial = records(&desk, "next").iter().find(|line| line["type"] == "initial").and_then(accuracy);
    assert_eq!(initial, Some(best));
    // A run in two halves keeps the same.
    desk.stdout(&format!("{line} --set stop.rounds_max=21 --out halves"));
    desk.stdout(&format!("{line} --out halves --resume"));
    let at = |name: &str| fs::read(desk.folder.path().join(name)).unwrap();
    assert!(at("whole/best.safetensors") == at("halves/best.safetensors"));
}

#[test]
fn an_external_task_is_checked_and_not_simulated() {
    let desk = desk();
    desk.stdout(&format!("run s.toml {QUICK} --set stop.rounds_max=1 --out first"));
    let scenario = "[task]\nname = \"external\"\ninitial = \"first/model.safetensors\"\n[task.settings]\nrate = 0.5\n\
                    [server]\nupdate_norm_max = 10\n";
    desk.write("e.toml", scenario);
    let checked = desk.stdout("scenario check e.toml");
    assert!(
        checked.contains("settings = { rate = 0.5 }") && checked.contains("payload_mbit = "),
        "{checked}"
    );
    assert!(!checked.contains("[train]") && !checked.contains("metric"), "{checked}");
    assert_eq!(desk.json("scenario check e.toml")["task"]["settings"]["rate"], "0.5");
    for line in ["run e.toml", "compare e.toml", "pilot e.toml"] {
        let said = refused(&desk, line);
        assert!(
            said.contains("the task external has no network here") && said.contains("hint: serve it"),
            "{said}"
        );
    }
    desk.write("e.toml", scenario.replace("update_norm_max = 10", ""));
    let said = refused(&desk, "serve e.toml --out served --insecure");
    assert!(said.contains("server.update_norm_max: is missing"), "{said}");
}
