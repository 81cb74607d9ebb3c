//! Samples that each device has in a file of its own: what a simulation by the column `device` says, devices that show
//! their files to nobody do.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use fedflip_learn::own::OwnData;
use fedflip_learn::task::{ParamValue, Sizes, Task, TaskSettings};
use fedflip_net::agent::{BuiltInTasks, PrepareTask};
use fedflip_net::wire;
use fedflip_samples::{Features, Labels, Table, files};
use fedflip_scenario::Scenario;

use crate::parity::{Asked, Case, parity};
use crate::serve::{ANY_PORT, Running, Serving, fedflip};

pub(crate) const WRITERS: usize = 6;

/// Digits of six writers, which stand in the column `device`.
pub(crate) fn digits(part: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/own").join(format!("digits-{part}.npz"))
}

pub(crate) fn scenario(place: &str, rounds: u64) -> String {
    format!(
        "[task]\nname = \"own\"\nmodel = \"mlp\"\nhidden_units = 16\nshape = [8, 8]\nvalues = \"bytes\"\n\
         loss = \"cross-entropy\"\nclasses = 10\n\
         [data]\ntrain = {:?}\ntest = {:?}\nwhere = {place:?}\nsharing = \"by-device\"\nmean = [0.02]\nstd = [0.024]\n\
         [fleet]\ndevices = {WRITERS}\n[plan]\nscheme = \"fixed=0.7\"\n\
         [stop]\nmetric = \"accuracy\"\nat = 1\nrounds_max = {rounds}\n",
        digits("train"),
        digits("test")
    )
}

/// A safetensors file of bytes with their classes.
pub(crate) fn write_samples(path: &Path, x: &[u8], y: &[u8]) {
    let (labels_start, end) = (x.len(), x.len() + y.len());
    let header = format!(
        "{{\"x\":{{\"dtype\":\"U8\",\"shape\":[{n},8,8],\"data_offsets\":[0,{labels_start}]}},\
         \"y\":{{\"dtype\":\"U8\",\"shape\":[{n}],\"data_offsets\":[{labels_start},{end}]}}}}",
        n = y.len()
    );
    let bytes = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), x, y].concat();
    std::fs::write(path, bytes).unwrap();
}

/// One file for each writer, without the column that says whose samples they are.
pub(crate) fn files_of_writers(folder: &Path) -> Vec<PathBuf> {
    let table = files::read(&[digits("train")]).unwrap();
    let Table { features: Features::Bytes(x), labels: Labels::Classes(y), devices: Some(devices), .. } =
        table
    else {
        panic!("digits are bytes with classes and devices")
    };
    let of_writer = |writer: usize| {
        let samples = (0..y.len()).filter(|at| devices.of_samples[*at] as usize == writer);
        let (mut pixels, mut classes) = (Vec::new(), Vec::new());
        for at in samples {
            pixels.extend_from_slice(&x[at * 64..][..64]);
            classes.push(y[at] as u8);
        }
        let path = folder.join(format!("{}.safetensors", devices.names[writer]));
        write_samples(&path, &pixels, &classes);
        path
    };
    (0..devices.names.len()).map(of_writer).collect()
}

#[test]
fn files_on_devices_train_the_same_model_as_a_simulation_of_all_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let settings = |place: &str| {
        let path = folder.path().join("s.toml");
        std::fs::write(&path, scenario(place, 1)).unwrap();
        Scenario::read(&path, &[]).unwrap().task_settings()
    };
    let agent = |file: PathBuf| -> Arc<dyn PrepareTask> {
        Arc::new(BuiltInTasks { data_dir: PathBuf::new(), own: vec![file] })
    };
    let offered = settings("devices");
    parity(
        &Case {
            simulated: settings("here").learner(Path::new("")).unwrap().0,
            host: offered.server_learner().unwrap(),
            offered,
            samples: Vec::new(),
            agents: files_of_writers(folder.path()).into_iter().map(agent).collect(),
        },
        Asked::default(),
    );
}

