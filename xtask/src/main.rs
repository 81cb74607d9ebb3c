//! The project's own tasks, as an ordinary Rust program: `cargo xtask help` lists them.
//!
//! A task is code like any other: it is formatted, linted and tested with the rest. It uses the
//! standard library alone, so that the first `cargo xtask` on a fresh clone starts in seconds.
//!
//! # Layout
//!
//! - [`guard`]: `test`, the ordered list of steps that guard the project.
//! - [`tidy`]: `tidy`, the rules that no compiler checks, one file a rule.
//! - [`mod@bench`], [`pin`]: the benchmarks, and their limits written anew.
//! - [`golden`]: the expected values made anew by Python.
//! - [`fuzz`]: decoders given bytes that nobody would send.
//! - [`readers`]: what fedflip writes, read by the programs it is written for.
//! - [`browser`]: pages in a real browser.
//! - [`dependencies`]: what others wrote and is built in: licences, bans, sources.
//! - [`faults`]: deployed runs on a simulated network, over a bad one, and with their processes killed.
//! - [`deploy`]: the files in `deploy/`, as systemd and compose read them.
//! - [`dist`]: the files of a release, and a run of its programs; [`package`]: the crates for other people.
//! - [`wasm`]: the planner for the page of the documentation.
//! - [`python`], [`wheel`]: the Python package under its tests, and as wheels; [`venv`]: virtual environments.
//! - [`site`]: the documentation site.
//! - [`tools`]: the one table of tools and versions, and how a missing one gets installed.
//! - [`lab`]: experiments and measurements, passed on to the crate `fedflip-lab`.
//! - [`lines`], [`source`]: production lines by crate, and just enough of Rust's grammar for that and for tidy.
//! - [`shell`], [`programs`], [`repo`], [`clock`]: running a program, building those that the tests need, knowing
//!   where things are, reading the time.
//! - [`error`]: what can go wrong, as one enum.

mod bench;
mod browser;
mod clock;
mod dependencies;
mod deploy;
mod dist;
mod error;
mod faults;
mod fuzz;
mod golden;
mod guard;
mod lab;
mod lines;
mod package;
mod pin;
mod programs;
mod python;
mod readers;
mod repo;
mod shell;
mod site;
mod source;
mod tidy;
mod tools;
mod venv;
mod wasm;
mod wheel;

use std::env;
use std::process::ExitCode;

use error::TaskError;
use repo::Repo;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    match dispatch(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error @ TaskError::Usage(_)) => {
            eprintln!("xtask: {error}");
            ExitCode::from(2)
        }
        // The lab has printed its error.
        Err(TaskError::Lab { code }) => ExitCode::from(code),
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(args: &[String]) -> Result<(), TaskError> {
    let repo = Repo::here();
    let (task, rest) = match args.split_first() {
        Some((task, rest)) => (task.as_str(), rest),
        None => ("help", args),
    };
    if lab::TASKS.contains(&task) {
        return lab::run(&repo, task, rest);
    }
    if ![
        "test",
        "tidy",
        "fuzz",
        "faults",
        "golden",
        "lines",
        "dist",
        "package",
        "python",
        "bench-python",
        "wheel",
        "site",
    ]
    .contains(&task)
        && !rest.is_empty()
    {
        return Err(TaskError::Usage(format!(
            "`{task}` takes no arguments, but was given `{}`",
            rest.join(" ")
        )));
    }
    match task {
        "test" => guard::run(&repo, rest),
        "tidy" => tidy::task(&repo, rest),
        "fuzz" => fuzz::run(&repo, rest),
        "lines" => lines::run(&repo, rest),
        "bench" => bench::run(&repo),
        "pin" => pin::run(&repo),
        "golden" => golden::run(&repo, rest),
        "faults" => faults::run(&repo, rest),
        "dist" => dist::run(&repo, rest),
        "package" => package::run(&repo, rest),
        "python" => python::run(&repo, rest),
        "bench-python" => python::bench(&repo, rest),
        "flower-versions" => python::flower_versions(&repo),
        "wheel" => wheel::run(&repo, rest),
        "site" => site::run(&repo, rest),
        "planner" => wasm::run(&repo),
        "install" => tools::ensure_all(&repo),
        "help" | "--help" | "-h" => {
            print!("{}", help());
            Ok(())
        }
        unknown => {
            Err(TaskError::Usage(format!("there is no task `{unknown}`; `cargo xtask help` lists them")))
        }
    }
}

