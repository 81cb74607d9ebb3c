//! What steps do that is more than one command: mostly, what to make of a machine that lacks something.

use super::Outcome;
use crate::error::TaskError;
use crate::repo::{Repo, on_ci};
use crate::shell::Cmd;
use crate::{bench, browser, deploy, fuzz, lab, readers, site, tidy, tools};

/// The one step that CI leaves out.
pub(super) const NOT_ON_CI: &str = "bench-smoke";

pub(super) fn passed(result: Result<(), TaskError>) -> Result<Outcome, TaskError> {
    result.map(|()| Outcome::Passed)
}

pub(super) fn check_tidy(repo: &Repo) -> Result<Outcome, TaskError> {
    // Cargo mended a stale lock file in silence while it built this very program, so `--locked`
    // can no longer see it; in a fresh clone git can.
    if on_ci() {
        Cmd::words("git diff --exit-code -- Cargo.lock").run(repo)?;
    }
    passed(tidy::run(repo))
}

pub(super) fn check_format(repo: &Repo) -> Result<Outcome, TaskError> {
    // Told about colour in its own words: it knows nothing of cargo's setting.
    let colour = repo.colour().to_string_lossy().into_owned();
    Cmd::words("cargo fmt --all -- --check --color").arg(&colour).run(repo)?;
    // A workspace of its own.
    passed(Cmd::words("cargo fmt --manifest-path fuzz/Cargo.toml -- --check --color").arg(colour).run(repo))
}

pub(super) fn run_tests(repo: &Repo) -> Result<Outcome, TaskError> {
    tools::ensure(repo, &tools::NEXTEST)?;
    let profile = if on_ci() { "ci" } else { "default" };
    let line = "cargo nextest run --locked --workspace --ignore-default-filter --profile";
    passed(Cmd::words(line).arg(profile).run(repo))
}

pub(super) fn check_readers(repo: &Repo) -> Result<Outcome, TaskError> {
    match readers::python(repo) {
        Ok(python) => passed(readers::check(repo, &python)),
        Err(error) if on_ci() => Err(error),
        Err(error) => {
            println!("   {error}");
            Ok(Outcome::Skipped(
                "no Python with the readers could be made: it takes python3 with venv and pip",
            ))
        }
    }
}

/// Whoever changes a solver need not have Python; CI has it.
pub(super) fn with_python(result: Result<(), TaskError>) -> Result<Outcome, TaskError> {
    match result {
        Err(TaskError::Missing { what, hint }) if !on_ci() => {
            println!("   {what} is missing: {hint}");
            Ok(Outcome::Skipped("no Python that the package supports is on this machine, see above"))
        }
        other => passed(other),
    }
}

pub(super) fn fuzz_decoders(repo: &Repo) -> Result<Outcome, TaskError> {
    if fuzz::can_run(repo) || on_ci() {
        return passed(fuzz::step(repo));
    }
    Ok(Outcome::Skipped("libFuzzer takes Linux or macOS and a C++ compiler"))
}

pub(super) fn look_at_pages(repo: &Repo) -> Result<Outcome, TaskError> {
    with_browser(repo, browser::run)
}

pub(super) fn check_site(repo: &Repo) -> Result<Outcome, TaskError> {
    with_browser(repo, site::step)
}

fn with_browser(repo: &Repo, look: fn(&Repo, &str) -> Result<(), TaskError>) -> Result<Outcome, TaskError> {
    match browser::ensure(repo) {
        Ok(found) => passed(look(repo, &found)),
        // Whoever changes a solver need not have a browser; CI sees to it that pages are looked at.
        Err(TaskError::Missing { what, hint }) if !on_ci() => {
            println!("   {what} is missing: {hint}");
            Ok(Outcome::Skipped("node or a browser is missing, see above"))
        }
        Err(error) => Err(error),
    }
}

pub(super) fn try_benchmarks(repo: &Repo) -> Result<Outcome, TaskError> {
    if on_ci() {
        return Ok(Outcome::Skipped(
            "two minutes that CI does not have: clippy has compiled them, `instructions` runs the counted ones",
        ));
    }
    passed(bench::smoke(repo))
}

pub(super) fn check_deployment(repo: &Repo) -> Result<Outcome, TaskError> {
    if !cfg!(target_os = "linux") {
        return Ok(Outcome::Skipped("systemd is on Linux alone"));
    }
    passed(deploy::check(repo))
}

pub(super) fn count_instructions(repo: &Repo) -> Result<Outcome, TaskError> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Ok(Outcome::Skipped("the counts are pinned for Linux on x86-64"));
    }
    passed(bench::instructions(repo))
}

pub(super) fn share_a_band(repo: &Repo) -> Result<Outcome, TaskError> {
    match lab::step(repo, "band", &["--short"]) {
        Err(TaskError::Lab { code: lab::SKIPPED }) => {
            Ok(Outcome::Skipped("no network namespaces with a shaped link on this machine, see above"))
        }
        other => passed(other),
    }
}
