//! `cargo xtask golden`: make the expected values of the planner's tests anew.
//!
//! The values come from CVXPY, an independent modelling tool, and are committed. The tests only
//! read them, so that nobody needs Python to work on the project; this is for the rare day when
//! the cases themselves change.

use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;

const GENERATOR: &str = "crates/plan/tests/golden/generate.py";
const REQUIREMENTS: &str = "crates/plan/tests/golden/requirements.txt";

pub(crate) fn run(repo: &Repo) -> Result<(), TaskError> {
    let venv = repo.tools().join("golden");
    let python = venv.join("bin/python").display().to_string();
    if !venv.join("bin/python").exists() {
        Cmd::words("python3 -m venv").arg(venv.display().to_string()).run(repo)?;
    }
    Cmd::new(&python)
        .args(["-m", "pip", "install", "--quiet", "--requirement"])
        .arg(REQUIREMENTS)
        .run(repo)?;
    Cmd::new(&python).arg(GENERATOR).run(repo)?;
    println!("   what changed: git diff --stat crates/plan/tests/golden");
    Ok(())
}
