//! The environments of the Python tests: the wheel, what lies beside it, and the programs that check it there.

use std::fs;
use std::path::PathBuf;

use super::extension::{Build, build};
use super::extra::Extra;
use super::{EXAMPLES, REQUIREMENTS, TESTS, TIMEOUT};
use crate::error::TaskError;
use crate::golden;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::venv::{self, Interpreter, Kept};
use crate::wheel;

/// What is installed beside the package and the tools of the tests.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    #[default]
    Nothing,
    Torch,
    /// A large library, and PyTorch.
    Extra(&'static Extra),
}

/// An environment with the wheel, made anew.
pub(super) struct Tests {
    pub(super) python: String,
    pub(super) wheel: PathBuf,
    beside: Beside,
    /// The programs of the large library, such as `mpirun`.
    programs: Option<PathBuf>,
    /// The environment variable of an attachment, and its path.
    attachment: Option<(&'static str, String)>,
}

impl Tests {
    pub(super) fn beside(repo: &Repo, beside: Beside) -> Result<Self, TaskError> {
        Self::of(repo, beside, Build::ForTests)
    }

    /// PyTorch is gigabytes to install: the golden values and these tests share one.
    pub(super) fn of(repo: &Repo, beside: Beside, how: Build) -> Result<Self, TaskError> {
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
    pub(super) fn pytest(&self, repo: &Repo, slow: bool, words: &[String]) -> Result<(), TaskError> {
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

    /// Gets a data set that tests or benchmarks train on. Only the first call uses the network.
    pub(super) fn fetch(&self, repo: &Repo, data_set: &str) -> Result<(), TaskError> {
        let words = ["-B", "-m", "fedflip", "data", "get", data_set, "--data-dir"];
        Cmd::new(&self.python).args(words).arg(data_sets(repo)).run(repo)
    }

    /// The examples in docstrings of the installed package, in a folder where they may write.
    pub(super) fn doctests(&self, repo: &Repo) -> Result<(), TaskError> {
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
    pub(super) fn types(&self, repo: &Repo) -> Result<(), TaskError> {
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
    pub(super) fn stubs(&self, repo: &Repo) -> Result<(), TaskError> {
        Cmd::new(&self.python)
            .args(["-B", "-m", "mypy.stubtest", "fedflip._fedflip", "--mypy-config-file"])
            .arg(repo.path("pyproject.toml").display().to_string())
            .run(repo)
    }
}

/// The folder of data sets that tests train on.
pub(super) fn data_sets(repo: &Repo) -> String {
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

/// The interpreter of the tests: what works on the oldest should work on later ones.
pub(super) fn oldest(repo: &Repo) -> Result<Interpreter, TaskError> {
    venv::interpreters(repo).into_iter().next().ok_or_else(|| TaskError::Missing {
        what: "Python 3.11 or later".to_owned(),
        hint: "install it with its venv module, for example with `apt-get install python3 python3-venv`"
            .to_owned(),
    })
}

pub(super) fn tools_for(repo: &Repo, interpreter: &Interpreter) -> Result<Kept, TaskError> {
    Kept::ensure(repo, &interpreter.program, &format!("python-3.{}", interpreter.minor), REQUIREMENTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_speak_of_torch_are_found() {
        let found = files_with_torch(&Repo::here()).unwrap();
        assert!(found.contains(&"python/tests/test_package.py".to_owned()), "{found:?}");
        assert!(!found.contains(&"python/tests/test_cli.py".to_owned()), "{found:?}");
    }
}
