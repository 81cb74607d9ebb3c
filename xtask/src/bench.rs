//! `cargo xtask bench`: how the solvers grow with the fleet, in seconds and in instructions; how long updates take
//! through their encodings; and what the layers of the models take, in instructions.

use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::tools;

pub(crate) fn run(repo: &Repo) -> Result<(), TaskError> {
    Cmd::words("cargo bench --locked --package fedflip-plan --bench solvers").run(repo)?;
    Cmd::words("cargo bench --locked --package fedflip-learn --bench encoding").run(repo)?;
    instructions(repo)
}

/// Each case of the criterion benchmarks once, untimed, and built as the tests are: that it runs is all that counts.
pub(crate) fn smoke(repo: &Repo) -> Result<(), TaskError> {
    Cmd::words("cargo test --locked --package fedflip-plan --bench solvers").run(repo)?;
    Cmd::words("cargo test --locked --package fedflip-learn --bench encoding").run(repo)
}

/// The instruction counts. Their limits are pinned beside the benchmark and make it fail, because
/// unlike seconds they come out the same on a busy machine.
pub(crate) fn instructions(repo: &Repo) -> Result<(), TaskError> {
    ensure_counter(repo)?;
    counter("fedflip-plan").run(repo)?;
    counter("fedflip-learn").run(repo)
}

/// What the counts of the layers print, whether they keep their limits or not.
pub(crate) fn layer_counts(repo: &Repo) -> Result<String, TaskError> {
    ensure_counter(repo)?;
    counter("fedflip-learn").printed(repo)
}

fn ensure_counter(repo: &Repo) -> Result<(), TaskError> {
    tools::ensure_valgrind(repo)?;
    tools::ensure(repo, &tools::GUNGRAUN)
}

fn counter(package: &str) -> Cmd {
    Cmd::words("cargo bench --locked --bench instructions --package").arg(package)
}
