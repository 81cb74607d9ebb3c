//! The Python package as a user gets it: the wheel that `pip install .` builds, in an environment of its own, under
//! its tests. The steps `python` and `torch` of `cargo xtask test`, `cargo xtask python` and `cargo xtask bench-python`.
//!
//! Packages of the registry are installed once, below the tools folder. The environment with the wheel is made anew
//! each time and sees them.

mod environment;
mod extension;
mod extra;

use std::path::Path;

use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::venv::{self, Interpreter, Kept};
use crate::wheel::BARE;
use environment::{Beside, Tests, data_sets, oldest, tools_for};
use extension::Build;
pub(crate) use extra::{CLUSTER, FLOWER};
use extra::{EARLIER_FLOWERS, Extra};

const REQUIREMENTS: &str = "python/tests/requirements.txt";
const TESTS: &str = "python/tests";
/// What is in Python: the package, the runner of pages, and what MkDocs does beside its plugins.
const SOURCES: [&str; 3] = ["python", "tests/site", "docs/hooks"];
const SMOKE: &str = "python/tests/smoke.py";
/// Programs that people read and run; checked as strictly as the package.
const EXAMPLES: &str = "python/examples";
/// What the package costs beside the bare loop of PyTorch.
const OVERHEAD: &str = "python/benchmarks/overhead.py";
/// The seconds after which a test that hangs is ended and named.
const TIMEOUT: &str = "--timeout=300";

/// What was asked for on the command line.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    beside: Beside,
    slow: bool,
    /// The arguments that are passed on to pytest.
    words: Vec<String>,
}

/// `cargo xtask python`: the tests, or those that the words choose.
pub(crate) fn run(repo: &Repo, args: &[String]) -> Result<(), TaskError> {
    let asked = parse(args);
    let tests = Tests::beside(repo, asked.beside)?;
    if asked.words.is_empty() {
        return tests.pytest(repo, asked.slow, &[]).and_then(|()| tests.doctests(repo));
    }
    tests.pytest(repo, asked.slow, &asked.words)
}

fn parse(args: &[String]) -> Asked {
    let mut asked = Asked::default();
    for arg in args {
        match arg.as_str() {
            "--torch" => asked.beside = Beside::Torch,
            "--flower" => asked.beside = Beside::Extra(&FLOWER),
            "--cluster" => asked.beside = Beside::Extra(&CLUSTER),
            "--slow" => asked.slow = true,
            word => asked.words.push(word.to_owned()),
        }
    }
    asked
}

/// The step `python`: layout, types, stubs, tests, examples, and every other Python of this machine.
pub(crate) fn step(repo: &Repo) -> Result<(), TaskError> {
    let tools = tools_for(repo, &oldest(repo)?)?;
    let ruff = || Cmd::new(tools.program("ruff"));
    ruff().args(["check", "--quiet"]).args(SOURCES).run(repo)?;
    ruff().args(["format", "--quiet", "--check"]).args(SOURCES).run(repo).inspect_err(|_| {
        println!("   {} format {}", tools.program("ruff"), SOURCES.join(" "));
    })?;
    let tests = Tests::beside(repo, Beside::Nothing)?;
    tests.types(repo)?;
    tests.stubs(repo)?;
    tests.pytest(repo, false, &[])?;
    tests.doctests(repo)?;
    smoke(repo, &tests.wheel)
}

/// The step `torch`: what needs PyTorch, in short form.
pub(crate) fn step_torch(repo: &Repo) -> Result<(), TaskError> {
    let tests = Tests::beside(repo, Beside::Torch)?;
    tests.types(repo)?;
    // A model of PyTorch is compared with the native kernels.
    tests.fetch(repo, "mnist")?;
    tests.pytest(repo, false, &[])?;
    tests.doctests(repo)?;
    // Times mean nothing in a short run on a build for tests; the program itself must work.
    Cmd::new(&tests.python).args(["-B", OVERHEAD, "--quick", "--json"]).run(repo)
}

