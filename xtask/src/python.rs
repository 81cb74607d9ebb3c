//! The Python package as a user gets it: the wheel that `pip install .` builds, in an environment of its own, under
//! its tests. The steps `python` and `torch` of `cargo xtask test`, `cargo xtask python` and `cargo xtask bench-python`.
//!
//! Packages of the registry are installed once, below the tools folder. The environment with the wheel is made anew
//! each time and sees them.

mod extension;
mod extra;

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::TaskError;
use crate::golden;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::venv::{self, Interpreter, Kept};
use crate::wheel::{self, BARE};
use extension::{Build, build};
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
    tests.fetch_mnist(repo)?;
    tests.pytest(repo, false, &[])?;
    tests.doctests(repo)?;
    // Times mean nothing in a short run on a build for tests; the program itself must work.
    Cmd::new(&tests.python).args(["-B", OVERHEAD, "--quick", "--json"]).run(repo)
}

/// The steps `flower` and `cluster`: what needs a large library besides, in short form.
pub(crate) fn step_extra(repo: &Repo, extra: &'static Extra) -> Result<(), TaskError> {
    let tests = Tests::beside(repo, Beside::Extra(extra))?;
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
    Cmd::new(&tests.python)
        .args(["-B", benchmark])
        .args(rest.iter().cloned())
        .env("FEDFLIP_DATA", data_sets(repo))
        .run(repo)
}

/// What is installed beside the package and the tools of the tests.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Beside {
    #[default]
    Nothing,
    Torch,
    /// A large library, and PyTorch.
    Extra(&'static Extra),
}

/// An environment with the wheel, made anew.
struct Tests {
    python: String,
    wheel: PathBuf,
    beside: Beside,
    /// The programs of the large library, such as `mpirun`.
    programs: Option<PathBuf>,
    /// The environment variable of an attachment, and its path.
    attachment: Option<(&'static str, String)>,
}

impl Tests {
    fn beside(repo: &Repo, beside: Beside) -> Result<Self, TaskError> {
        Self::of(repo, beside, Build::ForTests)
    }

    /// PyTorch is gigabytes to install: the golden values and these tests share one.
    fn of(repo: &Repo, beside: Beside, how: Build) -> Result<Self, TaskError> {
        let torch = match beside {
            Beside::Nothing => None,
            Beside::Torch | Beside::Extra(_) => Some(golden::python_with_torch(repo)?),
        };
        let interpreter = match &torch {
            None => oldest(repo)?,
            Some(python) => venv::version_of(repo, python)?,
        };
        let tools = tools_for(repo, &interpreter)?;
        let extra = match beside {
            Beside::Extra(extra) => Some(extra.installed(repo, &interpreter)?),
            Beside::Nothing | Beside::Torch => None,
        };
        let programs = extra.as_ref().map(Kept::programs);
        let attachment = match beside {
            Beside::Extra(Extra { attachment: Some(attachment), .. }) => {
                Some((attachment.variable, attachment.downloaded(repo, &tools)?))
            }
            Beside::Extra(_) | Beside::Nothing | Beside::Torch => None,
        };
        let extra = extra.map(|kept| kept.python());
        let layers: Vec<String> = [tools.python()].into_iter().chain(extra).chain(torch).collect();
        let layers: Vec<&str> = layers.iter().map(String::as_str).collect();
        let wheel = build(repo, &tools, how)?;
        let name = match (beside, how) {
            (_, Build::Release) => "release",
            (Beside::Nothing, _) => "tests",
            (Beside::Torch, _) => "torch",
            (Beside::Extra(extra), _) => extra.name,
        };
        let python = venv::fresh(repo, name, &wheel, &tools, &layers)?;
        Ok(Self { python, wheel, beside, programs, attachment })
    }

    fn has_torch(&self) -> bool {
        self.beside != Beside::Nothing
    }

    /// The tests, or only those that the words choose. Without PyTorch, those that need it are left out or skip
    /// themselves; with it, only files that speak of it are run.
    fn pytest(&self, repo: &Repo, slow: bool, words: &[String]) -> Result<(), TaskError> {
        let marks = [(!self.has_torch(), "not torch"), (!slow, "not slow")];
        let marks: Vec<&str> = marks.iter().filter(|(holds, _)| *holds).map(|(_, mark)| *mark).collect();
        let files = match self.beside {
            _ if !words.is_empty() => Vec::new(),
            Beside::Nothing => Vec::new(),
            Beside::Torch => files_with_torch(repo)?,
            Beside::Extra(extra) => vec![extra.tests.to_owned()],
        };
        // Many tests wait for processes. A person who chooses some may want to see what they print, and engines of
        // other projects take the whole machine.
        let shares = words.is_empty() && !matches!(self.beside, Beside::Extra(_));
        let at_once: &[&str] = if shares { &["--numprocesses=2"] } else { &[] };
        let mut cmd = Cmd::new(&self.python)
            .args(["-B", "-m", "pytest", "--quiet", "--durations=5", TIMEOUT, "-p", "no:cacheprovider", "-m"])
            .arg(marks.join(" and "))
            .args(at_once.iter().copied())
            .args(words.iter().cloned().chain(files))
            .env("FEDFLIP_DATA", data_sets(repo));
        if let Some(programs) = &self.programs {
            cmd = cmd.with_programs_in(programs);
        }
        if let Some((variable, path)) = &self.attachment {
            cmd = cmd.env(variable, path);
        }
        cmd.run(repo)
    }

