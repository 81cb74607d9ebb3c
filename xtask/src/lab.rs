//! Experiments and measurements are tasks of the crate `fedflip-lab`, which is compiled only when one is asked for.

use crate::error::TaskError;
use crate::programs;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::tools;

/// The tasks that are passed on as they are.
pub(crate) const TASKS: [&str; 6] = ["speed", "load", "band", "experiments", "bench-peers", "convert"];

/// The exit code for a measurement that this machine does not allow.
pub(crate) const SKIPPED: u8 = 77;

/// Passes a task on with its arguments, and adds nothing to what it prints, which may be JSON. The lab builds the
/// release binary of fedflip by itself.
pub(crate) fn run(repo: &Repo, task: &str, args: &[String]) -> Result<(), TaskError> {
    prepare(repo, task)?;
    finish(repo, &Cmd::words("cargo run --locked --release --package fedflip-lab --").arg(task).args(args))
}

/// A task of `cargo xtask test`, with the binaries that its tests are made with.
pub(crate) fn step(repo: &Repo, task: &str, args: &[&str]) -> Result<(), TaskError> {
    prepare(repo, task)?;
    let lab = programs::built(repo, "fedflip-lab")?;
    let folder = repo.target().join("debug").display().to_string();
    let cmd = Cmd::new(lab).args(["--built", &folder, task]).args(args.iter().copied());
    println!("   $ {cmd}");
    finish(repo, &cmd)
}

/// Network namespaces need a package of the system. Where it cannot be installed, the lab says so and skips.
fn prepare(repo: &Repo, task: &str) -> Result<(), TaskError> {
    if task == "band" && cfg!(target_os = "linux") && Cmd::words("ip -Version").output(repo).is_err() {
        tools::install_by_apt(repo, &["iproute2"])?;
    }
    Ok(())
}

/// The lab prints its own errors; only its exit code is passed on.
fn finish(repo: &Repo, cmd: &Cmd) -> Result<(), TaskError> {
    let ended = cmd.prepare(repo).status().map_err(|source| cmd.cannot_start(source))?;
    match ended.code() {
        Some(0) => Ok(()),
        code => Err(TaskError::Lab { code: code.and_then(|code| code.try_into().ok()).unwrap_or(1) }),
    }
}