/// The server has neither samples nor a test file: six devices evaluate its models on samples that they hold out, and the run
/// ends when the confidence limit of the estimate reaches the target.
#[test]
fn devices_evaluate_the_models_of_a_server_without_data() {
    let folder = tempfile::tempdir().unwrap();
    let without = scenario("devices", 300).replace("at = 1\n", "at = 0.6\n");
    let without: String = without
        .lines()
        .filter(|line| !line.starts_with("train =") && !line.starts_with("test ="))
        .fold(String::new(), |all, line| all + line + "\n");
    let evaluated = "[evaluate]\nwhere = \"devices\"\nholdout = 0.2\nprobability = 0.95\n\
                     [server]\nupdate_norm_max = 100\n[record]\nevaluate_every = 1\n";
    std::fs::write(folder.path().join("s.toml"), without + evaluated).unwrap();
    let serving = Serving::start_plain(folder.path(), ANY_PORT);
    let mut writers: Vec<Running> = (0..)
        .zip(files_of_writers(folder.path()))
        .map(|(n, file)| {
            let mut command = fedflip();
            command.args([
                "join",
                &serving.address,
                "--insecure",
                "--name",
                &format!("writer-{n}"),
                "--data",
            ]);
            Running(command.arg(file).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
        })
        .collect();
    let (code, result, log) = serving.end();
    assert_eq!((code, &result["status"]), (Some(0), &"reached".into()), "{result} {log:?}");
    writers.iter_mut().for_each(|writer| assert!(writer.0.wait().unwrap().success()));
    assert!(result["estimated"]["devices"].as_u64().unwrap() >= 5, "{result}");
    let records = fedflip_record::reader::read(&folder.path().join("run/records.jsonl")).unwrap();
    let limit = |round: &fedflip_record::Round| round.estimated.as_ref()?.limit.get("accuracy");
    let (last, before) = records.rounds.split_last().unwrap();
    assert!(limit(last) >= Some(0.6), "{last:?}");
    assert!(before.iter().all(|round| limit(round).is_none_or(|limit| limit < 0.6)), "it ends at the first");
}

#[test]
fn what_devices_cannot_do_is_refused_before_the_server_listens() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |text: String, expected: [&str; 2]| {
        std::fs::write(folder.path().join("s.toml"), text).unwrap();
        let mut command = fedflip();
        command.arg("serve").arg(folder.path().join("s.toml")).args(["--insecure", "--listen", ANY_PORT]);
        let output = command.arg("--out").arg(folder.path().join("run")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(expected.iter().all(|words| said.contains(words)), "{said}");
        assert!(!folder.path().join("run").exists());
    };
    refused(scenario("here", 1), ["data.where = \"here\"", "set data.where = \"devices\""]);
    let many = scenario("devices", 1).replace("classes = 10", "classes = 1100");
    let many = many + "[evaluate]\nwhere = \"devices\"\n";
    refused(many, ["more than 3100 sums", "evaluate.where = \"server\""]);
}

#[test]
fn six_processes_with_a_file_each_train_one_model() {
    let folder = tempfile::tempdir().unwrap();
    // The server has no training file at all.
    let without: String = scenario("devices", 12)
        .lines()
        .filter(|line| !line.starts_with("train ="))
        .fold(String::new(), |all, line| all + line + "\n");
    std::fs::write(folder.path().join("s.toml"), without).unwrap();
    let serving = Serving::start_plain(folder.path(), ANY_PORT);
    let join = |name: String, file: &Path| {
        let mut command = fedflip();
        command.args(["join", &serving.address, "--insecure", "--name", &name, "--data"]).arg(file);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    // Samples of another shape are refused before the device enrols.
    let wide = folder.path().join("wide.csv");
    std::fs::write(&wide, "a,b,label\n1,2,0\n3,4,1\n").unwrap();
    let refused = join("wide".to_owned(), &wide).stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("wide.csv: the shape of a sample is [2]") && said.contains("[8, 8]"), "{said}");

    let mut without_data = fedflip();
    without_data.args(["join", &serving.address, "--insecure", "--name", "empty"]);
    let refused = without_data.output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("no files of them were named") && said.contains("--data mine.npz"), "{said}");

    let mut writers: Vec<Running> = (0..)
        .zip(files_of_writers(folder.path()))
        .map(|(n, file)| Running(join(format!("writer-{n}"), &file).spawn().unwrap()))
        .collect();
    let (code, result, log) = serving.end();
    assert_eq!((code, &result["rounds"]), (Some(0), &12.into()), "{log:?}");
    assert!(result["metrics"]["accuracy"].as_f64().unwrap() > 0.6, "{result}");
    writers.iter_mut().for_each(|writer| assert!(writer.0.wait().unwrap().success()));
    // The weights of devices follow the counts that they told.
    let fleet = std::fs::read_to_string(folder.path().join("run/fleet.csv")).unwrap();
    let mut counts: Vec<&str> = fleet.lines().skip(1).map(|line| line.split(',').nth(3).unwrap()).collect();
    counts.sort_unstable();
    assert_eq!(counts, ["249", "249", "250", "250", "250", "250"], "{fleet}");
}

/// A device arranges its table and reads its texts as the server's scenario declares.
#[test]
fn columns_and_alphabets_reach_devices() {
    let shape = ParamValue::Sizes(Sizes::new(&[2]).unwrap());
    let task = Task::by_name("own").unwrap().with("shape", shape).unwrap();
    let own = OwnData {
        columns: vec!["age".to_owned(), "pulse".to_owned()],
        alphabet: "\u{e9}t\n".to_owned(),
        ..OwnData::default()
    };
    let declared = TaskSettings { own: own.clone(), ..TaskSettings::paper(task, 3) };
    let mut message = wire::task::message(&declared).unwrap();
    assert_eq!(wire::task::settings(&message).unwrap().own, own);
    message.columns.reverse();
    assert!(wire::task::settings(&message).is_err(), "the digest covers the columns");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.csv");
    std::fs::write(&file, "age,height,label\n1,2,0\n3,4,1\n").unwrap();
    let mine = TaskSettings { own: OwnData { train: vec![file], ..own }, ..declared };
    let refused = mine.device_learner().map(drop).unwrap_err().to_string();
    assert!(refused.contains("has height, which the task does not declare, and lacks pulse"), "{refused}");
}
