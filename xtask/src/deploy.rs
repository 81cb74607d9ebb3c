//! The step `deploy`: the units and the compose file in `deploy/`, read by the programs that they are written for.
//! What the files say about fedflip itself, options, settings and metrics, is checked by tests of the programs.

use std::fs;

use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::tools;

const UNITS: [&str; 2] = ["fedflip-serve.service", "fedflip-join.service"];

/// The highest exposure of a unit, in tenths, on systemd's scale from 0 to 100.
const EXPOSURE_MAX: &str = "20";

pub(crate) fn check(repo: &Repo) -> Result<(), TaskError> {
    check_units(repo)?;
    check_compose(repo)
}

fn check_units(repo: &Repo) -> Result<(), TaskError> {
    tools::ensure_by_apt(repo, "systemd-analyze", &["systemd"])?;
    let folder = repo.target().join("deploy");
    let failed = |source| TaskError::File { path: folder.clone(), source };
    fs::create_dir_all(&folder).map_err(failed)?;
    for unit in UNITS {
        // Its program is not installed here, and a unit without one is refused.
        let text = repo.read(&format!("deploy/{unit}"))?;
        let text: String = text
            .lines()
            .map(|line| match line.strip_prefix("ExecStart=") {
                Some(words) => format!("ExecStart=/bin/true {}\n", &words[words.find(' ').unwrap_or(0)..]),
                None => format!("{line}\n"),
            })
            .collect();
        let path = folder.join(unit);
        fs::write(&path, text).map_err(failed)?;
        let path = path.display().to_string();
        Cmd::words("systemd-analyze verify --man=no").arg(&path).run(repo)?;
        Cmd::words("systemd-analyze security --offline=true --no-pager --threshold")
            .args([EXPOSURE_MAX, &path])
            .output(repo)?;
    }
    Ok(())
}

/// Docker need not run for this.
fn check_compose(repo: &Repo) -> Result<(), TaskError> {
    let plugin = Cmd::words("docker compose");
    let is_old = Cmd::words("docker-compose --version").output(repo).is_ok();
    let compose = if !is_old && plugin.clone().arg("version").output(repo).is_ok() {
        plugin
    } else {
        tools::ensure_by_apt(repo, "docker-compose", &["docker-compose"])?;
        Cmd::new("docker-compose")
    };
    // The programs that images are built from; the folder must exist.
    let programs = repo.path("target/dist");
    fs::create_dir_all(&programs).map_err(|source| TaskError::File { path: programs, source })?;
    compose.args(["--file", "deploy/compose.yaml", "config", "--quiet"]).run(repo)
}
