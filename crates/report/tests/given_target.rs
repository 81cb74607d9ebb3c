//! Reports to a target that was given for them, and that runs need not have had.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod altered;
mod common;
mod rendered;

use std::fs;

use altered::{alter, problems};
use common::{Run, Runs};
use fedflip_record::{EndReason, TargetMode};
use fedflip_report::sections::time_to_target;
use fedflip_report::{Collection, FORMATS, Group, ReportError};
use rendered::{files, html};

fn to(runs: &Runs, target: &str) -> Result<Collection, ReportError> {
    Collection::read(&[runs.path().to_owned()], None, Some(&target.parse().unwrap()))
}

/// A column of Table 1, from top to bottom.
fn column(group: &Group, key: &str) -> Vec<String> {
    let table = time_to_target::table(group, None).unwrap();
    let place = table.columns.iter().position(|column| column.key == key).unwrap();
    table.rows.iter().map(|row| row[place].shown()).collect()
}

#[test]
fn a_given_target_takes_the_place_of_those_of_the_runs() {
    let runs = Runs::new();
    // The loss is 2 / round. All runs reach accuracies of their own.
    runs.add("runs/exact-seed1", &Run::default());
    let other = runs.add("runs/full-seed1", &Run { scheme: "full", secs: 9.0, ..Run::default() });
    alter(&other, "run.toml", "[stop]\n", "[stop]\nmetric = \"accuracy\"\nat = 0.8\nmode = \"max\"\n");
    runs.add("runs/uniform-seed1", &Run { scheme: "uniform", rounds: 3, ..Run::default() });
    runs.add("pilots/full-seed9", &Run { scheme: "full", seed: 9, target_loss: Some(0.6), ..Run::default() });
    let collection = to(&runs, "loss=0.25").unwrap();
    let [group] = collection.groups.as_slice() else { panic!("{:?}", collection.groups) };
    let found = |name: &str| {
        let scheme = group.scheme(name).unwrap();
        (scheme.standing.reached, scheme.runs[0].summary().rounds, scheme.runs[0].round_secs.len())
    };
    assert_eq!((found("exact"), found("full")), ((1, 8, 5), (1, 8, 5)), "the loss of round 8 is 0.25");
    assert_eq!(found("uniform").0, 0, "its own target came first");
    assert_eq!(group.pilots[0].summary().rounds, 20, "a pilot has a loss of its own");
    assert_eq!(group.target_words(), "loss 0.250");
    let table = time_to_target::table(group, group.scheme("exact")).unwrap();
    let texts: Vec<Vec<String>> =
        table.rows.iter().map(|row| row.iter().map(fedflip_report::Cell::shown).collect()).collect();
    assert_eq!(texts[0][..4], ["exact", "16 s", "–", "1.00×"]);
    assert_eq!(texts[1][..4], ["full", "72 s", "–", "4.50×"]);
    assert_eq!(texts[2][..4], ["uniform", "> 6 s", "–", "> 0.38×"]);
    assert!(table.note.starts_with("The target was given for this report"), "{}", table.note);
    assert!(html(&collection, None).contains("ended before the report's target"));
    for format in FORMATS {
        assert!(!files(&collection, format.name).is_empty(), "{format:?}");
    }
    // Of a metric that no run has, the nearest name is told; runs that lack it are left out.
    let Err(ReportError::NoSuchMetric { nearest, known, .. }) = to(&runs, "acuracy=0.5") else {
        panic!("no error")
    };
    assert_eq!(
        (nearest.as_deref(), known),
        (Some("accuracy"), vec!["accuracy".to_owned(), "loss".to_owned()])
    );
    runs.add("runs/other", &Run { scheme: "auto", metric: "rmse", ..Run::default() });
    let collection = to(&runs, "accuracy=0.5").unwrap();
    assert!(problems(&collection)[0].contains("other: left out: its evaluations have no accuracy"));
    assert_eq!(collection.groups[0].schemes.len(), 3);
}

#[test]
fn a_share_beyond_1_is_refused() {
    let runs = Runs::new();
    runs.add("run", &Run::default());
    for target in ["accuracy=70", "accuracy=0", "accuracy=-0.5"] {
        let error = to(&runs, target).unwrap_err();
        assert!(matches!(error, ReportError::NoShare { .. }), "{target}: {error}");
    }
    let error = to(&runs, "accuracy=70").unwrap_err();
    assert_eq!(error.to_string(), "the target is 70, and accuracy is a share");
    for target in ["accuracy=1", "accuracy=0.7", "loss=70"] {
        assert!(to(&runs, target).is_ok(), "{target}");
    }
}

