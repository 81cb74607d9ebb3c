//! A run that is killed and resumed has the digests of one that was left alone.

use std::time::{Duration, Instant};

use super::{Digests, expected, runs};

#[test]
#[expect(clippy::disallowed_methods, reason = "a process is waited for, and killed")]
fn a_killed_run_resumes_to_the_recorded_digests() {
    let (expected, same_processor) = expected();
    let all = runs();
    let run = all.iter().find(|run| run.name == "to-the-target").unwrap();
    let desk = tempfile::tempdir().unwrap();
    let records = desk.path().join("run/records.jsonl");
    let mut child = run.command(desk.path()).args(["--set", "record.checkpoint_secs=0"]).spawn().unwrap();
    let began = Instant::now();
    // Some rounds are on the disk, and most are not.
    while std::fs::metadata(&records).map_or(0, |about| about.len()) < 20_000 {
        assert!(began.elapsed() < Duration::from_secs(60), "the run recorded nothing");
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!desk.path().join("run/model.safetensors").exists(), "the run ended before it was killed");
    let mut resumed = run.command(desk.path());
    let output = resumed.args(["--resume", "--set", "record.checkpoint_secs=0"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut found = Digests::of(&desk.path().join("run"));
    let expected = &expected["to-the-target"];
    if !same_processor {
        found.model.clone_from(&expected.model);
    }
    assert_eq!(&found, expected);
}
