//! Samples of the user's own: what is in files, scenarios for them, runs on them, and what is refused.

use std::fs;
use std::path::Path;

use fedflip_scenario::Scenario;

use super::Desk;
use super::refusals::assert_refused;

/// A desk with a table of three wards, a regression, a text, digits of six writers, an array of objects and a file that
/// is cut short.
fn desk() -> Desk {
    let desk = Desk::new();
    let ward = |n: usize| {
        let (pulse, holder) = (60 + (n * 7) % 40, ["north", "south", "west"][n % 3]);
        format!("{},{pulse},{},{holder}\n", 20 + n % 60, u8::from(pulse > 80))
    };
    for (name, patients) in [("wards", 0..96), ("wards-test", 96..144)] {
        let rows: String = patients.map(ward).collect();
        desk.write(&format!("{name}.csv"), format!("age,pulse,label,device\n{rows}"));
    }
    let house = |n: usize| {
        let (rooms, area) = (1 + n % 5, 30 + (n * 37) % 90);
        format!("{rooms},{area},{:.1}\n", 10.0 * rooms as f64 + 0.5 * area as f64)
    };
    for (name, houses) in [("houses", 0..128), ("houses-test", 128..160)] {
        let rows: String = houses.map(house).collect();
        desk.write(&format!("{name}.csv"), format!("rooms,area,label\n{rows}"));
    }
    desk.write("hamlet.txt", "To be, or not to be, that is the question.\n".repeat(20));
    desk.write("macbeth.txt", "Is this a dagger which I see before me?\n".repeat(5));
    desk.write("images.safetensors", images());
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    for part in ["train", "test"] {
        let digits = repository.join(format!("tests/own/digits-{part}.npz"));
        fs::copy(digits, desk.folder.path().join(format!("{part}.npz"))).unwrap();
    }
    let golden = repository.join("../samples/tests/golden/objects.npz");
    fs::copy(golden, desk.folder.path().join("objects.npz")).unwrap();
    let whole = fs::read(desk.folder.path().join("train.npz")).unwrap();
    desk.write("cut.npz", &whole[..whole.len() / 2]);
    desk
}

/// Eight images of 8×8 pixels in three channels, which come first, as PyTorch has them.
fn images() -> Vec<u8> {
    let header = "{\"x\":{\"dtype\":\"U8\",\"shape\":[8,3,8,8],\"data_offsets\":[0,1536]},\
                  \"y\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[1536,1544]}}";
    let pixels = (0..1536_u32).map(|at| (at * at % 251) as u8);
    let labels = (0..8).map(|n| n % 2);
    let length = (header.len() as u64).to_le_bytes();
    length.into_iter().chain(header.bytes()).chain(pixels).chain(labels).collect()
}

/// A scenario for these files in `NAME.toml`.
fn scenario(desk: &Desk, name: &str, train: &str, test: &str) -> String {
    let text = desk.stdout(&format!("scenario new own --train {train} --test {test}"));
    desk.write(&format!("{name}.toml"), &text);
    text
}

/// The lines of a scenario that follow from files, without comments.
fn follows(text: &str) -> String {
    let keys = "model shape channels symbols alphabet columns values loss classes sharing min_samples train test mean std devices metric at mode learning_rate";
    let of_files = |line: &&str| keys.split(' ').any(|key| line.starts_with(&format!("{key} = ")));
    let lines = text.lines().map(|line| line.split(" #").next().unwrap_or_default().trim_end());
    lines.filter(of_files).collect::<Vec<_>>().join("\n")
}

#[test]
fn files_are_inspected() {
    let desk = desk();
    for (name, file) in
        [("digits", "train.npz"), ("wards", "wards.csv"), ("houses", "houses.csv"), ("text", "hamlet.txt")]
    {
        insta::assert_snapshot!(format!("inspect_{name}"), desk.stdout(&format!("data inspect {file}")));
    }
    let found = desk.json("data inspect wards.csv");
    assert_eq!((&found["samples"], &found["shape"]), (&96.into(), &serde_json::json!([2])));
    assert_eq!(found["devices"][1], serde_json::json!({"name": "south", "samples": 32}));
    assert_eq!(desk.json("data inspect hamlet.txt")["characters"], 860);
}

