//! The planner in WebAssembly, which the page `docs/planner.md` of the documentation embeds.
//!
//! `cargo rustc` makes the module, and nothing else is installed: `crates/planner-web` has three functions for the page instead
//! of generated bindings. The hook `docs/hooks/planner.py` puts the module into the site and holds it to its size.

use std::path::PathBuf;

use crate::dist;
use crate::error::TaskError;
use crate::repo::{Repo, on_ci};
use crate::shell::Cmd;

const TARGET: &str = "wasm32-unknown-unknown";
/// The profile in the workspace's manifest, and the folder that cargo calls by it.
const PROFILE: &str = "web";
/// The environment variable that names the module to hooks and tests.
pub(crate) const MODULE: &str = "FEDFLIP_PLANNER";

/// `cargo xtask planner`: builds the module and says where it is.
pub(crate) fn run(repo: &Repo) -> Result<(), TaskError> {
    dist::ensure_std(repo, TARGET)?;
    let path = build(repo)?;
    println!("   {}", path.display());
    Ok(())
}

/// The module, or none with a message where this machine cannot have the standard library of the target. On CI a missing
/// library is an error.
pub(crate) fn for_pages(repo: &Repo) -> Result<Option<PathBuf>, TaskError> {
    match dist::ensure_std(repo, TARGET) {
        Ok(()) => build(repo).map(Some),
        Err(error) if on_ci() => Err(error),
        Err(error) => {
            println!("   {error}");
            println!(
                "   the planner page is left out: it needs Rust's {TARGET} (`rustup target add {TARGET}`)"
            );
            Ok(None)
        }
    }
}

fn build(repo: &Repo) -> Result<PathBuf, TaskError> {
    Cmd::words(
        "cargo rustc --locked --quiet --package fedflip-planner-web --lib --crate-type cdylib --target",
    )
    .args([TARGET, "--profile", PROFILE])
    .run(repo)?;
    Ok(repo.target().join(TARGET).join(PROFILE).join("fedflip_planner_web.wasm"))
}
