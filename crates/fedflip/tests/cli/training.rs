//! Training in virtual time: repeatable, resumable, and clear about what goes wrong.

use std::fs;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::Desk;

/// A run of some hundred rounds that takes well under a second.
pub(super) const QUICK: &str = "--set task.hidden=8 --set fleet.devices=20 --set data.test_samples_max=200 \
                     --set stop.target_accuracy=0.999 --set stop.rounds_max=120 --set seed=5 --quiet \
                     --set world.compute_jitter=0.1 --set world.dropout=0.05 --set plan.scheme=fixed=0.3";

pub(super) fn desk() -> Desk {
    let desk = Desk::new();
    let scenario = desk.stdout("scenario new synthetic");
    desk.write("s.toml", scenario);
    desk
}

pub(super) fn file(desk: &Desk, name: &str) -> Vec<u8> {
    fs::read(desk.folder.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// What must not depend on anything but scenario and seed.
pub(super) fn results(desk: &Desk, run: &str) -> [Vec<u8>; 5] {
    ["records.jsonl", "model.safetensors", "best.safetensors", "run.toml", "plan.csv"]
        .map(|name| file(desk, &format!("{run}/{name}")))
}

fn start(desk: &Desk, line: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_fedflip"))
        .args(line.split_whitespace())
        .current_dir(desk.folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Exit code and what was said on standard error.
fn refusal(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn threads_do_not_change_a_byte() {
    let desk = desk();
    for threads in [1, 3] {
        desk.stdout(&format!("run s.toml {QUICK} --out t{threads} --threads {threads}"));
    }
    assert_eq!(results(&desk, "t1"), results(&desk, "t3"));
    // In memory it comes to the same.
    let kept = desk.json(&format!("run s.toml {QUICK} --out t1 --resume"));
    let mut unkept = desk.json(&format!("run s.toml {QUICK}"));
    unkept["out"] = kept["out"].clone();
    assert_eq!(kept, unkept);
    assert_eq!((&kept["status"], &kept["rounds"]), (&Value::from("cap"), &Value::from(120)));
    assert!(kept["biased_rounds"].as_u64().unwrap() > 0);
}

/// Runs train as planned: a lower sampling variance means more devices per round.
#[test]
fn a_run_has_the_noise_that_its_scenario_allows() {
    let desk = desk();
    let participants = |noise: f64| {
        let line = format!(
            "run s.toml {QUICK} --scheme auto-linear --set plan.variance={noise} --set world.dropout=0"
        );
        desk.json(&line)["mean_participants"].as_f64().unwrap()
    };
    let [few, many] = [1.4, 0.35].map(participants);
    assert!(many > 2.5 * few && many < 6.0 * few, "{few} and {many}");
}

/// One round in six has more devices, and is the one that is looked at; whoever continues, on any number of workers,
/// comes to the same bytes, and reports know both plans.
#[test]
fn quiet_rounds_are_run_resumed_and_reported() {
    let desk = desk();
    let quiet = "--set plan.quiet_variance=0.2 --set plan.quiet_every=6 --set world.dropout=0";
    let line = format!("run s.toml {QUICK} --scheme auto-linear {quiet}");
    desk.stdout(&format!("{line} --out whole --threads 1"));
    desk.stdout(&format!("{line} --out parts --threads 3 --set stop.rounds_max=50"));
    desk.stdout(&format!("{line} --out parts --threads 2 --resume"));
    assert_eq!(results(&desk, "parts"), results(&desk, "whole"));

    let records = String::from_utf8(file(&desk, "whole/records.jsonl")).unwrap();
    let lines = records.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let (mut rounds, mut taken) = ([0, 0], [0, 0]);
    for line in lines.filter(|line| line["type"] == "round") {
        let is_quiet = line["round"].as_u64().unwrap() % 6 == 0;
        assert_eq!(!line["metrics"].is_null(), is_quiet, "{line}");
        rounds[usize::from(is_quiet)] += 1;
        taken[usize::from(is_quiet)] += line["cohort"].as_array().unwrap().len();
    }
    assert_eq!(rounds, [100, 20]);
    let [usual, quiet] = [0, 1].map(|kind| taken[kind] as f64 / f64::from(rounds[kind]));
    assert!(quiet > 4.0 * usual, "{usual} and {quiet}");
    let plan = String::from_utf8(file(&desk, "whole/plan.csv")).unwrap();
    assert!(plan.starts_with("device,quiet_q,quiet_weight,q,weight\n"), "{plan}");

    let explained = &desk.json("report whole")["groups"][0]["plan"][0];
    let number = |key: &str| explained[key].as_f64().unwrap();
    let planned = number("expected_participants");
    assert!((number("participants") / planned - 1.0).abs() < 0.2, "{explained}");
    // Five rounds in six with the variance of auto-linear, and one with less.
    assert!((number("sampling_variance") - (5.0 * 1.4 + 0.2) / 6.0).abs() < 1e-6, "{explained}");
}

/// `kill -9` again and again, then an undisturbed end.
#[test]
fn killed_at_any_moment_it_goes_on_to_the_same_bytes() {
    let desk = desk();
    // A checkpoint after every round: as many places to be killed in as there can be.
    let line = format!("run s.toml {QUICK} --set record.checkpoint_secs=0 --tensorboard");
    desk.stdout(&format!("{line} --out whole"));
    let mut kills = 0;
    for millis in (0..).map(|n| 3 + 17 * n % 101) {
        let mut child = start(&desk, &format!("{line} --out killed --resume"));
        #[expect(clippy::disallowed_methods, reason = "a process is killed after some real time")]
        std::thread::sleep(Duration::from_millis(millis));
        if child.try_wait().unwrap().is_some() {
            break;
        }
        // SIGKILL: nothing can be done about it any more.
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        if kills == 40 {
            break;
        }
    }
    desk.stdout(&format!("{line} --out killed --resume"));
    assert!(kills > 3, "{kills} kills");
    assert_eq!(results(&desk, "killed"), results(&desk, "whole"));
    let events = |run: &str| file(&desk, &format!("{run}/events.out.tfevents.0.fedflip"));
    assert_eq!(events("killed"), events("whole"));
    // What `export` makes of the records is the same too, and so is what a finished run gets afterwards.
    desk.stdout("export whole --format tensorboard --out exported");
    assert_eq!(events("exported"), events("whole"));
    fs::remove_file(desk.folder.path().join("killed/events.out.tfevents.0.fedflip")).unwrap();
    desk.stdout(&format!("{line} --out killed --resume"));
    assert_eq!(events("killed"), events("whole"));
}

/// Files that may not grow are a full disk that needs no privileges to make.
#[cfg(unix)]
#[test]
fn a_full_disk_loses_nothing() {
    let desk = desk();
    let line = format!("run s.toml {QUICK} --set record.checkpoint_secs=0");
    desk.stdout(&format!("{line} --out whole"));
    for blocks in [4, 9, 14] {
        let limited = format!(
            "trap '' XFSZ; ulimit -f {blocks}; exec {} {line} --out full{blocks} --resume",
            env!("CARGO_BIN_EXE_fedflip")
        );
        let output =
            Command::new("sh").args(["-c", &limited]).current_dir(desk.folder.path()).output().unwrap();
        let (code, error) = refusal(&output);
        assert_eq!(code, Some(1), "{error}");
        let words = [&*format!("full{blocks}"), "cannot be written", "make room"];
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
        desk.stdout(&format!("{line} --out full{blocks} --resume"));
        assert_eq!(results(&desk, &format!("full{blocks}")), results(&desk, "whole"));
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_a_run_that_goes_on() {
    let desk = desk();
    let line = format!("run s.toml {QUICK} --set stop.rounds_max=1000000 --out stopped");
    let mut child = start(&desk, &line);
    let records = desk.folder.path().join("stopped/records.jsonl");
    while fs::metadata(&records).map_or(0, |records| records.len()) < 20_000 {
        assert_eq!(child.try_wait().unwrap(), None, "it must not end by itself");
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(4));
    let text = fs::read_to_string(&records).unwrap();
    // Without the header and the first evaluation.
    let rounds = text.lines().count() - 2;
    assert!(!text.contains("\"type\":\"end\""));
    // Stopped by the clock on the wall, which is not part of the scenario, right where it was.
    let again = desk.run(&format!("{line} --resume --set stop.real_hours_max=0.0000001 --json"));
    assert_eq!(again.status.code(), Some(4));
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!((&again["status"], &again["rounds"]), (&Value::from("stopped"), &Value::from(rounds + 1)));
}

#[test]
fn what_goes_wrong_is_said() {
    let desk = desk();
    let refused = |line: &str, code: i32, words: &[&str]| {
        let output = desk.run(line);
        let (found, error) = refusal(&output);
        assert_eq!(found, Some(code), "{line}: {error}");
        assert!(words.iter().all(|word| error.contains(word)), "{line}: {error}");
    };
    desk.stdout(&format!("run s.toml {QUICK} --out run"));
    refused(&format!("run s.toml {QUICK} --out run"), 2, &["run: already holds a run", "--resume"]);
    refused(&format!("run s.toml {QUICK} --out run --resume --seed 6"), 2, &["seed = 5", "seed = 6"]);
    refused("run s.toml --resume", 2, &["--out"]);
    refused("run s.toml --tensorboard", 2, &["--out"]);
    refused("export run --format tensorboard", 2, &["--out FOLDER"]);
    refused("export run --format tensorboard --table rounds --out e", 2, &["--table"]);
    refused("run nowhere.toml", 2, &["nowhere.toml"]);
    refused("run s.toml --scheme exat", 2, &["exat", "exact"]);
    refused("run s.toml --set stop.rounds=3", 2, &["\"rounds\" in [stop]", "rounds_max"]);
    refused("compare --schemes exact,uniforn", 2, &["uniforn", "uniform"]);
    refused("compare --give-up 0.5", 2, &["0.5", "10x"]);
    refused("export nowhere", 2, &["nowhere: holds no run"]);
    desk.write("plain", "");
    refused(&format!("run s.toml {QUICK} --out plain/run"), 1, &["plain/run"]);
    // No data: the command that gets them.
    let mnist = desk.stdout("scenario new mnist-cnn");
    desk.write("m.toml", mnist);
    refused("run m.toml --data-dir empty", 2, &["fedflip data get mnist"]);
    // A target that the constants rule out.
    refused("run s.toml --scheme exact --set plan.beta=0.001", 2, &["0.001"]);
    // Pilots that never get there.
    refused(
        "pilot s.toml --quiet --set pilot.rounds_max=2 --set pilot.loss=0.001 --set fleet.devices=5",
        2,
        &["gave up after 2 rounds", "F_s"],
    );
}

#[test]
fn a_diverged_model_ends_the_run_and_the_last_good_one_is_kept() {
    let desk = desk();
    let line = format!("run s.toml {QUICK} --set train.learning_rate=1000000 --scheme full --out run");
    let output = desk.run(&line);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("diverged"));
    let records = String::from_utf8(file(&desk, "run/records.jsonl")).unwrap();
    assert!(records.lines().last().unwrap().contains("\"reason\":\"diverged\""));
    assert!(!file(&desk, "run/model.safetensors").is_empty());
    // It stays so.
    assert_eq!(desk.run(&format!("{line} --resume")).status.code(), Some(3));
}

#[test]
fn pilots_give_constants_with_their_spread() {
    let desk = desk();
    let line =
        "pilot s.toml --quiet --set fleet.devices=20 --set pilot.loss=1.5 --set data.test_samples_max=500";
    let pilot = desk.json(line);
    let interval = |name: &str| -> Vec<f64> {
        pilot[name].as_array().unwrap().iter().map(|end| end.as_f64().unwrap()).collect()
    };
    for (name, value) in [("alpha_interval", &pilot["alpha"]), ("beta_interval", &pilot["beta"])] {
        let (ends, value) = (interval(name), value.as_f64().unwrap());
        assert!(ends[0] <= value && value <= ends[1], "{pilot}");
    }
    assert_eq!(pilot["runs"].as_array().unwrap().len(), 6);
    assert!(pilot["hours"].as_f64().unwrap() > 0.0);
    assert!(desk.stdout(line).contains("alpha = "));
}

/// A run that continues from its pilots starts with their model and at their time, wherever it is run.
#[test]
fn pilots_that_are_kept_are_gone_on_from() {
    let desk = desk();
    let line = "compare s.toml --quiet --set fleet.devices=20 --set pilot.loss=1.5 --set stop.target_accuracy=0.7 \
                --set data.test_samples_max=500 --set pilot.seeds=2 --seeds 3 --schemes exact,weighted";
    let thrown_away = desk.json(line);
    let compared = desk.json(&format!("{line} --set pilot.keep=true --out c"));
    assert_eq!(
        compared["pilot"]["alpha"], thrown_away["pilot"]["alpha"],
        "a third pair is only gone on from"
    );
    assert_eq!((&compared["pilot"]["kept"], &thrown_away["pilot"]["kept"]), (&true.into(), &false.into()));
    let scheme = |of: &Value, n: usize, key: &str| of["schemes"][n][key].clone();
    assert_eq!(scheme(&compared, 1, "hours"), scheme(&thrown_away, 1, "hours"), "a baseline begins");
    assert_eq!(
        scheme(&compared, 0, "hours")["mean"],
        scheme(&compared, 0, "hours_with_pilot"),
        "counted once"
    );
    let number = |value: Value| value.as_f64().unwrap();
    assert!(
        number(scheme(&compared, 0, "hours_with_pilot"))
            < number(scheme(&thrown_away, 0, "hours_with_pilot"))
    );
    for seed in 1..=3 {
        let end = |scheme: &str| {
            let name = format!("c/pilots/{scheme}-seed{}/records.jsonl", 1_000_000 + seed);
            let text = String::from_utf8(file(&desk, &name)).unwrap();
            let end: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
            end["secs"].as_f64().unwrap()
        };
        let table = desk.stdout(&format!("export c/runs/exact-seed{seed}"));
        let first: Vec<&str> = table.lines().nth(1).unwrap().split(',').collect();
        assert!((first[1].parse::<f64>().unwrap() - end("uniform") - end("full")).abs() < 1e-6, "{first:?}");
    }
    desk.stdout("run c/runs/exact-seed1/run.toml --quiet --out again");
    assert!(results(&desk, "again") == results(&desk, "c/runs/exact-seed1"));
    assert_eq!(desk.json(&format!("{line} --set pilot.keep=true --out c --resume")), compared);
    // The third pair is none that α and β come from, nor is its time.
    let report = desk.json("report c");
    assert_eq!(report["groups"][0]["constants"]["alpha"], compared["pilot"]["alpha"], "{report}");
    // Pilots on the clock are no reason to give up.
    let soon = line.replace("exact,weighted", "weighted,exact");
    let soon = desk.json(&format!("{soon} --set pilot.keep=true --give-up 1.5x"));
    assert!(soon["schemes"][1]["rounds"].as_f64().unwrap() > 0.0, "{soon}");
    // A run that is over does not fly its pilots again.
    let pilot = desk.folder.path().join("again/pilots/full-seed1000001/host.json");
    let before = fs::metadata(&pilot).unwrap().modified().unwrap();
    assert!(
        desk.stdout("run c/runs/exact-seed1/run.toml --quiet --out again --resume").contains("over already")
    );
    assert_eq!(fs::metadata(&pilot).unwrap().modified().unwrap(), before);
    let short =
        desk.run("run c/runs/exact-seed1/run.toml --quiet --set pilot.rounds_max=1 --set stop.rounds_max=1");
    let said = String::from_utf8(short.stderr).unwrap();
    for scheme in ["uniform", "full"] {
        let warning = format!("warning: the pilot under {scheme} with seed 1000001 did not reach the loss");
        assert!(said.contains(&warning), "{said}");
    }
    let (_, said) = refusal(&desk.run(&format!("{line} --set pilot.keep=true --set pilot.rounds_max=1")));
    assert!(
        said.contains("gave up") && !said.contains("continues from"),
        "without α and β it does not: {said}"
    );
    let (code, said) = refusal(&desk.run(&format!("{line} --set pilot.keep=true --no-pilot")));
    assert!(code == Some(2) && said.contains("--no-pilot"), "{said}");
}

/// A sampling variance that no scheme uses is reported once, and changes nothing.
#[test]
fn a_noise_without_auto_is_idle() {
    let desk = desk();
    let said = |line: &str| String::from_utf8(desk.run(line).stderr).unwrap();
    let run = format!("run s.toml {QUICK} --set stop.rounds_max=1 --set plan.variance=0.5");
    let idle = "--set plan.variance makes no difference";
    assert!(said(&format!("{run} --scheme exact --out idle")).contains(idle));
    desk.stdout(&format!("{} --scheme exact --out without", run.replace(" --set plan.variance=0.5", "")));
    for name in ["plan.csv", "records.jsonl", "model.safetensors"] {
        assert!(file(&desk, &format!("idle/{name}")) == file(&desk, &format!("without/{name}")), "{name}");
    }
    assert_eq!(said(&format!("{run} --scheme auto")), "");
    let sweep = format!(
        "sweep s.toml {QUICK} --set stop.rounds_max=1 --no-pilot --seeds 1 --set plan.variance=0.5 \
                         --over train.batch=8,16"
    );
    assert_eq!(said(&format!("{sweep} --schemes exact,full")).matches(idle).count(), 1);
    assert_eq!(said(&format!("{sweep} --schemes auto,full")), "");
}

/// How often rounds are quiet says nothing where none is.
#[test]
fn quiet_rounds_that_nobody_has_are_idle() {
    let desk = desk();
    let said = |line: &str| String::from_utf8(desk.run(line).stderr).unwrap();
    let run =
        format!("run s.toml {QUICK} --scheme auto-linear --set stop.rounds_max=1 --set plan.quiet_every=5");
    assert!(
        said(&run)
            .contains("--set plan.quiet_every makes no difference here, because there are no quiet rounds")
    );
    assert_eq!(said(&format!("{run} --set plan.quiet_variance=0.3")), "");
    let noisier = said(&format!("{run} --set plan.quiet_variance=5"));
    assert!(
        noisier.contains(
            "under auto-linear quiet rounds are like all others: the sampling variance is 1.400, and plan.quiet_variance is 5"
        ),
        "{noisier}"
    );
    let text = format!("{run} --set plan.quiet_variance=0.3");
    assert!(desk.stdout(&text).contains("  quiet rounds      one in 5: planned for "));
    assert_eq!(desk.json(&text)["quiet_every"], 5);
    let unmet = said(&format!("{run} --set plan.quiet_variance=0.0001"));
    assert!(unmet.contains("plan.quiet_variance: the sampling variance is 0."), "{unmet}");
    let pilot = format!("pilot s.toml {QUICK} --set pilot.rounds_max=1 --set plan.quiet_variance=0.3");
    assert!(
        said(&pilot).contains(
            "--set plan.quiet_variance makes no difference here, because pilots have no quiet rounds"
        )
    );
}

/// Some plans are made by Monte Carlo, which must not depend on the seed of the run.
#[test]
fn any_run_of_a_comparison_can_be_run_again_alone() {
    let desk = desk();
    desk.json(
        "compare s.toml --quiet --set fleet.devices=20 --set stop.target_accuracy=0.5 --seeds 2 --no-pilot \
         --schemes sampled,exact --out c",
    );
    for run in ["sampled-seed1", "sampled-seed2", "exact-seed2"] {
        desk.stdout(&format!("run c/runs/{run}/run.toml --quiet --out again/{run}"));
        for name in ["plan.csv", "records.jsonl", "model.safetensors"] {
            let [first, again] =
                ["c/runs", "again"].map(|folder| file(&desk, &format!("{folder}/{run}/{name}")));
            assert!(first == again, "{run}/{name}");
        }
    }
    assert!(file(&desk, "c/runs/sampled-seed1/plan.csv") == file(&desk, "c/runs/sampled-seed2/plan.csv"));
}

/// What the clock on the wall stops is a lower bound, and the comparison continues to the next.
#[test]
fn a_comparison_outlasts_runs_that_take_too_long_here() {
    let desk = desk();
    let line = "compare s.toml --quiet --set fleet.devices=20 --set stop.target_accuracy=0.99 --seeds 1 --no-pilot \
                --set stop.real_hours_max=0.000000001 --schemes weighted,uniform --out c";
    let compared = desk.json(line);
    for scheme in compared["schemes"].as_array().unwrap() {
        assert_eq!((&scheme["lower_bound"], &scheme["rounds"]), (&true.into(), &1.0.into()), "{scheme}");
    }
    let further = desk.json(&format!("{line} --resume"));
    assert_eq!(further["schemes"][1]["rounds"], 2.0, "{further}");
    // Whoever runs it again has another clock.
    let run = fs::read_to_string(desk.folder.path().join("c/runs/weighted-seed1/run.toml")).unwrap();
    assert!(!run.lines().any(|line| line.starts_with("real_hours_max")), "{run}");
}

/// An archive has the records alone. They are there to be looked at.
#[test]
fn records_without_a_checkpoint_are_left_as_they_are() {
    let desk = desk();
    let line = format!("run s.toml {QUICK} --set stop.rounds_max=3 --out r");
    desk.stdout(&line);
    fs::remove_dir_all(desk.folder.path().join("r/checkpoint")).unwrap();
    // What is over is over.
    assert!(desk.stdout(&format!("{line} --resume")).contains("over already"));
    fs::remove_file(desk.folder.path().join("r/model.safetensors")).unwrap();
    let before = fs::read(desk.folder.path().join("r/records.jsonl")).unwrap();
    let (code, said) = refusal(&desk.run(&format!("{line} --resume")));
    assert!(code == Some(2) && said.contains("no checkpoint to resume from"), "{said}");
    assert_eq!(fs::read(desk.folder.path().join("r/records.jsonl")).unwrap(), before);
}

/// Table I as an object: the keys that scripts rely on, and the same again after a resume.
#[test]
fn a_comparison_has_its_keys_and_goes_on() {
    let desk = desk();
    let line = "compare s.toml --quiet --set fleet.devices=20 --set pilot.loss=1.5 --set stop.target_accuracy=0.5 \
                --set data.test_samples_max=500 --seeds 2 --schemes exact,full,fixed=0.01 --give-up 2x --out c";
    let compared = desk.json(line);
    assert_eq!(compared["target_accuracy"], 0.5);
    for key in ["alpha", "beta", "hours"] {
        assert!(compared["pilot"][key].as_f64().unwrap() > 0.0, "{compared}");
    }
    let schemes = compared["schemes"].as_array().unwrap();
    assert_eq!(
        schemes.iter().map(|scheme| scheme["scheme"].as_str().unwrap()).collect::<Vec<_>>(),
        ["exact", "full", "fixed=0.01"]
    );
    for scheme in schemes {
        assert!(
            scheme["hours"]["mean"].as_f64().unwrap() > 0.0
                && scheme["hours"]["std"].is_f64() != scheme["lower_bound"].as_bool().unwrap(),
            "{scheme}"
        );
        for key in ["hours_with_pilot", "rounds", "mean_participants", "ratio_to_best"] {
            assert!(scheme[key].as_f64().unwrap() > 0.0, "{key}: {scheme}");
        }
        assert_eq!(scheme["seeds"], 2);
        assert_eq!(scheme["lower_bound"].as_bool().unwrap(), scheme["reached"].as_u64().unwrap() < 2);
    }
    let hours = |n: usize, key: &str| schemes[n][key].as_f64().unwrap();
    assert!(hours(0, "hours_with_pilot") > schemes[0]["hours"]["mean"].as_f64().unwrap());
    assert_eq!(schemes[1]["hours_with_pilot"], schemes[1]["hours"]["mean"], "a baseline needs no pilots");
    assert_eq!(desk.json(&format!("{line} --resume")), compared);
    let stored: Value = serde_json::from_slice(&file(&desk, "c/compare.json")).unwrap();
    assert_eq!(stored, compared);
    // At their own loss the pilots say in a report what they said to the planner.
    let report = desk.json("report c");
    let fits = report["groups"][0]["fits"].as_array().unwrap();
    let own = fits.last().unwrap();
    assert_eq!((&own["loss"], &own["alpha"]), (&1.5.into(), &compared["pilot"]["alpha"]), "{fits:?}");
    assert!(fits.len() > 1 && fits[0]["loss"].as_f64() > Some(1.5), "{fits:?}");
    assert!(own["beta_least"].as_f64().unwrap() <= own["beta_most"].as_f64().unwrap());
    // Every run can be looked at, and run again, by itself.
    let table = desk.stdout("export c/runs/exact-seed1");
    assert!(table.starts_with(
        "round,start_secs,round_secs,participants,lost,train_loss,accuracy,loss,f1\n0,0,0,0,0,,"
    ));
    desk.stdout("run c/runs/exact-seed1/run.toml --quiet --out again");
    assert_eq!(results(&desk, "again"), results(&desk, "c/runs/exact-seed1"));
    assert!(
        desk.run("export c/runs/exact-seed1 --format parquet --table participants")
            .stdout
            .starts_with(b"PAR1")
    );
}