    /// MNIST, with which a model of PyTorch is compared with the native kernels. Only the first call uses the network.
    fn fetch_mnist(&self, repo: &Repo) -> Result<(), TaskError> {
        let words = ["-B", "-m", "fedflip", "data", "get", "mnist", "--data-dir"];
        Cmd::new(&self.python).args(words).arg(data_sets(repo)).run(repo)
    }

    /// The examples in docstrings of the installed package, in a folder where they may write.
    fn doctests(&self, repo: &Repo) -> Result<(), TaskError> {
        let folder = repo.target().join("python/examples");
        wheel::empty(&folder)?;
        let settings = repo.path("pyproject.toml").display().to_string();
        let mut cmd = Cmd::new(&self.python)
            .args(["-B", "-m", "pytest", "--quiet", TIMEOUT, "-p", "no:cacheprovider", "-c", &settings])
            .args(["--rootdir", ".", "--doctest-modules", "--pyargs"]);
        cmd = match self.beside {
            Beside::Extra(extra) => cmd.args(extra.modules.iter().copied()),
            Beside::Nothing | Beside::Torch => cmd.args(["--doctest-ignore-import-errors", "fedflip"]),
        };
        cmd.inside(&folder).run(repo)
    }

    /// The types of façade and examples. Where PyTorch is missing, its types are unknown, and mypy cannot know which
    /// remarks about them are needed.
    fn types(&self, repo: &Repo) -> Result<(), TaskError> {
        let cache = repo.target().join("python/mypy").display().to_string();
        let folders = ["python/fedflip", EXAMPLES].into_iter().filter(|folder| repo.path(folder).is_dir());
        let lenient = ["--no-warn-unused-ignores", "--no-warn-return-any", "--allow-subclassing-any"];
        Cmd::new(&self.python)
            .args(["-B", "-m", "mypy", "--strict", "--cache-dir", &cache])
            .args(lenient.into_iter().filter(|_| !self.has_torch()))
            .args(folders)
            .run(repo)
    }

    /// The stubs against the extension that the wheel holds.
    fn stubs(&self, repo: &Repo) -> Result<(), TaskError> {
        Cmd::new(&self.python)
            .args(["-B", "-m", "mypy.stubtest", "fedflip._fedflip", "--mypy-config-file"])
            .arg(repo.path("pyproject.toml").display().to_string())
            .run(repo)
    }
}

/// The folder of data sets that tests train on.
fn data_sets(repo: &Repo) -> String {
    repo.tools().join("data").display().to_string()
}

/// The files of tests that speak of PyTorch.
fn files_with_torch(repo: &Repo) -> Result<Vec<String>, TaskError> {
    let folder = repo.path(TESTS);
    let failed = |source| TaskError::File { path: folder.clone(), source };
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        let path = format!("{TESTS}/{name}");
        if name.starts_with("test_") && name.ends_with(".py") && repo.read(&path)?.contains("torch") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
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

/// The interpreter of the tests: what works on the oldest should work on later ones.
fn oldest(repo: &Repo) -> Result<Interpreter, TaskError> {
    venv::interpreters(repo).into_iter().next().ok_or_else(|| TaskError::Missing {
        what: "Python 3.11 or later".to_owned(),
        hint: "install it with its venv module, for example with `apt-get install python3 python3-venv`"
            .to_owned(),
    })
}

fn tools_for(repo: &Repo, interpreter: &Interpreter) -> Result<Kept, TaskError> {
    Kept::ensure(repo, &interpreter.program, &format!("python-3.{}", interpreter.minor), REQUIREMENTS)
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
    fn files_that_speak_of_torch_are_found() {
        let found = files_with_torch(&Repo::here()).unwrap();
        assert!(found.contains(&"python/tests/test_package.py".to_owned()), "{found:?}");
        assert!(!found.contains(&"python/tests/test_cli.py".to_owned()), "{found:?}");
    }

    #[test]
    fn every_requirement_is_pinned_to_one_version() {
        let repo = Repo::here();
        let shared = [REQUIREMENTS, BARE, golden::LEARN_REQUIREMENTS];
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