#[test]
fn files_that_cannot_be_read_are_refused() {
    let desk = desk();
    desk.write("ragged.csv", "a,b,label\n1,2,0\n3,1\n");
    desk.write("nan.csv", "a,label\n1,0\nNaN,1\n");
    desk.write("unlabelled.csv", "a,b\n1,2\n");
    desk.write("thin.csv", "age,label\n1,0\n");
    desk.write("wide.csv", "age,pulse,extra,label\n1,2,3,0\n");
    desk.write("index.csv", ",age,label\n0,30,1\n");
    let cases: &[(&str, &[&str])] = &[
        ("data inspect cut.npz", &["cut.npz: not a valid npz file", "hint: write the file again"]),
        ("data inspect objects.npz", &["holds Python objects", "would run code", "hint: save numbers"]),
        ("data inspect none.npz", &["none.npz: no file has this name", "hint: check the spelling"]),
        ("data inspect fleet.csv unlabelled.csv", &["column label is missing", "hint:"]),
        ("data inspect ragged.csv", &["ragged.csv", "line 3", "hint:"]),
        ("data inspect nan.csv", &["nan.csv", "hint:"]),
        ("scenario new own --train none.csv --test none.csv", &["none.csv: no file has this name"]),
        (
            "scenario new own --train wards.csv --test wards.csv --model transformer",
            &[
                "task.model: \"transformer\" is not known",
                "\"softmax\", \"mlp\", \"cnn\", \"mobilenet\" or \"lstm\"",
            ],
        ),
        ("scenario new own --train wards.csv", &["--test is missing", "--validation"]),
        ("scenario new own --train wards.csv --test none.csv", &["none.csv: no file has this name"]),
        (
            "scenario new own --train wards.csv --test train.npz",
            &["train.npz: the shape of a sample is [8, 8]"],
        ),
        ("scenario new own --train wards.csv --test thin.csv", &["thin.csv: the table lacks pulse", "hint:"]),
        (
            "scenario new own --train wards.csv --test wide.csv",
            &["has extra, which the task does not declare"],
        ),
        ("scenario new own --train index.csv --validation 0.2", &["column 1 has no name", "index=False"]),
        ("scenario new own --train objects.npz --test objects.npz", &["holds Python objects"]),
    ];
    for (line, wanted) in cases {
        assert_refused(&desk, line, b"", wanted);
    }
}

/// What `scenario new own` prints for files is read back as it is, and runs.
#[test]
fn scenarios_for_files_follow_from_the_files_and_run() {
    let desk = desk();
    for (name, train, test) in [
        ("digits", "train.npz", "test.npz"),
        ("wards", "wards.csv", "wards-test.csv"),
        ("houses", "houses.csv", "houses-test.csv"),
        ("text", "hamlet.txt", "macbeth.txt"),
        ("images", "images.safetensors", "images.safetensors"),
    ] {
        let text = scenario(&desk, name, train, test);
        insta::assert_snapshot!(format!("scenario_{name}"), follows(&text));
        let file = format!("{name}.toml");
        let read = Scenario::read(&desk.folder.path().join(&file), &[]).unwrap();
        assert_eq!(read.task.name(), "own");
        let quick = "--set stop.rounds_max=2 --set task.hidden_units=8";
        let result = desk.json(&format!("run {file} {quick} --quiet --out run-{name}"));
        assert!(result["rounds"].as_u64().unwrap() <= 2, "{result}");
    }
    // Without declarations in the scenario, the same follow from the files.
    desk.write(
        "bare.toml",
        "[task]\nname = \"own\"\n[data]\ntrain = \"train.npz\"\ntest = \"test.npz\"\n[fleet]\ndevices = 6\n",
    );
    let bare = desk.json("scenario check bare.toml");
    let full = desk.json("scenario check digits.toml");
    assert_eq!((&full["partition"]["fewest"], &full["partition"]["most"]), (&249.into(), &250.into()));
    for key in ["shape", "values", "loss", "classes"] {
        assert_eq!(bare["task"][key], full["task"][key], "{key}");
    }
    desk.write("bare.toml", "[task]\nname = \"own\"\n[data]\ntrain = \"cut.npz\"\ntest = \"test.npz\"\n");
    assert_refused(&desk, "scenario check bare.toml", b"", &["bare.toml, line 4: data.train", "cut.npz"]);
}

