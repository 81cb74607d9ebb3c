//! The wheel with the extension module, built for the tests or as users have it.

use std::fs;
use std::path::PathBuf;

use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::{Cmd, write_script};
use crate::venv::Kept;
use crate::wheel;

/// A test of the workspace. Any will do: cargo turns on the features of tests when it builds at least one.
const SMALL_TEST: &str = "csv_file";

/// How cargo compiles the extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Build {
    /// As for the tests, so that only the extension itself is left to compile. A release build of everything would take
    /// longer than all other steps but `tests`.
    ForTests,
    /// Optimised, as users build it.
    Release,
}

/// Builds the wheel as `pip install .` does, but maturin is the one that is installed, and not fetched for the occasion.
pub(super) fn build(repo: &Repo, tools: &Kept, how: Build) -> Result<PathBuf, TaskError> {
    let folder = repo.target().join("python/wheel");
    wheel::empty(&folder)?;
    let quiet = ["-m", "pip", "--disable-pip-version-check", "wheel", ".", "--quiet"];
    let mut cmd = Cmd::new(tools.python())
        .args(quiet)
        .args(["--no-deps", "--no-index", "--no-build-isolation"])
        .args(["--wheel-dir", &folder.display().to_string()])
        .with_programs_in(&tools.programs());
    if how == Build::ForTests {
        cmd = cmd
            .env("MATURIN_PEP517_ARGS", "--profile dev --compression-method stored")
            .env("CARGO", as_for_tests(repo)?);
    }
    cmd.run(repo)?;
    wheel::only_wheel(&folder)
}

/// A cargo for maturin, which asks for one package alone: with other features than in the tests of the workspace, and so
/// with half of all crates compiled anew. This one compiles the same library among the others.
fn as_for_tests(repo: &Repo) -> Result<String, TaskError> {
    let build = format!("build --locked --workspace --lib --test {SMALL_TEST}");
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = rustc ]; then\n  set -- {build} --message-format json-render-diagnostics\nfi\n\
         exec cargo \"$@\"\n"
    );
    let folder = repo.target().join("python");
    fs::create_dir_all(&folder).map_err(|source| TaskError::File { path: folder.clone(), source })?;
    write_script(&folder.join("cargo"), &script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_small_test_is_there() {
        assert!(Repo::here().path(&format!("crates/fleet/tests/{SMALL_TEST}.rs")).is_file());
    }
}
