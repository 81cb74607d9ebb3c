//! `cargo xtask test`: everything that guards the project, cheapest first, stopping at the first
//! failure. CI runs this and nothing else, so a green run here is a green run there.

mod actions;

use crate::clock::Stopwatch;
use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::{dependencies, faults, lab, package, python};
use actions::{
    check_deployment, check_format, check_readers, check_site, check_tidy, count_instructions, fuzz_decoders,
    look_at_pages, passed, run_tests, share_a_band, try_benchmarks, with_python,
};

/// One thing that must hold.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) guards: &'static str,
    /// How long it may take on two cores with nothing built yet; the budgets of all that CI runs stay below 45 minutes.
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
        budget_secs: 190,
        guards: "no warning of the compiler or of clippy",
        run: |repo| {
            let line = "cargo clippy --locked --workspace --all-targets -- -D warnings";
            passed(Cmd::words(line).run(repo))
        },
    },
    Step {
        name: "docs",
        budget_secs: 80,
        guards: "documentation that builds, without a broken link",
        run: |repo| {
            let line = "cargo doc --locked --workspace --no-deps --document-private-items";
            passed(Cmd::words(line).env("RUSTDOCFLAGS", "-D warnings").run(repo))
        },
    },
    Step {
        name: "tests",
        budget_secs: 470,
        guards: "unit, property, golden-value and snapshot tests",
        run: run_tests,
    },
    Step {
        name: "readers",
        budget_secs: 60,
        guards: "event files and tables as TensorBoard, pandas and DuckDB read them, bars as terminals do",
        run: check_readers,
    },
    Step {
        name: "deploy",
        budget_secs: 30,
        guards: "units and compose file as systemd and compose read them",
        run: check_deployment,
    },
    Step {
        name: "faults",
        budget_secs: 60,
        guards: "deployed runs, simulated, over a bad network and with processes killed: nothing lost, nothing twice",
        run: |repo| passed(faults::short(repo)),
    },
    Step {
        name: "doc-tests",
        budget_secs: 30,
        guards: "the examples in the documentation",
        run: |repo| passed(Cmd::words("cargo test --locked --workspace --doc").run(repo)),
    },
    Step {
        name: "fuzz",
        budget_secs: 170,
        guards: "decoders of bytes from a peer or a file: their corpus, and some seconds of fuzzing each",
        run: fuzz_decoders,
    },
    Step {
        name: "browser",
        budget_secs: 100,
        guards: "what people see: pages in a real browser",
        run: look_at_pages,
    },
    Step {
        name: "site",
        budget_secs: 190,
        guards: "the documentation site: links, formulas, the commands of its pages, and its looks in a browser",
        run: check_site,
    },
    Step {
        name: "deny",
        budget_secs: 20,
        guards: "licences, banned crates, sources; known holes where the database is at hand; crates as packages",
        run: |repo| passed(dependencies::check(repo).and_then(|()| package::quick(repo))),
    },
    Step {
        name: actions::NOT_ON_CI,
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
        budget_secs: 60,
        guards: "plans and reports within some times the time, and the memory and size, that the page on performance promises",
        run: |repo| passed(lab::step(repo, "speed", &["--short"])),
    },
    Step {
        name: "python",
        budget_secs: 260,
        guards: "the Python package as pip installs it: types, stubs, tests, examples, every Python of this machine",
        run: |repo| with_python(python::step(repo)),
    },
    Step {
        name: "torch",
        budget_secs: 220,
        guards: "the Python package with models of PyTorch",
        run: |repo| with_python(python::step_torch(repo)),
    },
    Step {
        name: "flower",
        budget_secs: 180,
        guards: "Flower apps and coins on the virtual clock; `cargo xtask python --flower --slow` has Flower's own engines",
        run: |repo| with_python(python::step_extra(repo, &python::FLOWER)),
    },
    Step {
        name: "cluster",
        budget_secs: 210,
        guards: "crews on Ray, MPI and executors: the bytes of one thread, also when workers die",
        run: |repo| with_python(python::step_extra(repo, &python::CLUSTER)),
    },
    Step {
        name: "load",
        budget_secs: 40,
        guards: "a server with many devices: no update lost, little memory for those who are idle",
        run: |repo| passed(lab::step(repo, "load", &["--short"])),
    },
    Step {
        name: "experiments",
        budget_secs: 50,
        guards: "what docs/results.md shows, in little: which scheme takes fewer hours than which",
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
        let on_ci = STEPS.iter().filter(|step| step.name != actions::NOT_ON_CI);
        assert!(on_ci.map(|step| step.budget_secs).sum::<u32>() <= 45 * 60);
        let tidy = &STEPS[0];
        assert!(tidy.took(1e4).contains("OVER BUDGET") && !tidy.took(0.1).contains("OVER"));
    }

    #[test]
    fn step_names_are_unique_so_that_each_can_be_run_alone() {
        let unique: std::collections::BTreeSet<_> = STEPS.iter().map(|step| step.name).collect();
        assert_eq!(unique.len(), STEPS.len());
    }
}