fn help() -> String {
    let mut text = String::from(
        "cargo xtask TASK

  test [STEP...]  everything that guards the project, or only the named steps
  tidy [--shrink] the repository's own rules: layers, dead files, sizes, words; --shrink shortens the lists of
                  places that may still break a rule
  lines [FOLDER]  production lines of code by crate, of this checkout or of another one
  fuzz [--secs N] [TARGET...]
                  decoders given bytes that nobody would send, a minute each or N seconds
  bench           the solvers timed over N = 10^2 ... 10^6; solvers and layers in instructions
  pin             count the instructions of the layers and write their limits anew
  faults [--suite NAME] [--runs N] [--seed S]
                  N deployed runs on a simulated clock and network (1000, from seed 1), over a bad network (300),
                  and with their processes killed (300): suites simulated, faults and killed
  golden [SUITE]  make the expected values of the tests anew, with CVXPY and PyTorch
  dist [--programs | --no-wheels] [--check] [ARCH...]
                  the files of a release in target/dist/fedflip-VERSION, for x86_64 and aarch64: archives with static
                  programs, completions and manual pages, wheels, lists of what is built in, checksums; --programs makes
                  the static programs alone; --check looks at all of it, lets both agents, one of them under qemu, take
                  part in a run, and builds container images
  package [--quick]
                  the crates for other people, packed and built from their packages; --quick only packs them
  python [--torch | --flower | --cluster] [--slow] [WORD...]
                  the tests of the Python package on the wheel that `pip install .` builds: those without PyTorch, or
                  those that need it; --slow adds those that take minutes; WORDs are for pytest
  flower-versions
                  the tests of the step `flower` with the two minor versions of Flower before the present one
  bench-python [flower | cluster] [--check] [WORD...]
                  what the Python package costs, on a release wheel: rounds through an idle learner, PyTorch beside its
                  bare loop, a plan for a million devices; or Flower's engine, or a cluster beside threads; --check fails
                  below the promised speed
  wheel [ARCH...] wheels in target/wheels for x86_64 and aarch64, checked, against glibc 2.17
  site [--serve] [--draft]
                  the documentation site in target/site; --serve shows it and each change of a page in a browser; with
                  --draft, warnings do not fail, and pages may be missing
  planner         the planner in WebAssembly, which the site embeds
  install         only fetch the tools that the others need
  help            this text

Tasks of the lab (`cargo xtask TASK --help` describes their options):

  experiments     the paper's evaluation and what goes beyond it: run, checked, archived
  convert PATH... run folders and archives of version 1, converted to the present version
  speed           the speed and memory that docs/explanation/performance.md promises, on the release binary
  load            1,000 devices in rounds and 10,000 idle ones at one server: times and memory
  band            rounds of five devices on a real shared link, compared with the model
  bench-peers     client updates per second, fedflip and PyTorch timed in turn

The steps of `test`, in order:

",
    );
    for step in guard::STEPS {
        text.push_str(&format!("  {:<14}  {}\n", step.name, step.guards));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage_of(args: &[&str]) -> String {
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        match dispatch(&args) {
            Err(TaskError::Usage(message)) => message,
            other => panic!("expected a usage error, got {other:?}"),
        }
    }

    #[test]
    fn an_unknown_task_is_named_in_the_refusal() {
        assert!(usage_of(&["tset"]).contains("`tset`"));
    }

    #[test]
    fn stray_arguments_are_refused_rather_than_ignored() {
        assert!(usage_of(&["tidy", "--fix"]).contains("--fix"));
    }

    #[test]
    fn an_unknown_step_is_refused_before_anything_runs() {
        assert!(usage_of(&["test", "tidy", "clipy"]).contains("`clipy`"));
    }

    #[test]
    fn an_unknown_suite_of_golden_values_is_refused() {
        assert!(usage_of(&["golden", "lern"]).contains("`lern`"));
    }

    #[test]
    fn an_unknown_target_of_the_fuzzer_is_refused_before_anything_is_built() {
        assert!(usage_of(&["fuzz", "protcol"]).contains("`protcol`"));
    }

    #[test]
    fn help_names_every_step_and_every_task_of_the_lab() {
        let text = help();
        assert!(guard::STEPS.iter().all(|step| text.contains(step.name)));
        assert!(lab::TASKS.iter().all(|task| text.contains(&format!("\n  {task} "))));
    }
}
