//! The program as it is called, by a person and by `cargo xtask`.

use std::io;
use std::process::{Command, Output};

fn lab(args: &[&str]) -> io::Result<Output> {
    Command::new(env!("CARGO_BIN_EXE_fedflip-lab")).args(args).output()
}

#[test]
fn experiments_are_listed_with_what_they_show() {
    let output = lab(&["experiments", "--list"]).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert!(text.contains("mnist-table") && text.contains("Table I and Fig. 2"), "{text}");
}

#[test]
fn an_unknown_experiment_is_refused_before_anything_is_built() {
    let output = lab(&["experiments", "--run", "tabel", "--quick"]).unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(error.contains("`tabel`") && error.contains("mnist-table"), "{error}");
}

#[test]
fn stray_arguments_are_refused() {
    assert_eq!(lab(&["load", "--fast"]).unwrap().status.code(), Some(2));
    assert_eq!(lab(&["laod"]).unwrap().status.code(), Some(2));
}