/// The mode of a run's own target was chosen by somebody; a metric of one's own may be declared without thought.
#[test]
fn a_target_is_reached_from_the_side_of_the_run_s_own() {
    let runs = Runs::new();
    let folder = runs.add("run", &Run { metric: "score", ..Run::default() });
    alter(&folder, "records.jsonl", "\"mode\":\"min\"", "\"mode\":\"max\"");
    let mode = |target: &str| to(&runs, target).unwrap().groups[0].target().unwrap().mode;
    assert_eq!(mode("score=0.6"), TargetMode::Max);
    assert_eq!(mode("loss=0.6"), TargetMode::Min, "another metric than that of its own target");
}

#[test]
fn no_ratio_is_to_a_time_of_zero() {
    let runs = Runs::new();
    let first = runs.add("exact", &Run::default());
    runs.add("full", &Run { scheme: "full", secs: 9.0, ..Run::default() });
    let text = fs::read_to_string(first.join("records.jsonl")).unwrap();
    let initial = r#"{"type":"initial","secs":0.0,"metrics":{"loss":0.2}}"#;
    fs::write(first.join("records.jsonl"), text.replacen('\n', &format!("\n{initial}\n"), 1)).unwrap();
    let collection = to(&runs, "loss=0.25").unwrap();
    let group = &collection.groups[0];
    assert_eq!(column(group, "hours"), ["0 s", "72 s"]);
    assert_eq!(column(group, "ratio_to_best"), ["–", "–"]);
    for format in FORMATS {
        for file in files(&collection, format.name) {
            let text = String::from_utf8(file.bytes).unwrap_or_default();
            let wrong = ["NaN", "inf×", "inf times"].into_iter().find(|wrong| text.contains(wrong));
            assert_eq!(wrong, None, "{}: {text}", format.name);
        }
    }
}

#[test]
fn a_target_that_nothing_is_shown_to_is_said() {
    let runs = Runs::new();
    runs.add("pilots/full", &Run { scheme: "full", target_loss: Some(0.6), ..Run::default() });
    let collection = to(&runs, "loss=0.25").unwrap();
    let [problem] = collection.problems.as_slice() else { panic!("{:?}", collection.problems) };
    assert!(problem.contains("the target is not used: there are only pilots here"), "{problem}");
    assert!(runs.read().problems.is_empty());
}

#[test]
fn a_round_after_the_target_is_said_to_be_one() {
    let runs = Runs::new();
    runs.add("run", &Run::default());
    let target = "loss=0.25".parse().unwrap();
    let read = |round, target| {
        let collection = Collection::read(&[runs.path().to_owned()], Some(round), target);
        problems(&collection.unwrap())
    };
    assert_eq!(read(9, Some(&target)), ["round 9: no run here has it before the target"]);
    assert_eq!((read(8, Some(&target)).len(), read(9, None).len()), (0, 0));
    assert_eq!(read(21, None), ["round 21: no run here has it"]);
}

#[test]
fn runs_that_ended_before_the_target_are_none_in_progress() {
    let runs = Runs::new();
    // The loss is 2 / round: all targets below 0.1 are out of reach.
    let ends = [Some(EndReason::Target), Some(EndReason::RoundsMax), None];
    for (seed, end) in (1..).zip(ends) {
        runs.add(&format!("exact-{seed}"), &Run { seed, end, ..Run::default() });
    }
    runs.add("exact-4", &Run { seed: 4, rounds: 40, ..Run::default() });
    let collection = to(&runs, "loss=0.05").unwrap();
    let group = &collection.groups[0];
    assert_eq!(column(group, "reached"), ["1 of 4, 1 not over, 2 did not reach it"]);
    assert_eq!(group.schemes[0].standing.going_on, 1);
    let note = time_to_target::table(group, None).unwrap().note;
    assert!(note.contains("A run that ended before that did not reach it"), "{note}");
    // Their own target is another matter.
    let own = runs.read();
    assert_eq!(column(&own.groups[0], "reached"), ["2 of 4, 1 not over"]);
}
