//! The step `deny`: licences, banned crates and sources of all dependencies; known holes where the database is at
//! hand.

use std::env;
use std::path::PathBuf;

use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::tools;

pub(crate) fn check(repo: &Repo) -> Result<(), TaskError> {
    // To build cargo-deny takes longer than most other steps together: a machine that has none gets the same
    // three checks from a script of ours.
    if !tools::is_here(repo, &tools::DENY)? {
        return Cmd::words("python3 -B tests/deny/check.py").run(repo);
    }
    // Crates for other systems are judged too, and only this fetches them.
    Cmd::words("cargo fetch --locked --quiet").run(repo)?;
    let check = Cmd::words("cargo deny --offline --locked check licenses bans sources");
    if advisory_database().is_some() {
        check.arg("advisories").run(repo)
    } else {
        println!(
            "   advisories are not checked: no database on this machine \
             (`cargo deny fetch db` brings it where the network allows)"
        );
        check.run(repo)
    }
}

/// Where cargo-deny keeps the advisory databases it has fetched, if it ever did.
fn advisory_database() -> Option<PathBuf> {
    let cargo_home =
        env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo")))?;
    let databases = cargo_home.join("advisory-dbs");
    let any = databases.read_dir().ok()?.next().is_some();
    any.then_some(databases)
}
