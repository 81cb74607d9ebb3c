//! Scenarios: what is printed, and what is refused.

use super::Desk;
use super::refusals::assert_refused;

const TASKS: [&str; 5] = ["synthetic", "mnist-cnn", "fashion-cnn", "cifar10-mobilenet", "shakespeare-lstm"];

/// Text below a right beginning of two lines.
fn below_task(text: &str) -> String {
    format!("[task]\nname = \"mnist-cnn\"\n{text}")
}

#[test]
fn new() {
    let desk = Desk::new();
    for task in TASKS {
        insta::assert_snapshot!(format!("new-{task}"), desk.stdout(&format!("scenario new {task}")));
    }
}

#[test]
fn help() {
    let desk = Desk::new();
    for command in ["scenario", "scenario new", "scenario check"] {
        let name = format!("help-{}", command.replace(' ', "-"));
        insta::assert_snapshot!(name, desk.stdout(&format!("{command} --help")));
    }
}

#[test]
fn check() {
    let desk = Desk::new();
    desk.write("s.toml", below_task("wide = true\n[round]\ndeadline_secs = 2.50\n"));
    let set = "--set train.iterations=20 --set plan.scheme=fixed=0.3 --set stop.virtual_hours_max=1e-3";
    insta::assert_snapshot!("check", desk.stdout(&format!("scenario check s.toml {set}")));
    desk.write("s.toml", below_task("[fleet]\nfile = \"fleet.csv\"\n"));
    insta::assert_snapshot!("check-fleet-file", desk.stdout("scenario check s.toml"));
}

#[test]
fn what_is_printed_is_right_and_final() {
    let desk = Desk::new();
    for task in TASKS {
        desk.write("new.toml", desk.stdout(&format!("scenario new {task}")));
        let checked = desk.stdout("scenario check new.toml");
        desk.write("checked.toml", &checked);
        assert_eq!(desk.stdout("scenario check checked.toml"), checked);
        desk.write("name.toml", format!("task.name = {task:?}"));
        assert_eq!(desk.stdout("scenario check name.toml"), checked);
        let piped = desk.run_with_input("scenario check -", checked.as_bytes());
        assert_eq!(String::from_utf8_lossy(&piped.stdout), checked);
    }
}

#[test]
fn json() {
    let desk = Desk::new();
    desk.write("s.toml", below_task("[data]\nsharing = \"iid\"\n"));
    let json = desk.json("scenario check s.toml");
    assert_eq!((&json["seed"], &json["train"]["batch"]), (&1.into(), &32.into()));
    assert_eq!((&json["task"]["wide"], &json["task"].get("width")), (&false.into(), &None));
    assert_eq!(json["fleet"]["types"].as_array().unwrap().len(), 5);
    assert!(json["round"]["deadline_secs"].is_null() && json["data"]["concentration"].is_null());
}

