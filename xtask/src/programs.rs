//! The programs as the tests build them, for the steps that run a binary.

use std::env::consts::EXE_SUFFIX;
use std::path::PathBuf;

use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;

/// Builds as the tests do, features and all, because `cargo build` of one package would compile half of it anew;
/// returns the folder of the binaries.
pub(crate) fn build(repo: &Repo) -> Result<PathBuf, TaskError> {
    Cmd::words("cargo test --locked --quiet --workspace --no-run").run(repo)?;
    Ok(repo.target().join("debug"))
}

/// Builds, and returns the path of one binary.
pub(crate) fn built(repo: &Repo, name: &str) -> Result<String, TaskError> {
    Ok(build(repo)?.join(format!("{name}{EXE_SUFFIX}")).display().to_string())
}
