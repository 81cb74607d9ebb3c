//! A run's folder through everything that may happen to it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use fedflip_fleet::{Direction, Display, MetricInfo};
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use fedflip_record::checkpoint::Mark;
use fedflip_record::folder::{Caps, Contents, MODEL, RECORDS};
use fedflip_record::schema::VERSION;
use fedflip_record::{
    Checkpoint, End, EndReason, Fold, Header, Initial, Line, Replan, Round, RunFolder, Start, Target,
    TargetMode, reader,
};

fn contents(run: &str) -> Contents<'static> {
    let header = Header {
        version: VERSION,
        fedflip: "0".to_owned(),
        task: "synthetic".to_owned(),
        scheme: "exact".to_owned(),
        seed: 1,
        devices: 3,
        parameters: 2,
        bandwidth_mbps: 100.0,
        costs: Default::default(),
        metrics: vec![MetricInfo::new("accuracy", Direction::Larger, Display::Share)],
        stop: Some(Target { metric: "accuracy".to_owned(), at: 0.5, mode: TargetMode::Max }),
        pilot: false,
        expected_participants: 1.5,
        expected_rounds: None,
        expected_round_secs: None,
        unbiased: None,
        deployed: None,
    };
    Contents {
        run: run.to_owned(),
        free_keys: &["real_hours_max"],
        caps: Caps::NONE,
        fleet: b"fleet".to_vec(),
        plan: b"plan".to_vec(),
        header,
        copies: Vec::new(),
    }
}

fn open(folder: &Path, resume: bool) -> Result<(RunFolder, Start), String> {
    RunFolder::open(folder, &contents("seed = 1\n"), resume).map_err(|error| error.to_string())
}

fn round(round: u64) -> Round {
    let cohort = (0..round as usize % 3).collect();
    Round { round, start_secs: round as f64 / 3.0, round_secs: 1.0 / 3.0, cohort, ..Round::default() }
}

fn checkpoint(round: u64) -> Checkpoint {
    let vectors = vec![vec![round as f32; 2]];
    Checkpoint { round, secs: 0.1 * round as f64, evaluated: None, records: Mark::default(), vectors }
}

fn the_end() -> End {
    End {
        reason: EndReason::Target,
        rounds: 9,
        secs: 3.0,
        metrics: Default::default(),
        estimated: None,
        test: Default::default(),
        detail: None,
    }
}

fn initial() -> Initial {
    Initial { secs: 0.25, metrics: [("accuracy", 0.125)].into(), estimated: None }
}

/// Rounds with a checkpoint before the first and after each third one.
fn rounds(folder: &mut RunFolder, numbers: RangeInclusive<u64>) {
    for number in numbers {
        if number == 1 {
            folder.checkpoint(checkpoint(0)).unwrap();
            folder.append_initial(initial()).unwrap();
        }
        folder.append(round(number)).unwrap();
        if number % 3 == 0 {
            folder.checkpoint(checkpoint(number)).unwrap();
        }
    }
}

/// The rest of nine rounds, and the end.
fn go_on(mut folder: RunFolder, from: u64) {
    rounds(&mut folder, from + 1..=9);
    folder.end(the_end(), b"model").unwrap();
}

#[test]
fn a_run_from_beginning_to_end() {
    let desk = tempfile::tempdir().unwrap();
    let (folder, start) = open(desk.path(), false).unwrap();
    assert_eq!(start, Start::New);
    assert!(open(desk.path(), true).unwrap_err().contains("another fedflip"));
    go_on(folder, 0);
    let records = reader::read(&desk.path().join(RECORDS)).unwrap();
    assert_eq!(records.rounds, (1..=9).map(round).collect::<Vec<_>>());
    assert_eq!((records.initial, records.end), (Some(initial()), Some(the_end())));
    let Fold { summary, curve } = Fold::read(&desk.path().join(RECORDS)).unwrap();
    assert_eq!((curve.of("accuracy"), summary.evaluated_round), (vec![(0.25, 0.125)], Some(0)));
    assert_eq!((summary.rounds, summary.empty_rounds, summary.mean_participants), (9, 3, 1.0));
    assert_eq!((summary.end, summary.reached()), (Some(EndReason::Target), true));

    assert!(open(desk.path(), false).unwrap_err().contains("already"));
    assert_eq!(open(desk.path(), true).unwrap().1, Start::Ended(the_end()));
    let other = RunFolder::open(desk.path(), &contents("seed = 2\n"), true).unwrap_err().to_string();
    let longer = contents("seed = 1\nreal_hours_max = 3\n");
    assert_eq!(RunFolder::open(desk.path(), &longer, true).unwrap().1, Start::Ended(the_end()));
    assert!(other.contains("`seed = 1`, where this one has `seed = 2`"), "{other}");
}

