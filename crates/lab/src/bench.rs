//! Where things are, and the programs that are measured.

use std::env::consts::EXE_SUFFIX;
use std::env::var_os;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::LabError;
use crate::process;

/// The work tree, and where its programs are built.
#[derive(Debug, Clone)]
pub(crate) struct Bench {
    root: PathBuf,
    /// Programs that are there already; without it the release programs are built first.
    built: Option<PathBuf>,
}

impl Bench {
    /// The work tree that this program was built from, whatever folder it is called from.
    pub(crate) fn new(built: Option<PathBuf>) -> Self {
        let lab = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self { root: lab.ancestors().nth(2).unwrap_or(lab).to_path_buf(), built }
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// Where cargo builds, and where measurements keep their files.
    pub(crate) fn target(&self) -> PathBuf {
        let chosen = var_os("CARGO_TARGET_DIR").filter(|folder| !folder.is_empty());
        self.root.join(chosen.unwrap_or_else(|| "target".into()))
    }

    /// A folder of this process alone.
    pub(crate) fn scratch(&self, name: &str) -> PathBuf {
        self.target().join(format!("{name}-{}", std::process::id()))
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        process::command(&self.root, program)
    }

    /// The words of a line that needs no quoting.
    pub(crate) fn line(&self, line: &str) -> Command {
        let mut words = line.split_whitespace();
        let mut command = self.command(words.next().unwrap_or_default());
        command.args(words);
        command
    }

    /// Builds the release binary of fedflip, and nothing else but what `also` names; all in one go, because apart,
    /// shared dependencies would be built twice.
    pub(crate) fn build(&self, also: &[&str]) -> Result<(), LabError> {
        if self.built.is_some() {
            return Ok(());
        }
        let mut build = self.line("cargo build --locked --release --package fedflip --bin fedflip");
        build.args(also);
        // Not to the standard output, which may be JSON.
        eprintln!("   $ {}", process::shown(&build));
        process::output(&mut build).map(drop)
    }

    /// The path of a built program.
    pub(crate) fn program(&self, name: &str) -> String {
        let release = || self.target().join("release");
        let folder = self.built.as_ref().map_or_else(release, |built| self.root.join(built));
        folder.join(format!("{name}{EXE_SUFFIX}")).display().to_string()
    }

    pub(crate) fn fedflip(&self) -> Command {
        self.command(&self.program("fedflip"))
    }
}
