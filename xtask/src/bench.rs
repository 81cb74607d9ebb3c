//! `cargo xtask bench`: how the solvers grow with the fleet, in seconds and in instructions; and what the
//! layers of the models take, in instructions.

use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::tools;

pub(crate) fn run(repo: &Repo) -> Result<(), TaskError> {
    timings(repo, &[])?;
    instructions(repo)
}

/// The criterion benchmark; `--test` among the arguments runs each case once, untimed.
pub(crate) fn timings(repo: &Repo, args: &[&str]) -> Result<(), TaskError> {
    Cmd::words("cargo bench --locked --package fedflip-plan --bench solvers --")
        .args(args.iter().copied())
        .run(repo)
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
