//! What reaches a terminal, a pipe, and nobody.

use std::process::Output;

use super::Desk;

/// A run of some rounds that takes well under a second.
const QUICK: &str = "--set task.hidden=8 --set fleet.devices=20 --set data.test_samples_max=200 \
                     --set stop.target_accuracy=0.999 --set stop.rounds_max=60 --set plan.scheme=fixed=0.3";

fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("s.toml", desk.stdout("scenario new synthetic"));
    desk
}

fn texts(output: &Output) -> [String; 2] {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8(bytes.clone()).expect("UTF-8"))
}

#[test]
fn a_pipe_gets_no_escape_codes() {
    let desk = desk();
    for line in [
        format!("run s.toml {QUICK}"),
        format!("pilot s.toml {QUICK} --set pilot.loss=2.0"),
        format!("compare s.toml {QUICK} --set stop.target_accuracy=0.3 --set pilot.loss=2.0 --seeds 1"),
        "run --help".to_owned(),
        "run s.toml --set x".to_owned(),
        "data list".to_owned(),
        "fleet show fleet.csv".to_owned(),
        "no-such-command".to_owned(),
    ] {
        for text in texts(&desk.run(&line)) {
            assert!(!text.contains('\u{1b}') && !text.contains('\r'), "{line}: {text:?}");
        }
    }
}

/// One object and a line's end: nothing before it, nothing after it, nothing beside it.
#[test]
fn json_is_one_object_and_quiet_says_nothing() {
    let desk = desk();
    for line in [
        format!("run s.toml {QUICK} --json --quiet"),
        format!("pilot s.toml {QUICK} --set pilot.loss=2.0 --json -q"),
        format!(
            "compare s.toml {QUICK} --set stop.target_accuracy=0.3 --set plan.alpha=400 --no-pilot --seeds 1 --json --quiet"
        ),
    ] {
        let output = desk.run(&line);
        assert!(output.status.success(), "{line}");
        let [stdout, stderr] = texts(&output);
        assert_eq!(stderr, "", "{line}");
        assert!(stdout.starts_with('{') && stdout.ends_with("}\n"), "{line}: {stdout}");
        assert_eq!(stdout.lines().count(), 1, "{line}: {stdout}");
        serde_json::from_str::<serde_json::Value>(&stdout).expect("JSON");
    }
    // The result is no word on the way.
    let [stdout, stderr] = texts(&desk.run(&format!("run s.toml {QUICK} --quiet")));
    assert!(stdout.contains("virtual time") && stderr.is_empty(), "{stderr}");
}

/// First after two seconds, then every half minute; with --quiet never.
#[test]
fn without_a_terminal_a_long_run_says_a_line_now_and_then() {
    let desk = desk();
    let secs =
        |secs: f64| format!("--set stop.rounds_max=1000000 --set stop.real_hours_max={}", secs / 3600.0);
    let [_, stderr] = texts(&desk.run(&format!("run s.toml {QUICK} {}", secs(3.0))));
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("synthetic fixed=0.3: round ") && stderr.contains(", accuracy "), "{stderr}");
    let [_, stderr] = texts(&desk.run(&format!("run s.toml {QUICK} {} --quiet", secs(2.5))));
    assert_eq!(stderr, "");
}

#[test]
fn a_run_ends_with_its_curves() {
    let desk = desk();
    let curves = |text: &str| -> Vec<String> {
        let wanted = |line: &&str| line.starts_with("  accuracy") || line.starts_with("  loss");
        text.lines().filter(wanted).map(str::to_owned).collect()
    };
    let line = format!("run s.toml {QUICK} --set record.evaluate_every=7 --quiet");
    let unkept = curves(&desk.stdout(&line));
    for (line, is_share) in unkept.iter().zip([true, false]) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let bars = words.iter().find(|word| word.chars().all(|c| ('▁'..='█').contains(&c)));
        assert_eq!(bars.expect("a curve").chars().count(), 24, "{line}");
        assert_eq!(line.contains(" %"), is_share, "{line}");
    }
    assert_eq!(unkept.len(), 2);
    // With a folder, and stopped and resumed on the way, they are the same.
    let stopped = desk.run(&format!("{line} --out kept --set stop.real_hours_max=0.0000001"));
    assert_eq!(stopped.status.code(), Some(4));
    assert_eq!(curves(&desk.stdout(&format!("{line} --out kept --resume"))), unkept);
    assert_eq!(curves(&desk.stdout(&format!("{line} --out kept --resume"))), unkept, "was over already");
    // The first model and the last one are enough for a curve: it begins at time 0.
    let two = curves(&desk.stdout(&format!("run s.toml {QUICK} --set record.evaluate_every=60 --quiet")));
    assert!(two.iter().all(|line| line.contains('█')), "{two:?}");
}
