//! The step `readers`: what fedflip writes, read by TensorBoard, pandas, DuckDB and safetensors themselves, and
//! what it shows, as a terminal gets it.

use crate::error::TaskError;
use crate::programs;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::tools;

const SCRIPTS: [&str; 2] = ["tests/readers/check.py", "tests/readers/terminal.py"];
const REQUIREMENTS: &str = "tests/readers/requirements.txt";

/// A Python that has the readers, at their pinned versions.
pub(crate) fn python(repo: &Repo) -> Result<String, TaskError> {
    tools::python_with(repo, "readers", REQUIREMENTS)
}

/// Runs the binary that the tests have built, and compares every value that the readers see.
pub(crate) fn check(repo: &Repo, python: &str) -> Result<(), TaskError> {
    // How to cite fedflip, as citation managers and code hosts read it.
    let citation = "from cffconvert.cli.cli import cli; cli()";
    Cmd::new(python).args(["-B", "-c", citation, "--validate", "-i", "CITATION.cff"]).run(repo)?;
    let program = programs::built(repo, "fedflip")?;
    SCRIPTS.iter().try_for_each(|script| Cmd::new(python).args(["-B", script, &program]).run(repo))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scripts_are_there_and_every_requirement_is_pinned() {
        let repo = Repo::here();
        assert!(SCRIPTS.iter().all(|script| repo.path(script).is_file()));
        let text = repo.read(REQUIREMENTS).unwrap();
        let requirements: Vec<&str> = text.lines().filter(|line| !line.starts_with("--")).collect();
        let pinned = |line: &str| line.split_once("==").is_some_and(|(_, version)| version.contains('.'));
        assert!(requirements.len() > 3 && requirements.into_iter().all(pinned), "{text}");
    }
}
