//! `cargo xtask test`: everything that guards the project, cheapest first, stopping at the first
//! failure. CI runs this and nothing else, so a green run here is a green run there.

use crate::clock::Stopwatch;
use crate::error::TaskError;
use crate::repo::{Repo, on_ci};
use crate::shell::Cmd;
use crate::{bench, browser, dependencies, deploy, faults, fuzz, lab, readers, tidy, tools};

/// One thing that must hold.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) guards: &'static str,
    /// How long it may take on two cores with nothing built yet; all budgets together stay below 45 minutes.
    budget_secs: u32,
    run: fn(&Repo) -> Result<Outcome, TaskError>,
}

/// How a step ended when it did not fail.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    /// It cannot run on this machine; the text says why, so that nobody takes it for a pass.
    Skipped(&'static str),
}

pub(crate) const STEPS: &[Step] = &[
    Step {
        name: "tidy",
        budget_secs: 40,
        guards: "the repository's own rules, and a lock file that is up to date",
        run: check_tidy,
    },
    Step { name: "format", budget_secs: 10, guards: "one layout for all code", run: check_format },
    Step {
        name: "clippy",
        budget_secs: 270,
        guards: "no warning of the compiler or of clippy",
        run: |repo| {
            let line = "cargo clippy --locked --workspace --all-targets -- -D warnings";
            passed(Cmd::words(line).run(repo))
        },
    },
    Step {
        name: "docs",
        budget_secs: 120,
        guards: "documentation that builds, without a broken link",
        run: |repo| {
            let line = "cargo doc --locked --workspace --no-deps --document-private-items";
            passed(Cmd::words(line).env("RUSTDOCFLAGS", "-D warnings").run(repo))
        },
    },
    Step {
        name: "tests",
        budget_secs: 660,
        guards: "unit, property, golden-value and snapshot tests",
        run: run_tests,
    },
    Step {
        name: "readers",
        budget_secs: 90,
        guards: "event files and tables as TensorBoard, pandas and DuckDB read them, bars as terminals do",
        run: check_readers,
    },
    Step {
        name: "deploy",
        budget_secs: 50,
        guards: "units and compose file as systemd and compose read them",
        run: check_deployment,
    },
    Step {
        name: "faults",
        budget_secs: 150,
        guards: "deployed runs, simulated, over a bad network and with processes killed: nothing lost, nothing twice",
        run: |repo| passed(faults::short(repo)),
    },
    Step {
        name: "doc-tests",
        budget_secs: 60,
        guards: "the examples in the documentation",
        run: |repo| passed(Cmd::words("cargo test --locked --workspace --doc").run(repo)),
    },
    Step {
        name: "fuzz",
        budget_secs: 330,
        guards: "decoders of bytes from a peer or a file: their corpus, and some seconds of fuzzing each",
        run: fuzz_decoders,
    },
    Step {
        name: "browser",
        budget_secs: 120,
        guards: "what people see: pages in a real browser",
        run: look_at_pages,
    },
    Step {
        name: "deny",
        budget_secs: 90,
        guards: "licences, banned crates, sources; known holes where the database is at hand",
        run: |repo| passed(dependencies::check(repo)),
    },
    Step {
        name: "bench-smoke",
        budget_secs: 150,
        guards: "benchmarks that still run, once around each",
        run: try_benchmarks,
    },
    Step {
        name: "instructions",
        budget_secs: 180,
        guards: "the pinned instruction counts of solvers and layers",
        run: count_instructions,
    },
    Step {
        name: "speed",
        budget_secs: 240,
        guards: "plans and reports within some times the time, and the memory and size, that the README promises",
        run: |repo| passed(lab::step(repo, "speed", &["--short"])),
    },
    Step {
        name: "load",
        budget_secs: 40,
        guards: "a server with many devices: no update lost, little memory for those who are idle",
        run: |repo| passed(lab::step(repo, "load", &["--short"])),
    },
    Step {
        name: "experiments",
        budget_secs: 60,
        guards: "what docs/RESULTS.md shows, in little: which scheme takes fewer hours than which",
        run: |repo| passed(lab::step(repo, "experiments", &["--run", "all", "--quick"])),
    },
    Step {
        name: "band",
        budget_secs: 40,
        guards: "rounds on a real shared band that take what the model says, shares that finish together",
        run: share_a_band,
    },
];

impl Step {
    /// A line that compares the time with the budget.
    fn took(&self, secs: f64) -> String {
        let Self { name, budget_secs, .. } = self;
        let over = if secs > f64::from(*budget_secs) { "  OVER BUDGET" } else { "" };
        format!("{name:<13} ok in {secs:6.1} s of {budget_secs:4} s{over}")
    }
}

/// Runs the named steps, or all of them, in the order of the list.
pub(crate) fn run(repo: &Repo, names: &[String]) -> Result<(), TaskError> {
    let steps = select(names)?;
    let mut skipped = Vec::new();
    let total = Stopwatch::start();
    let mut lines = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        println!("\n== {}/{} {}: {}", index + 1, steps.len(), step.name, step.guards);
        let watch = Stopwatch::start();
        let outcome = (step.run)(repo).map_err(|source| TaskError::Step {
            name: step.name,
            secs: watch.secs(),
            source: Box::new(source),
        })?;
        let line = match outcome {
            Outcome::Passed => step.took(watch.secs()),
            Outcome::Skipped(why) => {
                skipped.push(step.name);
                format!("{:<13} SKIPPED: {why}", step.name)
            }
        };
        println!("   {line}");
        lines.push(line);
    }
    println!("\n== all of it in {:.1} s", total.secs());
    for line in lines {
        println!("   {line}");
    }
    // The closing line in the form that every CI can count.
    let passed = steps.len() - skipped.len();
    println!("steps: {passed} passed, 0 failed, {} skipped", skipped.len());
    Ok(())
}