/// The steps `flower` and `cluster`: what needs a large library besides, in short form.
pub(crate) fn step_extra(repo: &Repo, extra: &'static Extra) -> Result<(), TaskError> {
    let tests = Tests::beside(repo, Beside::Extra(extra))?;
    // The example for Flower trains on it.
    tests.fetch(repo, "mnist")?;
    tests.pytest(repo, false, &[])?;
    tests.doctests(repo)?;
    Cmd::new(&tests.python).args(["-B", extra.benchmark, "--quick", "--json"]).run(repo)
}

/// `cargo xtask flower-versions`: the tests of the step `flower` with the two minor versions of Flower before the present one.
pub(crate) fn flower_versions(repo: &Repo) -> Result<(), TaskError> {
    static EARLIER: [Extra; 2] = EARLIER_FLOWERS;
    EARLIER.iter().try_for_each(|extra| Tests::beside(repo, Beside::Extra(extra))?.pytest(repo, false, &[]))
}

/// `cargo xtask bench-python`: times what the package costs, on the release wheel. The words are for the program.
pub(crate) fn bench(repo: &Repo, args: &[String]) -> Result<(), TaskError> {
    let (beside, benchmark, rest) = match args.split_first() {
        Some((first, rest)) if first == FLOWER.name => (Beside::Extra(&FLOWER), FLOWER.benchmark, rest),
        Some((first, rest)) if first == CLUSTER.name => (Beside::Extra(&CLUSTER), CLUSTER.benchmark, rest),
        _ => (Beside::Torch, OVERHEAD, args),
    };
    let tests = Tests::of(repo, beside, Build::Release)?;
    if rest.iter().any(|word| word == "--speed") {
        tests.fetch(repo, "cifar10")?;
    }
    Cmd::new(&tests.python)
        .args(["-B", benchmark])
        .args(rest.iter().cloned())
        .env("FEDFLIP_DATA", data_sets(repo))
        .run(repo)
}

/// Plans and simulates on every Python of this machine that numpy has a wheel for, with numpy and nothing else.
fn smoke(repo: &Repo, wheel: &Path) -> Result<(), TaskError> {
    for Interpreter { program, minor } in venv::interpreters(repo) {
        let name = format!("bare-3.{minor}");
        let Ok(numpy) = Kept::ensure(repo, &program, &name, BARE) else {
            println!("   Python 3.{minor} is left out: numpy cannot be installed there");
            continue;
        };
        let python = venv::fresh(repo, &name, wheel, &numpy, &[&numpy.python()])?;
        Cmd::new(python).args(["-B", "-W", "error", SMOKE]).run(repo)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_not_ours_are_for_pytest() {
        let words = ["--slow", "python/tests/test_cli.py", "-k", "pipe"].map(str::to_owned);
        let asked = parse(&words);
        assert_eq!(asked, Asked { beside: Beside::Nothing, slow: true, words: words[1..].to_vec() });
    }

    #[test]
    fn every_requirement_is_pinned_to_one_version() {
        let repo = Repo::here();
        let shared = [REQUIREMENTS, BARE, crate::golden::LEARN_REQUIREMENTS];
        // Large libraries have environments of their own: Flower asks for an older Ray than a cluster has.
        for extra in [FLOWER.requirements, CLUSTER.requirements] {
            let mut pins = std::collections::BTreeMap::new();
            for file in shared.into_iter().chain([extra]) {
                for line in repo.read(file).unwrap().lines() {
                    let (name, version) = line.split_once("==").unwrap_or_else(|| panic!("{file}: {line}"));
                    let other = pins.insert(name.to_owned(), version.to_owned());
                    assert!(other.is_none_or(|other| other == version), "{name} has two versions");
                }
            }
        }
        assert!(repo.path(SMOKE).is_file());
    }
}