/// Whatever happened after a checkpoint, and to the newest one, the same bytes come out in the end.
#[test]
fn records_go_on_to_the_same_bytes() {
    let undisturbed = tempfile::tempdir().unwrap();
    go_on(open(undisturbed.path(), false).unwrap().0, 0);
    let expected = fs::read(undisturbed.path().join(RECORDS)).unwrap();
    for stop in 0..=9 {
        for damage in [
            "nothing",
            "a torn line",
            "the newest checkpoint",
            "both checkpoints",
            "lost checkpoints",
            "lost records",
        ] {
            let desk = tempfile::tempdir().unwrap();
            let (mut folder, _) = open(desk.path(), false).unwrap();
            rounds(&mut folder, 1..=stop);
            folder.flush().unwrap();
            drop(folder);
            let records = desk.path().join(RECORDS);
            let slots: Vec<_> = ["a", "b"].map(|slot| desk.path().join("checkpoint").join(slot)).into();
            let cut = |path: &Path| {
                if let Ok(bytes) = fs::read(path) {
                    fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
                }
            };
            let mut wanted = stop / 3 * 3;
            match damage {
                "a torn line" => {
                    let mut bytes = fs::read(&records).unwrap();
                    bytes.extend_from_slice(b"{\"type\":\"rou");
                    fs::write(&records, bytes).unwrap();
                }
                "the newest checkpoint" if stop > 0 => {
                    cut(&slots[(wanted / 3) as usize % 2]);
                    wanted = wanted.saturating_sub(3);
                }
                "both checkpoints" => slots.iter().for_each(|slot| cut(slot)),
                "lost checkpoints" => slots.iter().for_each(|slot| drop(fs::remove_file(slot))),
                "lost records" => fs::remove_file(&records).unwrap(),
                _ => {}
            }
            // What no interruption leaves behind is refused, and stays as it is.
            let hopeless = match damage {
                "the newest checkpoint" => (1..3).contains(&stop),
                "both checkpoints" | "lost checkpoints" | "lost records" => stop > 0,
                "a torn line" => stop == 0,
                _ => false,
            };
            if hopeless {
                let before = fs::read(&records).ok();
                let error = open(desk.path(), true).unwrap_err();
                let said = if slots[0].exists() { "damaged" } else { "no checkpoint to resume from" };
                assert!(error.contains(said), "{damage} after {stop}: {error}");
                assert_eq!(fs::read(&records).ok(), before);
                continue;
            }
            let (folder, start) = open(desk.path(), true).unwrap();
            let from = match start {
                Start::After(found) => {
                    assert_eq!(found.vectors, checkpoint(found.round).vectors);
                    found.round
                }
                Start::New => 0,
                Start::Ended(_) => panic!("it has not ended"),
            };
            assert_eq!(from, wanted, "{damage} after {stop}");
            go_on(folder, from);
            assert_eq!(fs::read(&records).unwrap(), expected, "{damage} after {stop}");
            assert_eq!(fs::read(desk.path().join(MODEL)).unwrap(), b"model");
        }
    }
}

/// A run that ended at a cap continues when the cap is raised, and only then.
#[test]
fn a_raised_cap_lets_a_run_go_on() {
    let capped = |rounds_max: u64| Contents {
        free_keys: &["stop.rounds_max"],
        caps: Caps { rounds_max, ..Caps::NONE },
        ..contents(&format!("[stop]\nrounds_max = {rounds_max}\n"))
    };
    let end = End { reason: EndReason::RoundsMax, ..the_end() };
    let desk = tempfile::tempdir().unwrap();
    let (mut folder, _) = RunFolder::open(desk.path(), &capped(9), false).unwrap();
    folder.append(round(1)).unwrap();
    folder.checkpoint(checkpoint(1)).unwrap();
    folder.end(end.clone(), b"model").unwrap();
    assert_eq!(RunFolder::open(desk.path(), &capped(9), true).unwrap().1, Start::Ended(end));
    let (_, start) = RunFolder::open(desk.path(), &capped(20), true).unwrap();
    assert!(matches!(start, Start::After(Checkpoint { round: 1, .. })), "{start:?}");
    assert_eq!(fs::read_to_string(desk.path().join("run.toml")).unwrap(), "[stop]\nrounds_max = 20\n");
}

