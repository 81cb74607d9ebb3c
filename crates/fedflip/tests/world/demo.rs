//! `fedflip demo` as somebody new types it.

use std::process::Command;

#[test]
fn a_demo_reaches_its_target_and_leaves_nothing_behind() {
    let desk = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_fedflip"))
        .args(["demo", "--devices", "3", "--target", "0.6", "--json"])
        .env("TMPDIR", desk.path())
        .output()
        .unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{errors}");
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["status"], "reached");
    assert!(result["metrics"]["accuracy"].as_f64().unwrap() >= 0.6);
    assert!(errors.contains("dashboard: http://127.0.0.1:"), "{errors}");
    assert!(errors.contains("device-3 enrols"), "{errors}");
    assert_eq!(std::fs::read_dir(desk.path()).unwrap().count(), 0, "the temporary folder is gone");
}

#[test]
fn what_is_kept_can_be_reported() {
    let desk = tempfile::tempdir().unwrap();
    let kept = desk.path().join("kept");
    let fedflip = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_fedflip")).args(args).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    fedflip(&["demo", "--devices", "2", "--target", "0.3", "--keep", kept.to_str().unwrap()]);
    for file in ["run/state.sqlite", "run/records.jsonl", "run/fleet.csv", "run/plan.csv", "server.log"] {
        assert!(kept.join(file).is_file(), "{file}");
    }
    let page = desk.path().join("page.html");
    fedflip(&["report", kept.join("run").to_str().unwrap(), "--out", page.to_str().unwrap()]);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("device-2"));
    let again = Command::new(env!("CARGO_BIN_EXE_fedflip"))
        .args(["demo", "--keep", kept.to_str().unwrap()])
        .output()
        .unwrap();
    assert_eq!(again.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&again.stderr).contains("name a new folder"));
}

#[cfg(unix)]
#[test]
fn a_demo_that_is_stopped_leaves_nothing_behind() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    let desk = tempfile::tempdir().unwrap();
    let mut demo = Command::new(env!("CARGO_BIN_EXE_fedflip"))
        .args(["demo", "--devices", "2", "--target", "1", "--json"])
        .env("TMPDIR", desk.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(demo.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with("round 1:")));
    let asked = Command::new("sh").args(["-c", &format!("kill -TERM {}", demo.id())]).status().unwrap();
    assert!(asked.success());
    lines.for_each(drop);
    let output = demo.wait_with_output().unwrap();
    assert!(output.status.success());
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&result["status"], &result["out"]), (&"stopped".into(), &serde_json::Value::Null));
    assert_eq!(std::fs::read_dir(desk.path()).unwrap().count(), 0, "the temporary folder is gone");
}

#[test]
fn a_target_that_is_no_share_is_refused() {
    for target in ["0", "1.5", "NaN"] {
        let output = Command::new(env!("CARGO_BIN_EXE_fedflip")).args(["demo", "--target", target]).output();
        assert_eq!(output.unwrap().status.code(), Some(2), "{target}");
    }
}
