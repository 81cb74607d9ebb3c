//! `cargo xtask golden`: make the expected values of the tests anew, and run the tests that read them.
//!
//! The values come from independent tools (CVXPY for the planner, PyTorch for the kernels) and are
//! committed. The tests only read them, so that nobody needs Python to work on the project; this is
//! for the rare day when the cases themselves change.

use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::tools;

/// One generator with its requirements, and the tests that read what it writes.
#[derive(Debug)]
struct Suite {
    /// What users call it.
    name: &'static str,
    /// Holds `generate.py`, `requirements.txt` and the values.
    folder: &'static str,
    package: &'static str,
    /// The virtual environment of the generator.
    tool: &'static str,
    /// May name a Python that has the requirements already: PyTorch is gigabytes to install.
    python_variable: Option<&'static str>,
}

/// What the Python of [`python_with_torch`] has.
#[cfg(test)]
pub(crate) const LEARN_REQUIREMENTS: &str = "crates/learn/tests/golden/requirements.txt";

const SUITES: [Suite; 2] = [
    Suite {
        name: "plan",
        folder: "crates/plan/tests/golden",
        package: "fedflip-plan",
        tool: "golden",
        python_variable: None,
    },
    Suite {
        name: "learn",
        folder: "crates/learn/tests/golden",
        package: "fedflip-learn",
        tool: "golden-torch",
        python_variable: Some(tools::TORCH_PYTHON),
    },
];

/// A Python with PyTorch: the one that a variable names, or that of the golden values.
pub(crate) fn python_with_torch(repo: &Repo) -> Result<String, TaskError> {
    SUITES[1].python(repo)
}

/// Makes the named suites anew, or all of them.
pub(crate) fn run(repo: &Repo, names: &[String]) -> Result<(), TaskError> {
    if let Some(unknown) = names.iter().find(|name| SUITES.iter().all(|suite| suite.name != **name)) {
        let known = SUITES.map(|suite| suite.name).join(", ");
        return Err(TaskError::Usage(format!(
            "there are no golden values of `{unknown}`; there are those of {known}"
        )));
    }
    let chosen = |suite: &Suite| names.is_empty() || names.iter().any(|name| name == suite.name);
    for suite in SUITES.into_iter().filter(chosen) {
        let python = suite.python(repo)?;
        Cmd::new(python).arg("-B").arg(format!("{}/generate.py", suite.folder)).run(repo)?;
        Cmd::words("cargo test --locked --quiet --package").arg(suite.package).arg("--tests").run(repo)?;
        println!("   what changed: git diff --stat {}", suite.folder);
    }
    Ok(())
}

impl Suite {
    /// A Python with what the generator needs.
    fn python(&self, repo: &Repo) -> Result<String, TaskError> {
        if let Some(python) = self.python_variable.and_then(tools::variable) {
            return Ok(python);
        }
        tools::python_with(repo, self.tool, &format!("{}/requirements.txt", self.folder))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_has_a_generator_and_its_requirements() {
        let repo = Repo::here();
        for suite in SUITES {
            for file in ["generate.py", "requirements.txt"] {
                assert!(repo.path(suite.folder).join(file).is_file(), "{}/{file}", suite.folder);
            }
        }
    }
}
