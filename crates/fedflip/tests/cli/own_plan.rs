//! Participation probabilities from a file: `--scheme file=q.csv`.

use std::fs;

use serde_json::Value;

use super::Desk;
use super::refusals::assert_refused;

const QUICK: &str = "--set task.hidden=8 --set fleet.devices=6 --set fleet.types=['honor-70'] \
                     --set data.test_samples_max=100 --set stop.target_accuracy=0.999 --set stop.rounds_max=30 \
                     --set seed=5 --quiet";

const SIX: &str = "q,device\n1,honor-70-05\n0.5,honor-70-00\n0.25,honor-70-01\n0.75,honor-70-02\n\
                   0.125,honor-70-03\n0.5,honor-70-04\n";

fn desk() -> Desk {
    let desk = Desk::new();
    fs::create_dir(desk.folder.path().join("scenarios")).unwrap();
    desk.write("scenarios/s.toml", desk.stdout("scenario new synthetic"));
    desk.write("q.csv", SIX);
    desk
}

fn file(desk: &Desk, name: &str) -> Vec<u8> {
    fs::read(desk.folder.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn records(desk: &Desk, run: &str) -> (Value, String) {
    let text = String::from_utf8(file(desk, &format!("{run}/records.jsonl"))).unwrap();
    let (header, rounds) = text.split_once('\n').unwrap();
    (serde_json::from_str(header).unwrap(), rounds.to_owned())
}

/// The plan of `exact`, written and given back, is evaluated to the same numbers.
#[test]
fn a_written_plan_is_evaluated_like_any_other() {
    let desk = Desk::new();
    let line = "plan fleet.csv --bandwidth 100 --alpha 28.474 --beta 2.2043";
    let exact = desk.json(&format!("{line} --out q.csv"));
    let given = desk.json(&format!("{line} --scheme file=q.csv"));
    assert_eq!((&given["scheme"], &given["status"]), (&"file=q.csv".into(), &"given".into()));
    for key in ["q", "weights", "rounds", "round_secs", "total_secs", "sampling_variance", "names"] {
        assert_eq!(given[key], exact[key], "{key}");
        assert!(!given[key].is_null(), "{key}");
    }
    let text = desk.stdout(&format!("{line} --scheme file=q.csv"));
    assert!(text.contains("file=q.csv: given") && text.contains("q is that of the file"), "{text}");
}

#[test]
fn a_small_plan_in_words() {
    let desk = Desk::new();
    desk.write("f.csv", "device,compute_secs,comm_secs,samples,availability\na,2,7,300,1\nb,0.4,7,100,0.5\n");
    desk.write("q.csv", "device,q\nb,0.9\na,0.25\n");
    let output = desk.run("plan f.csv --bandwidth 100 --alpha 20 --beta 9 --scheme file=q.csv --seed 1");
    let text = String::from_utf8(output.stdout).unwrap();
    let line =
        |text: &str, part: &str| text.lines().find(|line| line.contains(part)).unwrap_or(part).to_owned();
    insta::assert_snapshot!(
        "own_plan",
        [String::from_utf8(output.stderr).unwrap().trim_end().to_owned(), line(&text, "  b  ")].join("\n")
    );
    assert!(text.contains("0.500 (cap)"), "{text}");
}

#[test]
fn refusals_name_file_line_device_and_the_nearest_name() {
    let desk = desk();
    let plan = "plan f.csv --bandwidth 100 --scheme file=p.csv";
    let run = format!("run scenarios/s.toml {QUICK} --scheme file=p.csv");
    desk.write(
        "f.csv",
        SIX.replace("q,device", "samples,device")
            .lines()
            .map(|line| match line {
                "samples,device" => format!("{line},compute_secs,comm_secs\n"),
                line => format!("{line},1,1\n"),
            })
            .collect::<String>(),
    );
    let mut shown = String::new();
    for (text, wanted) in [
        (SIX.replace("0.25,", "0,"), "p.csv, line 4, column q: \"0\" is out of range"),
        (SIX.replace("0.25,", "1.5,"), "p.csv, line 4, column q: \"1.5\" is out of range"),
        (SIX.replace("70-01", "7O-01"), "p.csv, line 4, column device: \"honor-7O-01\" is not a device"),
        (SIX.replace("0.25,honor-70-01\n", ""), "p.csv: there is no q for the device \"honor-70-01\""),
        (SIX.replace("70-01", "70-00"), "p.csv, line 4, column device: \"honor-70-00\" already names"),
        (
            SIX.replace("q,device", "p,device"),
            "p.csv, line 1, column 1: \"p\" is not a column of a plan file",
        ),
    ] {
        desk.write("p.csv", text);
        for line in [plan, &run] {
            assert_refused(&desk, line, b"", &[wanted, "hint: "]);
        }
        shown += &String::from_utf8(desk.run(plan).stderr).unwrap();
    }
    insta::assert_snapshot!("own_plan_refusals", shown);
    for (line, wanted) in [
        ("plan f.csv --bandwidth 100 --scheme file=nowhere.csv", "nowhere.csv: cannot be opened"),
        ("plan f.csv --bandwidth 100 --scheme file=", "after file= comes the name of a CSV file"),
        ("plan f.csv --bandwidth 100 --scheme file", "did you mean file=q.csv?"),
        ("plan f.csv --bandwidth 100 --scheme file=.", "cannot be read"),
        ("plan f.csv --bandwidth 100 --compare --out p.csv", "--out"),
    ] {
        assert_refused(&desk, line, b"", &[wanted]);
    }
}

/// A flag's file starts in the working directory, a scenario's in its own folder; both are the same run.
#[test]
fn a_run_with_given_probabilities_is_repeatable_and_keeps_them() {
    let desk = desk();
    desk.stdout(&format!("run scenarios/s.toml {QUICK} --scheme file=q.csv --out flag"));
    desk.write("scenarios/q.csv", SIX);
    desk.stdout(&format!("run scenarios/s.toml {QUICK} --set plan.scheme=file=q.csv --out key"));
    for name in ["records.jsonl", "plan.csv", "run.toml", "model.safetensors"] {
        assert!(file(&desk, &format!("flag/{name}")) == file(&desk, &format!("key/{name}")), "{name}");
    }
    let (header, rounds) = records(&desk, "flag");
    assert_eq!(header["scheme"], "file=q.csv");
    assert_eq!(header["expected_participants"], 3.125);
    // The folder is whole: its scenario names the plan in it.
    desk.stdout("run flag/run.toml --quiet --out again");
    let (header, again) = records(&desk, "again");
    assert_eq!((again, &header["scheme"]), (rounds, &"file=plan.csv".into()));
    for name in ["plan.csv", "run.toml", "model.safetensors"] {
        assert!(file(&desk, &format!("flag/{name}")) == file(&desk, &format!("again/{name}")), "{name}");
    }
}

/// q of `exact` given as a file is the run of `exact`, to the byte; and a resumed run has the q that it began with.
#[test]
fn the_plan_of_another_run_gives_its_bytes_and_no_run_changes_its_plan() {
    let desk = desk();
    let line = format!("run scenarios/s.toml {QUICK}");
    desk.stdout(&format!("{line} --scheme exact --out exact"));
    let given = format!("{line} --scheme file=exact/plan.csv");
    desk.stdout(&format!("{given} --out whole"));
    for name in ["plan.csv", "model.safetensors"] {
        assert!(file(&desk, &format!("exact/{name}")) == file(&desk, &format!("whole/{name}")), "{name}");
    }
    assert_eq!(records(&desk, "exact").1, records(&desk, "whole").1);

    desk.stdout(&format!("{line} --scheme file=q.csv --out parts --set stop.rounds_max=10"));
    let resume = format!("{line} --scheme file=q.csv --out parts --resume");
    desk.write("q.csv", SIX.replace("0.25,", "0.26,"));
    assert_refused(&desk, &resume, b"", &["plan.csv"]);
    desk.write("q.csv", SIX);
    desk.stdout(&resume);
    desk.stdout(&format!("{line} --scheme file=q.csv --out undisturbed"));
    assert_eq!(records(&desk, "parts").1, records(&desk, "undisturbed").1);
}

#[test]
fn files_are_compared_as_schemes_of_their_own() {
    let desk = desk();
    fs::create_dir(desk.folder.path().join("plans")).unwrap();
    desk.write("plans/b.csv", SIX.replace("0.125,", "1,"));
    let line = format!(
        "compare scenarios/s.toml {QUICK} --seeds 1 --no-pilot --schemes exact,file=q.csv,file=plans/b.csv --out c"
    );
    let compared = desk.json(&format!("{line} --reference file=q.csv"));
    let names: Vec<&Value> =
        compared["schemes"].as_array().unwrap().iter().map(|scheme| &scheme["scheme"]).collect();
    assert_eq!(names, ["exact", "file=q.csv", "file=plans/b.csv"]);
    assert_eq!(compared["reference"], "file=q.csv");
    for run in ["exact-seed5", "file=q.csv-seed5", "file=plans+b.csv-seed5"] {
        assert!(desk.folder.path().join("c/runs").join(run).join("plan.csv").exists(), "{run}");
    }
    let report = desk.json("report c");
    let groups = report["groups"].as_array().unwrap();
    let shown: Vec<&str> =
        groups[0]["plan"].as_array().unwrap().iter().map(|plan| plan["scheme"].as_str().unwrap()).collect();
    assert_eq!((groups.len(), shown.len()), (1, 3), "{shown:?}");
    for name in ["file=q.csv", "file=plans/b.csv"] {
        assert!(shown.contains(&name), "{shown:?}");
    }
    desk.stdout("report c --out page.html");
    assert!(String::from_utf8(file(&desk, "page.html")).unwrap().contains("file=plans/b.csv"));
    // A mistake in a file is found before anything runs.
    desk.write("plans/b.csv", SIX.replace("70-03", "70-3"));
    let other = line.replace("--out c", "--out d");
    assert_refused(&desk, &other, b"", &["plans/b.csv, line 6", "did you mean \"honor-70-03\"?"]);
    assert!(!desk.folder.path().join("d/runs").exists());
}