fn select(names: &[String]) -> Result<Vec<&'static Step>, TaskError> {
    if let Some(unknown) = names.iter().find(|name| STEPS.iter().all(|step| step.name != **name)) {
        let known: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        return Err(TaskError::Usage(format!(
            "there is no step `{unknown}`; the steps are {}",
            known.join(", ")
        )));
    }
    Ok(STEPS.iter().filter(|step| names.is_empty() || names.iter().any(|name| name == step.name)).collect())
}

fn passed(result: Result<(), TaskError>) -> Result<Outcome, TaskError> {
    result.map(|()| Outcome::Passed)
}

fn check_tidy(repo: &Repo) -> Result<Outcome, TaskError> {
    // Cargo mended a stale lock file in silence while it built this very program, so `--locked`
    // can no longer see it; in a fresh clone git can.
    if on_ci() {
        Cmd::words("git diff --exit-code -- Cargo.lock").run(repo)?;
    }
    passed(tidy::run(repo))
}

fn check_format(repo: &Repo) -> Result<Outcome, TaskError> {
    // Told about colour in its own words: it knows nothing of cargo's setting.
    let colour = repo.colour().to_string_lossy().into_owned();
    Cmd::words("cargo fmt --all -- --check --color").arg(&colour).run(repo)?;
    // A workspace of its own.
    passed(Cmd::words("cargo fmt --manifest-path fuzz/Cargo.toml -- --check --color").arg(colour).run(repo))
}

fn run_tests(repo: &Repo) -> Result<Outcome, TaskError> {
    tools::ensure(repo, &tools::NEXTEST)?;
    let profile = if on_ci() { "ci" } else { "default" };
    let line = "cargo nextest run --locked --workspace --ignore-default-filter --profile";
    passed(Cmd::words(line).arg(profile).run(repo))
}

fn check_readers(repo: &Repo) -> Result<Outcome, TaskError> {
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

fn fuzz_decoders(repo: &Repo) -> Result<Outcome, TaskError> {
    if fuzz::can_run(repo) || on_ci() {
        return passed(fuzz::step(repo));
    }
    Ok(Outcome::Skipped("libFuzzer takes Linux or macOS and a C++ compiler"))
}

fn look_at_pages(repo: &Repo) -> Result<Outcome, TaskError> {
    match browser::ensure(repo) {
        Ok(found) => passed(browser::run(repo, &found)),
        // Whoever changes a solver need not have a browser; CI sees to it that pages are looked at.
        Err(TaskError::Missing { what, hint }) if !on_ci() => {
            println!("   {what} is missing: {hint}");
            Ok(Outcome::Skipped("node or a browser is missing, see above"))
        }
        Err(error) => Err(error),
    }
}

fn try_benchmarks(repo: &Repo) -> Result<Outcome, TaskError> {
    if on_ci() {
        return Ok(Outcome::Skipped(
            "two minutes that CI does not have: clippy has compiled them, `instructions` runs the counted ones",
        ));
    }
    passed(bench::smoke(repo))
}

fn check_deployment(repo: &Repo) -> Result<Outcome, TaskError> {
    if !cfg!(target_os = "linux") {
        return Ok(Outcome::Skipped("systemd is on Linux alone"));
    }
    passed(deploy::check(repo))
}

fn count_instructions(repo: &Repo) -> Result<Outcome, TaskError> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Ok(Outcome::Skipped("the counts are pinned for Linux on x86-64"));
    }
    passed(bench::instructions(repo))
}

fn share_a_band(repo: &Repo) -> Result<Outcome, TaskError> {
    match lab::step(repo, "band", &["--short"]) {
        Err(TaskError::Lab { code: lab::SKIPPED }) => {
            Ok(Outcome::Skipped("no network namespaces with a shaped link on this machine, see above"))
        }
        other => passed(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(chosen: &[&str]) -> Vec<&'static str> {
        let chosen: Vec<String> = chosen.iter().map(ToString::to_string).collect();
        select(&chosen).unwrap().iter().map(|step| step.name).collect()
    }

    #[test]
    fn without_names_every_step_runs() {
        assert_eq!(names(&[]).len(), STEPS.len());
    }

    #[test]
    fn named_steps_keep_the_order_of_the_list() {
        assert_eq!(names(&["tests", "tidy"]), ["tidy", "tests"]);
    }

    #[test]
    fn all_budgets_together_stay_below_45_minutes() {
        assert!(STEPS.iter().map(|step| step.budget_secs).sum::<u32>() <= 45 * 60);
        let tidy = &STEPS[0];
        assert!(tidy.took(1e4).contains("OVER BUDGET") && !tidy.took(0.1).contains("OVER"));
    }

    #[test]
    fn step_names_are_unique_so_that_each_can_be_run_alone() {
        let unique: std::collections::BTreeSet<_> = STEPS.iter().map(|step| step.name).collect();
        assert_eq!(unique.len(), STEPS.len());
    }
}