#[test]
fn writers_train_one_model_and_schemes_are_compared() {
    let desk = desk();
    scenario(&desk, "digits", "train.npz", "test.npz");
    let result = desk.json("run digits.toml --quiet --out run");
    assert_eq!(result["status"], "reached", "{result}");
    assert!(result.get("test").is_none(), "nothing was held out");
    let fleet = fs::read_to_string(desk.folder.path().join("run/fleet.csv")).unwrap();
    let counts: Vec<&str> = fleet.lines().skip(1).map(|line| line.split(',').nth(3).unwrap()).collect();
    assert_eq!(counts, ["250", "250", "250", "249", "250", "249"], "{fleet}");
    let compared = desk.stdout("compare digits.toml --schemes auto,full --seeds 1 --set task.model=\"softmax\" --set stop.rounds_max=8 --quiet --out compared");
    assert!(compared.contains("own to 90 %") && compared.contains("full"), "{compared}");
}

#[test]
fn held_out_samples_decide_when_to_stop_and_test_samples_wait_for_the_end() {
    let desk = desk();
    scenario(&desk, "wards", "wards.csv", "wards-test.csv");
    let result = desk.json("run wards.toml --quiet --set data.validation=0.25 --out run");
    let accuracy = |part: &str| result[part]["accuracy"].as_f64().unwrap();
    assert!(accuracy("metrics") >= 0.9 && accuracy("test") > 0.5, "{result}");
    // About a quarter of 32 samples of each of three wards is held out; accuracies are multiples of one of these samples.
    let fleet = fs::read_to_string(desk.folder.path().join("run/fleet.csv")).unwrap();
    let counts = fleet.lines().skip(1).map(|line| line.split(',').nth(3).unwrap().parse::<f64>().unwrap());
    let held = 96.0 - counts.sum::<f64>();
    assert!((10.0..45.0).contains(&held), "{fleet}");
    let hits = accuracy("metrics") * held;
    assert!((hits - hits.round()).abs() < 1e-9, "{hits}");
}

#[test]
fn sample_counts_may_follow_a_fleet_file() {
    let desk = desk();
    scenario(&desk, "wards", "wards.csv", "wards-test.csv");
    let fleet = |counts: [&str; 2]| {
        let [one, two] = counts;
        let text = format!("device,compute_secs,comm_secs,samples\na,1,2,{one}\nb,1,2,{two}\n");
        desk.write("two.csv", text);
    };
    let line = "run wards.toml --quiet --set data.sharing=\"fleet\" --set fleet.file=\"two.csv\"";
    fleet(["60", "30"]);
    desk.stdout(&format!("{line} --set stop.rounds_max=1 --out run"));
    let used = fs::read_to_string(desk.folder.path().join("run/fleet.csv")).unwrap();
    assert!(used.contains(",60") && used.contains(",30"), "{used}");
    fleet(["90", "50"]);
    assert_refused(&desk, line, b"", &["140", "96", "hint:"]);
    fleet(["60.5", "30"]);
    assert_refused(
        &desk,
        line,
        b"",
        &["data.sharing", "device a holds 60.5 samples", "a whole number of samples"],
    );
}