/// Otherwise `run.toml` would not repeat the run.
#[test]
fn a_cap_below_what_is_done_changes_nothing() {
    let capped = |caps: Caps| Contents {
        free_keys: &["stop.rounds_max", "stop.virtual_hours_max"],
        caps,
        ..contents(&format!(
            "[stop]\nrounds_max = {}\nvirtual_hours_max = {}\n",
            caps.rounds_max, caps.secs_max
        ))
    };
    let first = Caps { rounds_max: 9, secs_max: 5.0 };
    let lower = [Caps { rounds_max: 1, ..first }, Caps { secs_max: 0.1, ..first }];
    let desk = tempfile::tempdir().unwrap();
    let run_toml = || fs::read_to_string(desk.path().join("run.toml")).unwrap();
    let (mut folder, _) = RunFolder::open(desk.path(), &capped(first), false).unwrap();
    (1..=2).for_each(|number| folder.append(round(number)).unwrap());
    folder.checkpoint(checkpoint(2)).unwrap();
    drop(folder);
    let begun = run_toml();
    for caps in lower {
        let error = RunFolder::open(desk.path(), &capped(caps), true).unwrap_err();
        assert!(error.to_string().contains("has come to round 2"), "{error}");
        assert_eq!(run_toml(), begun);
    }
    let (folder, start) = RunFolder::open(desk.path(), &capped(first), true).unwrap();
    assert!(matches!(start, Start::After(_)), "{start:?}");
    let end = End { reason: EndReason::VirtualTimeMax, rounds: 2, secs: 0.2, ..the_end() };
    folder.end(end.clone(), b"model").unwrap();
    // A run that is over stays as it is.
    for caps in lower {
        assert_eq!(RunFolder::open(desk.path(), &capped(caps), true).unwrap().1, Start::Ended(end.clone()));
        assert_eq!(run_toml(), begun);
    }
}

/// Of [`fedflip_record::schema::VERSION`].
const VERSION_FIELD: &str = "\"version\":3";

#[test]
fn another_fleet_plan_or_version_is_refused() {
    let desk = tempfile::tempdir().unwrap();
    drop(open(desk.path(), false).unwrap());
    let refused =
        |contents: &Contents<'_>| RunFolder::open(desk.path(), contents, true).unwrap_err().to_string();
    let same = contents("seed = 1\n");
    assert!(refused(&Contents { fleet: b"other".to_vec(), ..same.clone() }).contains("fleet.csv"));
    assert!(refused(&Contents { plan: b"other".to_vec(), ..same.clone() }).contains("plan.csv"));
    let records = desk.path().join(RECORDS);
    let newer = fs::read_to_string(&records).unwrap().replace(VERSION_FIELD, "\"version\":9");
    fs::write(&records, &newer).unwrap();
    assert!(refused(&same).contains("version 9"));
    assert_eq!(fs::read_to_string(&records).unwrap(), newer);
    // Records without a scenario are somebody else's.
    fs::remove_file(desk.path().join("run.toml")).unwrap();
    assert!(refused(&same).contains("no run.toml"));
}

