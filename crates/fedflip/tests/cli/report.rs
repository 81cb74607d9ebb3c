//! Reports: from the runs that a user has to pages, figures and tables.

use std::fs;

use serde_json::Value;

use super::Desk;

/// A small comparison in `c`.
fn compared() -> (Desk, Value) {
    let desk = Desk::new();
    desk.write("s.toml", desk.stdout("scenario new synthetic"));
    let line = "compare s.toml --quiet --set fleet.devices=20 --set pilot.loss=1.5 --set stop.target_accuracy=0.5 \
                --set data.test_samples_max=500 --seeds 2 --schemes exact,full --out c";
    let json = desk.json(line);
    (desk, json)
}

/// A target that no run had: runs are shown to the first evaluation that reaches it.
#[test]
fn times_are_to_a_target_that_is_given() {
    let (desk, _) = compared();
    let report = desk.json("report c --target loss=2.3");
    let group = &report["groups"][0];
    assert_eq!((&group["target"]["metric"], &group["target"]["mode"]), (&"loss".into(), &"min".into()));
    let own = desk.json("report c");
    let hours = |report: &Value| report["groups"][0]["table1"][0]["hours"].as_f64().unwrap();
    assert!(hours(&report) < hours(&own), "{report}");
    assert_eq!(group["table1"][0]["reached"], 2, "{report}");
    let refused = |line: &str| {
        let output = desk.run(line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        String::from_utf8(output.stderr).unwrap()
    };
    let said = refused("report c --target los=2.3 --format text");
    assert!(
        said.contains("has the metric los") && said.contains("did you mean --target loss=VALUE?"),
        "{said}"
    );
    let said = refused("report c --target loss --format text");
    assert!(said.contains("METRIC=VALUE, such as loss=0.5"), "{said}");
    let said = refused("report c --target accuracy=70 --format text");
    assert!(
        said.contains("the target is 70, and accuracy is a share") && said.contains("70 % accuracy is 0.7"),
        "{said}"
    );
}

/// A report or an export never replaces what a run needs to continue.
#[test]
fn the_files_of_a_run_are_not_written_over() {
    let (desk, _) = compared();
    let run = desk.folder.path().join("c/runs/exact-seed1");
    let files = || ["run.toml", "plan.csv", "records.jsonl"].map(|name| fs::read(run.join(name)).unwrap());
    let before = files();
    for line in [
        "report c --format csv --out c/runs/exact-seed1",
        "report c --out c/runs/exact-seed1/records.jsonl",
        "export c/runs/exact-seed1 --format parquet --out c/runs/exact-seed1/plan.csv",
    ] {
        let output = desk.run(line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        let refused = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(refused.contains("would replace a file of a run folder"), "{line}: {refused}");
    }
    assert_eq!(before, files());
    assert!(!run.join("table1.csv").exists(), "a refusal leaves no half of a report behind");
    desk.stdout("report c --out c/runs/exact-seed1/report.html");
}

/// Words of 70,000 characters are cut, whatever the format.
#[test]
fn a_word_without_end_in_records_is_cut() {
    let (desk, _) = compared();
    let path = desk.folder.path().join("c/runs/exact-seed1/records.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let long = format!("\"scheme\":\"{}\"", "x".repeat(70_000));
    fs::write(&path, text.replacen("\"scheme\":\"exact\"", &long, 1)).unwrap();
    for format in ["text", "md", "csv --out words"] {
        desk.stdout(&format!("report c --format {format}"));
    }
    assert!(desk.stdout("report c --format text").contains("xxx…"));
}

#[test]
fn a_comparison_becomes_a_page_figures_and_tables() {
    let (desk, compared) = compared();
    assert_eq!(desk.stdout("report c"), "report.html\n");
    let page = fs::read_to_string(desk.folder.path().join("report.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("synthetic to 50 %"));

    // From records alone, the same numbers as the comparison had.
    let json: Value = serde_json::from_str(&desk.stdout("report c --json")).unwrap();
    assert_eq!(json["problems"], serde_json::json!([]));
    let table = json["groups"][0]["table1"].as_array().unwrap();
    for scheme in compared["schemes"].as_array().unwrap() {
        let row = table.iter().find(|row| row["scheme"] == scheme["scheme"]).unwrap();
        let near = |key: &str, other: &Value| {
            let (a, b) = (row[key].as_f64().unwrap(), other.as_f64().unwrap());
            assert!((a - b).abs() <= 1e-12 * b.abs(), "{key}: {a} {b}");
        };
        near("hours", &scheme["hours"]["mean"]);
        near("hours_std", &scheme["hours"]["std"]);
        near("ratio_to_best", &scheme["ratio_to_best"]);
        near("hours_with_pilots", &scheme["hours_with_pilot"]);
        near("participants", &scheme["mean_participants"]);
    }
    let constants = &json["groups"][0]["constants"];
    assert_eq!(constants["alpha"], compared["pilot"]["alpha"]);
    assert!(constants["alpha_interval"][0].as_f64() < constants["alpha"].as_f64(), "{constants}");

    let figures = desk.stdout("report c --format svg --out figures");
    for name in ["accuracy", "loss", "participation-exact", "round-times-full", "timeline-full-round-1"] {
        let path = format!("figures/{name}.svg");
        assert!(figures.lines().any(|line| line == path), "{path}: {figures}");
        assert!(fs::read_to_string(desk.folder.path().join(&path)).unwrap().contains("</svg>"));
    }
    desk.stdout("report c --format csv --out tables");
    let table = fs::read_to_string(desk.folder.path().join("tables/table1.csv")).unwrap();
    assert!(table.starts_with("scheme,hours,hours_bound,hours_std,ratio_to_best,"), "{table}");
    let participation = fs::read_to_string(desk.folder.path().join("tables/participation.csv")).unwrap();
    assert_eq!(participation.lines().count(), 1 + 2 * 20);
    assert!(desk.stdout("report c --format md").contains("| scheme | time to target |"));
    // Without `paper` there is no reference, unless one is given.
    assert!(!table.contains("ratio_to_reference"), "{table}");
    let json: Value = serde_json::from_str(&desk.stdout("report c --json --reference full")).unwrap();
    let full = json["groups"][0]["table1"].as_array().unwrap().iter().find(|row| row["scheme"] == "full");
    assert_eq!(full.unwrap()["ratio_to_reference"], 1.0);
}

#[test]
fn what_cannot_be_read_is_said_and_nothing_at_all_is_refused() {
    let (desk, _) = compared();
    let broken = desk.folder.path().join("c/runs/full-seed1/records.jsonl");
    let text = fs::read_to_string(&broken).unwrap();
    fs::write(&broken, &text[..text.len() / 2]).unwrap();
    desk.write("c/runs/full-seed2/records.jsonl", "{\"type\":\"header\",\"version\":77}\n");
    let output = desk.run("report c gone");
    assert!(output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("warning: gone: does not exist"), "{said}");
    assert!(said.contains("full-seed2/records.jsonl: the records have version 77"), "{said}");
    let quiet = desk.run("report c gone --quiet");
    assert!(quiet.status.success() && quiet.stdout.is_empty());
    assert!(
        String::from_utf8_lossy(&quiet.stderr).contains("gone: does not exist"),
        "what is missing is said"
    );

    let refused = desk.run("report gone");
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("no readable run") && said.contains("gone: does not exist"), "{said}");
    for (line, expected) in [
        ("report c --out c", "a folder, where one file is written"),
        ("report c --format svg --out s.toml", "a file, where several files are written"),
        ("report c --out figure.PDF", "a report as pdf is several files"),
        ("report c --format tex --out table.tex", "--format latex --out table"),
        ("report c --out c.md", "add --format md"),
        ("report c --format csv --out -", "several files do not go to standard output"),
        ("report c --json --format md", "cannot be used with"),
        ("report c --reference ful", "did you mean --reference full?"),
        ("report c --reference zzz", "--reference takes one of exact, full"),
    ] {
        let refused = desk.run(line);
        assert_eq!(refused.status.code(), Some(2), "{line}");
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains(expected), "{line}: {said}");
    }
    let late = desk.run("report c --round 100000 --json");
    assert!(String::from_utf8_lossy(&late.stderr).contains("round 100000: no run here has it"));
    let unwritable = desk.run("report c --out s.toml/report.html");
    assert_eq!(unwritable.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&unwritable.stderr).contains("s.toml"));
}

/// What is no file is written to and stays what it is.
#[cfg(unix)]
#[test]
fn links_and_devices_stay_what_they_are() {
    let (desk, _) = compared();
    let at = |name: &str| desk.folder.path().join(name);
    std::os::unix::fs::symlink("real.html", at("link.html")).unwrap();
    desk.write("real.html", "old");
    desk.stdout("report c --out link.html");
    assert!(fs::symlink_metadata(at("link.html")).unwrap().is_symlink());
    assert!(fs::read_to_string(at("real.html")).unwrap().starts_with("<!DOCTYPE"));
    std::os::unix::fs::symlink("/dev/null", at("null.html")).unwrap();
    desk.stdout("report c --out null.html");
    assert!(fs::symlink_metadata(at("null.html")).unwrap().is_symlink());
}

/// A run that somebody else made may hold anything: what is printed is text and nothing else.
#[test]
fn foreign_runs_do_not_command_the_terminal() {
    let desk = Desk::new();
    let line =
        "run s.toml --quiet --set fleet.devices=5 --set stop.rounds_max=3 --set plan.scheme=full --out r";
    desk.write("s.toml", desk.stdout("scenario new synthetic"));
    desk.stdout(line);
    let path = desk.folder.path().join("r/records.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let foreign = text.replace("\"scheme\":\"full\"", "\"scheme\":\"\\u001b[31mfull\\u009b2J\"");
    assert_ne!(foreign, text);
    fs::write(&path, &foreign).unwrap();
    let printed = |line: &str| {
        let output = desk.run(line);
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat()
    };
    let obeyed = |text: &str| text.chars().any(|c| c.is_control() && c != '\n');
    let report = printed("report r --format md");
    assert!(report.contains("[31mfull") && !obeyed(&report), "{report:?}");
    // A line that is no record is quoted when it is refused.
    fs::write(&path, foreign + "{\"type\":\"\\u001b]0;owned\\u0007\"}\n").unwrap();
    for line in ["report r --format md", "export r", "export r --table participants"] {
        let said = printed(line);
        assert!(said.contains("owned") && !obeyed(&said), "{line}: {said:?}");
    }
}
