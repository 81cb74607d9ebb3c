//! Files of the user's own: what is trained on, what is evaluated on, and what is refused.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use fedflip_learn::Learner;
use fedflip_learn::own::OwnData;
use fedflip_learn::task::{Learners, ParamValue, Sharing, Sizes, Task, TaskError, TaskSettings};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> Vec<PathBuf> {
        let path = self.0.path().join(name);
        fs::write(&path, text).unwrap();
        vec![path]
    }
}

/// A task on a table of two features.
fn settings(params: &[(&str, ParamValue<'_>)], own: OwnData) -> TaskSettings {
    let shape = ("shape", ParamValue::Sizes(Sizes::new(&[2]).unwrap()));
    let task = [shape].iter().chain(params).fold(Task::by_name("own").unwrap(), |task, (name, value)| {
        task.with(name, *value).unwrap_or_else(|error| panic!("{error}"))
    });
    TaskSettings { own, sharing: Sharing::Iid, ..TaskSettings::paper(task, 1) }
}

fn learners(settings: &TaskSettings) -> Result<Learners, TaskError> {
    settings.learners(Path::new(""))
}

#[track_caller]
fn refused(settings: &TaskSettings, said: &str) {
    let error = learners(settings).map(drop).unwrap_err();
    let text = format!("{error}; {}", error.hint());
    assert!(text.contains(said), "{text}");
}

fn rows(count: usize) -> String {
    (0..count).map(|n| format!("{n},{},{}\n", n % 7, n % 2)).collect()
}

#[test]
fn nothing_is_evaluated_on_no_samples() {
    let folder = Folder::new();
    let train = folder.write("train.csv", format!("a,b,label\n{}", rows(20)));
    let own = OwnData { train: train.clone(), ..OwnData::default() };
    let without_test = settings(&[], own);
    refused(&without_test, "there are no samples to evaluate models on; name test files");
    let validated = learners(&TaskSettings { validation: 0.25, ..without_test.clone() }).unwrap();
    // About a quarter: each sample is held out or not by a draw of its own.
    assert!((1..=10).contains(&validated.learner.test_samples()), "{}", validated.learner.test_samples());
    assert!(validated.test.is_none(), "there is no test result without test samples");
    let own = OwnData { test: train, ..without_test.own.clone() };
    let both = learners(&TaskSettings { validation: 0.25, own, ..without_test }).unwrap();
    assert_eq!(both.test.unwrap().test_samples(), 20);
}

#[test]
fn columns_of_training_and_test_files_are_the_same() {
    let folder = Folder::new();
    let train = folder.write("train.csv", "age,weight,label\n30,80,0\n40,70,1\n");
    let swapped = folder.write("test.csv", "weight,age,label\n80,30,0\n");
    let other = folder.write("other.csv", "age,height,label\n30,180,0\n");
    let on = |test: &[PathBuf], columns: &[&str]| {
        let columns = columns.iter().map(|name| (*name).to_owned()).collect();
        settings(&[], OwnData { train: train.clone(), test: test.to_vec(), columns, ..OwnData::default() })
    };
    let accuracy = |settings: &TaskSettings| {
        let learner = learners(settings).unwrap().learner;
        // The score of class 1 grows with the second feature alone.
        let mut model = vec![0.0; learner.params_len()];
        model[3] = 1.0;
        model[5] = -75.0;
        learner.evaluate(&mut learner.worker(), &model).unwrap().get("accuracy").unwrap()
    };
    assert_eq!(
        (accuracy(&on(&train, &[])), accuracy(&on(&swapped, &[]))),
        (0.0, 0.0),
        "weight 80 is class 1"
    );
    assert_eq!(accuracy(&on(&swapped, &["weight", "age"])), 1.0, "age 30 is below 75");
    // A difference between two files names both, first the one that lacks a column.
    let path = train[0].display();
    refused(
        &on(&other, &[]),
        &format!("other.csv: the table has height, which {path} does not have, and lacks weight"),
    );
    let more = folder.write("more.csv", "age,height,weight,label\n30,180,80,0\n");
    refused(&on(&more, &[]), &format!("train.csv: the table lacks height, which {} has", more[0].display()));
    let fewer = folder.write("fewer.csv", "age,label\n30,0\n");
    refused(&on(&fewer, &[]), &format!("fewer.csv: the table lacks weight, which {path} has"));
    refused(
        &on(&train, &["age", "size"]),
        "train.csv: the table has weight, which the task does not declare, and lacks size",
    );
}

#[test]
fn the_loss_decides_what_labels_are() {
    let folder = Folder::new();
    let prices = folder.write("prices.csv", "a,b,label\n1,2,100000\n2,3,250000\n");
    let whole = folder.write("whole.csv", "a,b,label\n1,2,3\n2,3,4\n");
    let number = [("loss", ParamValue::Choice("squared-error")), ("classes", ParamValue::Count(1))];
    for train in [&prices, &whole] {
        let own = OwnData { train: train.clone(), test: whole.clone(), ..OwnData::default() };
        learners(&settings(&number, own)).unwrap();
    }
    let own = OwnData { train: prices.clone(), test: whole, ..OwnData::default() };
    refused(&settings(&[], own), "sample 0, label: 100000 is not a class from 0 to 65535");
}

fn lstm<'a>(symbols: usize, classes: usize) -> [(&'a str, ParamValue<'a>); 4] {
    let model = ("model", ParamValue::Choice("lstm"));
    [
        model,
        ("symbols", ParamValue::Count(symbols)),
        ("classes", ParamValue::Count(classes)),
        ("hidden_units", ParamValue::Count(4)),
    ]
}

#[test]
fn codes_of_symbols_are_whole_and_below_their_number() {
    let folder = Folder::new();
    let train = folder.write("train.csv", "a,b,label\n0,199,0\n7,3,1\n");
    let own = OwnData { train: train.clone(), test: train, ..OwnData::default() };
    refused(&settings(&lstm(80, 2), own.clone()), "a value is 199; the task declares codes from 0 to 79");
    learners(&settings(&lstm(200, 2), own.clone())).unwrap();
    refused(&settings(&lstm(200, 2), OwnData { mean: vec![0.5], ..own }), "codes of symbols");
    let half = folder.write("half.csv", "a,b,label\n0.5,1,0\n7,3,1\n");
    let own = OwnData { train: half.clone(), test: half, ..OwnData::default() };
    refused(&settings(&lstm(200, 2), own), "a value is 0.5");
}

#[test]
fn texts_are_for_models_of_symbols_and_may_have_an_alphabet() {
    let folder = Folder::new();
    let train = folder.write("train.txt", "αβγ".repeat(30));
    let own = OwnData { train: train.clone(), test: train.clone(), ..OwnData::default() };
    refused(&settings(&[], own.clone()), "\"lstm\"; the task declares \"softmax\"");
    refused(&settings(&lstm(80, 2), own.clone()), "the number of classes is 80; the task declares 2");
    let greek = OwnData { alphabet: "αβγ".to_owned(), ..own };
    learners(&settings(&lstm(4, 4), greek.clone())).unwrap();
    let short = folder.write("short.txt", "αβ");
    let short = OwnData { test: short, ..greek };
    refused(&settings(&lstm(4, 4), short), "no longer than a window of 2 characters; take longer texts");
}

#[test]
fn the_ends_of_texts_are_held_out() {
    let folder = Folder::new();
    let train = folder.write("train.txt", "ab".repeat(51));
    let own = OwnData { train: train.clone(), test: train, alphabet: "ab".to_owned(), ..OwnData::default() };
    let held = TaskSettings { validation: 0.2, ..settings(&lstm(3, 3), own) };
    let Learners { learner, test, .. } = learners(&held).unwrap();
    // Of 100 windows the last 20 are held out, and 2 before them overlap these.
    assert_eq!((learner.samples(0), learner.test_samples()), (78, 20));
    assert_eq!(test.unwrap().test_samples(), 100);
    assert_eq!(held.device_learner().unwrap().samples(0), 78);
}

#[test]
fn holders_go_to_devices_of_their_name() {
    let folder = Folder::new();
    let train = folder.write("train.csv", "a,b,label,device\n1,2,0,north\n3,4,1,south\n5,6,0,north\n");
    let fleet = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let own = OwnData { train: train.clone(), test: train, ..OwnData::default() };
    let by_device = TaskSettings { sharing: Sharing::ByDevice, devices: 2, ..settings(&[], own.clone()) };
    let found = learners(&by_device).unwrap();
    assert_eq!(found.holders, [["north"], ["south"]]);
    let named = OwnData { fleet: fleet(&["south", "north"]), ..own.clone() };
    let found = learners(&TaskSettings { own: named, ..by_device.clone() }).unwrap();
    assert_eq!((found.learner.samples(0), found.learner.samples(1)), (1, 2));
    let other = OwnData { fleet: fleet(&["south", "norht"]), ..own };
    refused(&TaskSettings { own: other, ..by_device }, "did you mean norht?");
}

#[test]
fn patterns_stand_for_files_and_unknown_ones_are_refused() {
    let folder = Folder::new();
    let [first, second] = ["part-1.csv", "part-2.csv"];
    folder.write(first, format!("a,b,label\n{}", rows(3)));
    folder.write(second, format!("a,b,label\n{}", rows(4)));
    let pattern = |name: &str| vec![folder.0.path().join(name)];
    let own = OwnData { train: pattern("part-*.csv"), test: pattern(first), ..OwnData::default() };
    assert_eq!(learners(&settings(&[], own.clone())).unwrap().learner.samples(0), 7);
    let missing = OwnData { test: pattern("test-*.csv"), ..own };
    refused(&settings(&[], missing), "test-*.csv: no file has this name");
}