#[test]
fn samples_that_do_not_fit_are_refused() {
    let desk = desk();
    scenario(&desk, "digits", "train.npz", "test.npz");
    scenario(&desk, "houses", "houses.csv", "houses-test.csv");
    scenario(&desk, "wards", "wards.csv", "wards-test.csv");
    let without = fs::read_to_string(desk.folder.path().join("wards.toml"))
        .unwrap()
        .replace("\ntrain =", "\n# train =");
    desk.write("served.toml", without);
    let fit = "hint: correct the keys of [task] in the scenario, or take samples that fit";
    let cases: &[(&str, &[&str])] = &[
        (
            "digits.toml --set task.shape=[16,16]",
            &["the shape of a sample is [8, 8]; the task declares [16, 16]", fit],
        ),
        (
            "digits.toml --set task.values=\"floats\"",
            &["the type of values is \"bytes\"; the task declares \"floats\"", fit],
        ),
        ("digits.toml --set task.classes=5", &["the number of classes is 10; the task declares 5", fit]),
        ("digits.toml --set data.test=\"wards.csv\"", &["wards.csv: the shape of a sample is [2]", fit]),
        ("digits.toml --set data.mean=[1,2,3]", &["the length of data.mean: 3", "one per channel"]),
        (
            "wards.toml --set fleet.devices=5",
            &["the samples name 3 devices, and the fleet has 5", "hint: take at most 3"],
        ),
        (
            "houses.toml --set data.sharing=\"by-device\"",
            &["do not say which device holds them", "column device"],
        ),
        (
            "houses.toml --set data.sharing=\"dirichlet\"",
            &["dirichlet shares them by class", "hint: share by iid"],
        ),
        (
            "wards.toml --set data.sharing=\"fleet\"",
            &["takes the sample counts of a fleet file", "set fleet.file"],
        ),
        (
            "served.toml --set data.where=\"devices\"",
            &["no files of training samples are named", "is served, not simulated"],
        ),
    ];
    for (line, wanted) in cases {
        assert_refused(&desk, &format!("run {line} --quiet"), b"", wanted);
    }
}

/// A run belongs to its samples, and its folder is enough to repeat it.
#[test]
fn a_run_is_tied_to_its_samples_and_can_be_repeated_from_its_folder() {
    let desk = desk();
    scenario(&desk, "wards", "wards.csv", "wards-test.csv");
    let two = "--set stop.rounds_max=2 --set stop.at=1 --quiet";
    let first = desk.json(&format!("run wards.toml {two} --out run"));
    let again = desk.json(&format!("run run/run.toml {two} --out again"));
    assert_eq!(first["metrics"], again["metrics"]);
    let read = |name: &str| fs::read(desk.folder.path().join(name)).unwrap();
    assert_eq!(read("run/model.safetensors"), read("again/model.safetensors"));
    // The same file with other labels.
    let wards = String::from_utf8(read("wards.csv")).unwrap();
    desk.write("wards.csv", wards.replace(",1,north", ",0,north"));
    let more = "--set stop.rounds_max=4 --set stop.at=1 --quiet";
    assert_refused(
        &desk,
        &format!("run wards.toml {more} --out run --resume"),
        b"",
        &[
            "run: the training samples, which data.train names, are not those of this run",
            "in another folder",
        ],
    );
    assert_refused(
        &desk,
        &format!("run run/run.toml {two} --out other"),
        b"",
        &["the samples of data.train are not those of the run", "hint: restore the files"],
    );
    desk.write("wards.csv", wards);
    desk.stdout(&format!("run wards.toml {more} --out run --resume"));
}

#[test]
fn devices_have_the_names_of_the_data() {
    let desk = desk();
    scenario(&desk, "wards", "wards.csv", "wards-test.csv");
    desk.write("q.csv", "device,q\nsouth,0.5\nnorth,1\nwest,0.25\n");
    desk.stdout("run wards.toml --scheme file=q.csv --set stop.rounds_max=1 --quiet --out run");
    let plan = fs::read_to_string(desk.folder.path().join("run/plan.csv")).unwrap();
    assert!(plan.contains("north,1") && plan.contains("west,0.25"), "{plan}");
    let checked = desk.json("scenario check wards.toml");
    let south = serde_json::json!({"device": "south", "data": ["south"]});
    assert_eq!(checked["partition"]["holders"][1], south);
    let fleet = |names: [&str; 3]| {
        let row = |name: &str| format!("{name},1,2,9\n");
        let text = names.map(row).concat();
        desk.write("three.csv", format!("device,compute_secs,comm_secs,samples\n{text}"));
    };
    fleet(["west", "south", "north"]);
    let line = "scenario check wards.toml --set fleet.file=\"three.csv\"";
    let west = serde_json::json!({"device": "west", "data": ["west"]});
    assert_eq!(desk.json(line)["partition"]["holders"][0], west);
    fleet(["west", "south", "norht"]);
    assert_refused(
        &desk,
        line,
        b"",
        &["the device \"north\", which the fleet does not have", "did you mean norht?"],
    );
}

