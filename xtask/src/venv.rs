//! Virtual environments of Python: those that are kept below the tools folder with packages of the registry, and
//! fresh ones below the target folder, which hold one wheel and see the packages of kept ones.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::tools;

/// The file in a kept environment that says what was installed into it.
const STAMP: &str = "installed.txt";

/// The first and the last minor version of Python 3 that is looked for.
const MINORS: std::ops::RangeInclusive<u32> = 11..=16;

/// An interpreter of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Interpreter {
    pub(crate) program: String,
    pub(crate) minor: u32,
}

/// An environment below the tools folder.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    folder: PathBuf,
}

impl Kept {
    /// Makes the environment and installs what a requirements file asks for. Only the first call uses the network;
    /// later ones see by the file that nothing has changed.
    pub(crate) fn ensure(
        repo: &Repo,
        interpreter: &str,
        name: &str,
        requirements: &str,
    ) -> Result<Self, TaskError> {
        let kept = Self { folder: repo.tools().join(name) };
        let wanted = repo.read(requirements)?;
        let stamp = kept.folder.join(STAMP);
        let works = kept.folder.join("bin/python").exists();
        if works && fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
            return Ok(kept);
        }
        if !works {
            Cmd::new(interpreter)
                .args(["-m", "venv", "--clear", &kept.folder.display().to_string()])
                .run(repo)?;
        }
        let quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        // Nothing is built from source: a version without a wheel is refused at once, not after minutes.
        let words = ["--only-binary", ":all:", "--requirement", requirements];
        Cmd::new(kept.python()).args(quiet).args(words).run(repo)?;
        fs::write(&stamp, wanted).map_err(|source| TaskError::File { path: stamp, source })?;
        Ok(kept)
    }

    pub(crate) fn python(&self) -> String {
        self.program("python")
    }

    /// The folder of the programs that packages installed.
    pub(crate) fn programs(&self) -> PathBuf {
        self.folder.join("bin")
    }

    /// A program that a package installed.
    pub(crate) fn program(&self, name: &str) -> String {
        self.programs().join(name).display().to_string()
    }
}

/// Makes an empty environment anew and installs a wheel into it, with no index to take anything else from: what the
/// wheel requires must be in one of the layers, which are other Pythons whose packages the environment sees.
pub(crate) fn fresh(
    repo: &Repo,
    name: &str,
    wheel: &Path,
    pip: &Kept,
    layers: &[&str],
) -> Result<String, TaskError> {
    let folder = repo.target().join("python").join(name);
    let shown = folder.display().to_string();
    Cmd::new(pip.python()).args(["-m", "venv", "--clear", "--without-pip", &shown]).run(repo)?;
    let python = folder.join("bin/python").display().to_string();
    let mut seen = String::new();
    for layer in layers {
        seen.push_str(&packages_of(repo, layer)?);
        seen.push('\n');
    }
    let path = PathBuf::from(packages_of(repo, &python)?).join("layers.pth");
    fs::write(&path, seen).map_err(|source| TaskError::File { path, source })?;
    Cmd::new(pip.python())
        .args(["-m", "pip", "--disable-pip-version-check", "--python", &python])
        .args(["install", "--quiet", "--no-index", &wheel.display().to_string()])
        .run(repo)?;
    Ok(python)
}

/// The folder where a Python has its packages.
fn packages_of(repo: &Repo, python: &str) -> Result<String, TaskError> {
    let code = "import sysconfig; print(sysconfig.get_path('purelib'))";
    Ok(Cmd::new(python).args(["-c", code]).output(repo)?.trim().to_owned())
}

/// Every Python that the package supports and this machine has, the oldest first, one of each minor version.
pub(crate) fn interpreters(repo: &Repo) -> Vec<Interpreter> {
    MINORS.filter_map(|minor| find(repo, minor)).collect()
}

fn find(repo: &Repo, minor: u32) -> Option<Interpreter> {
    let mut programs = vec!["python3".to_owned(), format!("python3.{minor}")];
    programs.extend(of_pyenv(minor));
    let program = programs.into_iter().find(|program| answers(repo, program, minor))?;
    Some(Interpreter { program, minor })
}

/// The Python that somebody named.
pub(crate) fn version_of(repo: &Repo, program: &str) -> Result<Interpreter, TaskError> {
    let found = MINORS.into_iter().find(|minor| answers(repo, program, *minor));
    let missing = || TaskError::Missing {
        what: format!("Python 3.{} or later", MINORS.start()),
        hint: format!("`{program}` does not run, or is another version"),
    };
    found.map(|minor| Interpreter { program: program.to_owned(), minor }).ok_or_else(missing)
}

/// Whether it runs, has the version, and has the lock that the stable ABI relies on.
fn answers(repo: &Repo, program: &str, minor: u32) -> bool {
    let code = "import sys, sysconfig, venv\n\
                print(sys.version_info[1], sysconfig.get_config_var('Py_GIL_DISABLED') or 0)";
    let asked = Cmd::new(program).args(["-c", code]);
    let answer = asked.prepare(repo).output().ok().filter(|output| output.status.success());
    answer.is_some_and(|output| String::from_utf8_lossy(&output.stdout).trim() == format!("{minor} 0"))
}

/// Versions that pyenv has installed are not on the path until somebody chooses them.
fn of_pyenv(minor: u32) -> Vec<String> {
    let home = || tools::variable("HOME").map(|home| format!("{home}/.pyenv"));
    let Some(root) = tools::variable("PYENV_ROOT").or_else(home) else { return Vec::new() };
    let versions = fs::read_dir(Path::new(&root).join("versions")).into_iter().flatten().flatten();
    let mut programs: Vec<String> = versions
        .map(|version| version.path().join(format!("bin/python3.{minor}")))
        .filter(|program| program.is_file())
        .map(|program| program.display().to_string())
        .collect();
    programs.sort();
    programs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_are_told_apart_by_what_they_answer() {
        let repo = Repo::here();
        assert!(!answers(&repo, "no-such-python-of-ours", 11));
        assert!(!answers(&repo, "true", 11));
        let found = interpreters(&repo);
        assert!(found.iter().all(|one| MINORS.contains(&one.minor)), "{found:?}");
        assert!(found.windows(2).all(|two| two[0].minor < two[1].minor), "{found:?}");
    }
}