/// The directory as it is, with the content of every file.
fn listing(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn files_of_somebody_else_are_left_as_they_are() {
    let names = ["fleet.csv", "plan.csv", "model.safetensors", "best.safetensors", "host.json", "notes.txt"];
    for name in names {
        let desk = tempfile::tempdir().unwrap();
        fs::write(desk.path().join(name), "mine").unwrap();
        let before = listing(desk.path());
        for resume in [false, true] {
            let error = RunFolder::open(desk.path(), &contents("seed = 1\n"), resume).unwrap_err();
            let text = error.to_string();
            assert!(text.contains(&desk.path().display().to_string()) && text.contains(name), "{text}");
            assert!(error.hint().contains("an empty or a new folder"), "{}", error.hint());
        }
        assert_eq!(listing(desk.path()), before);
    }
    // What a program keeps beside a run is no obstacle, and neither is what an earlier beginning has left.
    let desk = tempfile::tempdir().unwrap();
    for (name, content) in [
        (".lock", ""),
        (".gitignore", "*"),
        ("scenario.toml", "mine"),
        ("fleet.csv", "fleet"),
        ("plan.csv.new", "pl"),
        ("weights.csv", "copy"),
    ] {
        fs::write(desk.path().join(name), content).unwrap();
    }
    let with_copy = Contents { copies: vec![("weights.csv", b"copy")], ..contents("seed = 1\n") };
    let other_copy = Contents { copies: vec![("weights.csv", b"other")], ..contents("seed = 1\n") };
    assert!(RunFolder::open(desk.path(), &other_copy, true).unwrap_err().to_string().contains("weights.csv"));
    assert_eq!(RunFolder::open(desk.path(), &with_copy, false).unwrap().1, Start::New);
    assert_eq!(fs::read_to_string(desk.path().join("scenario.toml")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(desk.path().join("weights.csv")).unwrap(), "copy");
}

#[test]
fn other_metrics_and_promises_are_not_resumed() {
    let desk = tempfile::tempdir().unwrap();
    let mut mine = contents("seed = 1\n");
    mine.header.metrics.push(MetricInfo::new("loss", Direction::Smaller, Display::Number));
    mine.header.unbiased = Some(true);
    drop(RunFolder::open(desk.path(), &mine, false).unwrap());
    let refused = |change: &dyn Fn(&mut Header)| {
        let mut other = mine.clone();
        change(&mut other.header);
        RunFolder::open(desk.path(), &other, true).map(|_| ()).map_err(|error| error.to_string())
    };
    let less = refused(&|header| drop(header.metrics.pop())).unwrap_err();
    assert!(less.contains("records accuracy (max), loss (min), where this one has accuracy (max)"), "{less}");
    let turned = refused(&|header| header.metrics[1].better = Direction::Larger).unwrap_err();
    assert!(turned.contains("loss (min), where this one has accuracy (max), loss (max)"), "{turned}");
    let promise = refused(&|header| header.unbiased = Some(false)).unwrap_err();
    assert!(promise.contains("exact promised an unbiased sum, and does not now"), "{promise}");
    // The order says nothing, and an older run has no promise.
    refused(&|header| header.metrics.reverse()).unwrap();
    refused(&|header| header.unbiased = None).unwrap();
}

#[test]
fn bad_records_are_said_to_be_so() {
    let desk = tempfile::tempdir().unwrap();
    let (folder, _) = open(desk.path(), false).unwrap();
    go_on(folder, 0);
    let good = fs::read_to_string(desk.path().join(RECORDS)).unwrap();
    let path = desk.path().join("bad.jsonl");
    let refused = |text: &str| {
        fs::write(&path, text).unwrap();
        reader::read(&path).unwrap_err().to_string()
    };
    assert!(refused("").contains("header is missing"));
    let metric = |name: &str| format!(r#"{{"name":"{name}","better":"larger","display":"share"}}"#);
    let declaring = |names: &[String]| {
        let metrics: Vec<String> = names.iter().map(|name| metric(name)).collect();
        good.replacen(&metric("accuracy"), &metrics.join(","), 1)
    };
    let many: Vec<String> = (0..65).map(|number| format!("m{number}")).collect();
    assert!(refused(&declaring(&many)).contains("line 1: 65 metrics are declared; there may be 64"));
    let twice = ["rmse", "rmse"].map(String::from);
    assert!(refused(&declaring(&twice)).contains("line 1: the metric rmse is declared twice"));
    assert!(refused(&good.replacen(VERSION_FIELD, "\"version\":7", 1)).contains("version 7"));
    assert!(
        refused(&good.replacen("\"round\":2", "\"round\":4", 1)).contains("line 4: round 4 after round 1")
    );
    let lines: Vec<&str> = good.lines().collect();
    assert!(refused(&format!("{}\n", lines[1])).contains("header is missing"));
    assert!(refused(&format!("{}\n{}\n", lines[0], lines[0])).contains("second header"));
    let twice = format!("{}\n{}\n{}\n", lines[0], lines[1], lines[1]);
    assert!(refused(&twice).contains("second evaluation of the first model"));
    let late = format!("{}\n{}\n{}\n", lines[0], lines[2], lines[1]);
    assert!(refused(&late).contains("line 3: the first model's evaluation after round 1"));
    assert!(refused(&format!("{}\nnonsense\n", lines[0])).contains("line 2: not a record"));
    assert!(refused(&format!("{good}{}\n", lines[1])).contains("after the end"));
    // The line that is being written is not there yet.
    fs::write(&path, &good[..good.len() - 5]).unwrap();
    let records = reader::read(&path).unwrap();
    assert_eq!((records.rounds.len(), records.end), (9, None));
}

/// A new plan stands between two rounds, and those who want rounds alone do not see it.
#[test]
fn a_new_plan_has_a_line_of_its_own() {
    let desk = tempfile::tempdir().unwrap();
    let (folder, _) = open(desk.path(), false).unwrap();
    go_on(folder, 0);
    let path = desk.path().join(RECORDS);
    let (without, good) = (reader::read(&path).unwrap(), fs::read_to_string(&path).unwrap());
    let replan = Replan { after_round: 2, reason: "phone-3 was away".to_owned(), ..Replan::default() };
    let line = serde_json::to_string(&Line::Replan(replan.clone())).unwrap();
    let at = |place: usize| {
        let mut lines: Vec<&str> = good.lines().collect();
        lines.insert(place, &line);
        fs::write(&path, lines.join("\n") + "\n").unwrap();
    };
    at(4);
    assert_eq!(reader::read(&path).unwrap(), without);
    assert_eq!(reader::summary(&path).unwrap().rounds, without.rounds.len() as u64);
    let mut found = Vec::new();
    reader::each(&path, |line| found.push(line)).unwrap();
    assert_eq!(found[4], Line::Replan(replan));
    for (place, problem) in
        [(0, "header is missing"), (3, "line 4: a plan made after round 2, behind round 1")]
    {
        at(place);
        let error = reader::read(&path).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
}