#[test]
fn test_results_are_told_from_validation_results() {
    let desk = desk();
    scenario(&desk, "wards", "wards.csv", "wards-test.csv");
    let line = "compare wards.toml --schemes full --seeds 2 --no-pilot --set data.validation=0.25 --set stop.rounds_max=2 --quiet";
    let compared = desk.json(&format!("{line} --out compared"));
    assert!(compared["schemes"][0]["test"]["accuracy"]["mean"].is_number(), "{compared}");
    let text = desk.stdout(line);
    assert!(text.contains("test accuracy") && text.contains("accuracy is on validation samples"), "{text}");
    let report = desk.stdout("report compared --format md");
    assert!(report.contains("test accuracy") && report.contains("on validation samples"), "{report}");
    // Without a test file there is no test result, and without both nothing to evaluate on.
    let whole = fs::read_to_string(desk.folder.path().join("wards.toml")).unwrap();
    desk.write("bare.toml", whole.replace("\ntest =", "\n# test ="));
    let result = desk.json("run bare.toml --set data.validation=0.25 --set stop.rounds_max=1 --quiet");
    assert!(result.get("test").is_none(), "{result}");
    assert_refused(
        &desk,
        "run bare.toml --quiet",
        b"",
        &["no samples to evaluate models on", "data.validation"],
    );
}

#[test]
fn a_test_that_overflows_does_not_undo_the_run() {
    let desk = desk();
    scenario(&desk, "wards", "wards.csv", "wards-test.csv");
    desk.write("huge.csv", "age,pulse,label,device\n3e38,3e38,0,north\n");
    let result = desk.json(
        "run wards.toml --set data.test=\"huge.csv\" --set data.validation=0.25 --set data.std=[0.001] --set data.mean=[0] \
         --set train.learning_rate=1e-12 --set stop.rounds_max=1 --set stop.at=1 --quiet --out run",
    );
    let detail = result["detail"].as_str().unwrap_or_default();
    assert!(detail.contains("the test samples could not be evaluated"), "{result}");
    let records = fs::read_to_string(desk.folder.path().join("run/records.jsonl")).unwrap();
    assert!(records.contains("\"type\":\"end\""), "{records}");
}

/// Whole prices are classes until somebody says otherwise, and a share of the samples can stand in for test files.
#[test]
fn whole_numbers_may_be_prices_and_test_files_may_be_left_out() {
    let desk = desk();
    let rows: String = (0..300).map(|n| format!("{},{}\n", n % 17, 100 + 3 * n)).collect();
    desk.write("prices.csv", format!("rooms,label\n{rows}"));
    let inspected = desk.stdout("data inspect prices.csv");
    assert!(inspected.contains("300 classes with fewer than 10 samples each"), "{inspected}");
    let text = desk.stdout("scenario new own --train prices.csv --validation 0.2 --loss squared-error");
    for line in ["loss = \"squared-error\"", "metric = \"rmse\"", "classes = 1 ", "validation = 0.2"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    desk.write("prices.toml", text);
    desk.stdout("run prices.toml --set stop.rounds_max=2 --quiet");
    assert_refused(&desk, "run prices.toml --set data.test=\"\"", b"", &["data.test", "is an empty name"]);
}

/// A scenario of two keys has the devices that its files name.
#[test]
fn a_scenario_of_two_keys_follows_its_files() {
    let desk = desk();
    let keys = "[task]\nname = \"own\"\n[data]\ntrain = \"wards.csv\"\ntest = \"wards-test.csv\"\n";
    desk.write("bare.toml", keys);
    let checked = desk.stdout("scenario check bare.toml");
    assert!(
        checked.contains("sharing = \"by-device\"") && checked.contains("3 devices hold 96"),
        "{checked}"
    );
}