/// In the snapshot, a reader sees all refusals side by side.
#[test]
fn refusals() {
    let desk = Desk::new();
    desk.write("bad.csv", "device,compute_secs,comm_secs,samples\na,1,-2,3\n");
    let mut seen = String::new();
    let mut refuse = |shown: &str, text: &str, set: &str| {
        desk.write("s.toml", text);
        let line = format!("scenario check s.toml {set}");
        let output = desk.run(line.trim_end());
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]), "{shown}: {error}");
        seen += &format!("{shown}\n{error}\n");
    };
    for text in
        ["", "seed = 1", "[task]\nname = \"mnist\"", "[task]\nname = \"resnet\"", "task = \"mnist-cnn\""]
    {
        refuse(text, text, "");
    }
    for text in [
        // Keys.
        "[train]\nlearning-rate = 1",
        "[train]\nvirtual_hours = 1",
        "[train]\nfrobnicate = 1",
        "[trian]\nbatch = 1",
        "[training]",
        "[train]\nbandwidth_mbps = 10",
        "[train.inner]\nbatch = 1",
        "[[train]]\nbatch = 1",
        "hidden = 32",
        "width = 0.5",
        // Types.
        "[train]\nbatch = \"32\"",
        "[train]\nbatch = 32.5",
        "[train]\nlearning_rate = [0.1, 0.01]",
        "[train]\nlearning_rate = 2026-07-01",
        "wide = 1",
        "[fleet]\nbandwidth_mbps = { total = 100 }",
        // Ranges.
        "[train]\nbatch = 0",
        "[train]\nbatch = 99999999999999999999999999999999999999999",
        "[train]\nlearning_rate = -0.1",
        "[train]\nlearning_rate = nan",
        "[world]\ndropout = 1.5",
        "[stop]\ntarget_accuracy = 95",
        "[stop]\nreal_hours_max = 0",
        "[plan]\nbeta = inf",
        "[fleet]\nwork_gflop = 1e-9",
        "[train]\nbatch = 65536\niterations = 1000000\n[fleet]\ntypes = [\"macbook-pro-2018\"]\nwork_gflop = 1e10",
        // Names.
        "[plan]\nscheme = \"exat\"",
        "[plan]\nscheme = \"fixed=2\"",
        "[round]\nallocation = \"adaptve\"",
        "[data]\nsharing = \"by-role\"",
        "[fleet]\ntypes = []",
        "[fleet]\ntypes = [\"honor-70\", \"honor70\"]",
        "[fleet]\ntypes = [\"honor-70\", \"honor-70\"]",
        // Fleet files.
        "[fleet]\nfile = \"nowhere.csv\"",
        "[fleet]\nfile = \"bad.csv\"",
        "[fleet]\nfile = \"fleet.csv\"\ndevices = 10",
        // Not TOML.
        "[train]\nbatch = 1\nbatch = 2",
        "[train]\nbatch = 1\n[train]",
        "[data]\nsharing = iid",
        "[train\nbatch = 1",
        "learning_rate",
    ] {
        refuse(&format!("… {text}"), &below_task(text), "");
    }
    for set in [
        "seed",
        "seed=-1",
        "sed=3",
        "batch=3",
        "train.bach=3",
        "train.batch=many",
        "task.hidden=3",
        "plan.scheme=oort",
        "fleet.file=nowhere.csv",
        "task.name=cifar10",
    ] {
        refuse(&format!("--set {set}"), &below_task(""), &format!("--set {set}"));
    }
    let huge = "--set task.name=cifar10-mobilenet --set train.batch=65536 --set train.iterations=1000000";
    refuse(huge, &below_task(""), huge);
    insta::assert_snapshot!("refusals", seen);
}

#[test]
fn files_that_are_no_scenarios() {
    let desk = Desk::new();
    desk.write("latin.toml", b"seed = 1\n# caf\xe9\n");
    desk.write("deep.toml", format!("a = {}", "[".repeat(500_000)));
    desk.write("dotted.toml", format!("{}a = 1", "a.".repeat(500_000)));
    desk.write("many.toml", below_task(&(0..90_000).map(|n| format!("k{n} = 1\n")).collect::<String>()));
    // Sparse: a gigabyte that costs no disk.
    let big = std::fs::File::create(desk.folder.path().join("big.toml")).unwrap();
    big.set_len(1 << 30).unwrap();
    let cases: &[(&str, &[&str])] = &[
        ("nowhere.toml", &["nowhere.toml: cannot be read", "hint:"]),
        (".", &[".: cannot be read"]),
        ("latin.toml", &["latin.toml, line 2: not UTF-8", "save the file as UTF-8"]),
        ("big.toml", &["big.toml: longer than 1048576 bytes"]),
        ("deep.toml", &["deep.toml, line 1", "is not TOML"]),
        ("dotted.toml", &["dotted.toml, line 1", "is not TOML"]),
        ("many.toml", &["many.toml, line 3: there is no key \"k0\" in [task]", "name, wide"]),
        ("fleet.csv", &["fleet.csv, line 1", "is not TOML"]),
    ];
    for (file, wanted) in cases {
        assert_refused(&desk, &format!("scenario check {file}"), b"", wanted);
    }
    assert_refused(&desk, "scenario check -", &[b'#'; (1 << 20) + 1], &["standard input: longer than"]);
    assert_refused(&desk, "scenario new mnist", b"", &["\"mnist\"", "did you mean mnist-cnn?"]);
}
