//! Static programs, which need nothing of the machine that they run on.
//!
//! The standard library comes from rustup. The C code in ring and SQLite is compiled by zig, which has the headers of
//! musl for every target and comes as one package of pip's; rustc's own linker links.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Program, Target, copy, elf};
use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::{Cmd, write_script};
use crate::tools;
use crate::wheel::file_error;

const REQUIREMENTS: &str = "deploy/zig.txt";

impl Program {
    pub(super) fn build(&self, repo: &Repo, zig: &Zig) -> Result<(), TaskError> {
        let Self { package, name, target } = self;
        ensure_std(repo, target.rust)?;
        let suffix = target.rust.replace('-', "_");
        Cmd::words("cargo build --locked --release --target")
            .args([target.rust, "--package", package, "--bin", name])
            .args(["--config", &without_paths(repo, target)])
            .env(&format!("CC_{suffix}"), zig.compiler(repo, target)?)
            .env(&format!("AR_{suffix}"), zig.archiver(repo)?)
            .env(&format!("CARGO_TARGET_{}_LINKER", suffix.to_uppercase()), "rust-lld")
            .env("CARGO_PROFILE_RELEASE_STRIP", "symbols")
            .env("ZIG_GLOBAL_CACHE_DIR", repo.tools().join("zig/cache").display().to_string())
            .run(repo)?;
        let built = repo.target().join(target.rust).join("release").join(name);
        let path = self.path(repo);
        copy(&built, &path)?;
        let bytes = fs::read(&path).map_err(|source| file_error(&path, source))?;
        let shown = path.display();
        elf::check_static(&bytes, target.machine)
            .map_err(|problem| TaskError::Answer(format!("{shown}: {problem}")))?;
        println!("   {shown}: static, {:.1} MB", bytes.len() as f64 / 1e6);
        Ok(())
    }
}

/// A setting that keeps the folders of this machine out of a program: panics name source files, and equal sources
/// should give equal programs wherever they are built.
fn without_paths(repo: &Repo, target: &Target) -> String {
    let remapped = |folder: &Path, name: &str| format!("'--remap-path-prefix={}={name}'", folder.display());
    let (home, root) = (remapped(&cargo_home(), "/cargo"), remapped(repo.root(), "/fedflip"));
    format!("target.{}.rustflags=[{home}, {root}]", target.rust)
}

/// Where cargo keeps the sources of other people's crates.
pub(super) fn cargo_home() -> PathBuf {
    let default = || env::home_dir().unwrap_or_default().join(".cargo");
    env::var_os("CARGO_HOME").map_or_else(default, PathBuf::from)
}

/// The standard library of a target.
pub(crate) fn ensure_std(repo: &Repo, target: &str) -> Result<(), TaskError> {
    let installed =
        Cmd::words("rustup target list --installed").output(repo).map_err(|_| TaskError::Missing {
            what: "rustup".to_owned(),
            hint: format!(
                "install the toolchain with rustup, or its standard library for {target} otherwise"
            ),
        })?;
    if installed.lines().any(|line| line.trim() == target) {
        return Ok(());
    }
    Cmd::words("rustup target add").arg(target).run(repo)
}

/// Zig as a compiler of C, in a virtual environment of Python's.
pub(super) struct Zig {
    python: String,
}

impl Zig {
    pub(super) fn ensure(repo: &Repo) -> Result<Self, TaskError> {
        Ok(Self { python: tools::python_with(repo, "zig", REQUIREMENTS)? })
    }

    /// A program that cc-rs takes for a compiler. It drops the target that cc-rs names, which zig calls otherwise.
    fn compiler(&self, repo: &Repo, target: &Target) -> Result<String, TaskError> {
        let script = format!(
            "#!/bin/sh\nfor word do\n  shift\n  case $word in --target=*) ;; *) set -- \"$@\" \"$word\" ;; esac\ndone\n\
             exec '{}' -m ziglang cc -target {} \"$@\"\n",
            self.python, target.zig
        );
        write_script(&repo.tools().join("zig").join(format!("cc-{}", target.arch)), &script)
    }

    fn archiver(&self, repo: &Repo) -> Result<String, TaskError> {
        let script = format!("#!/bin/sh\nexec '{}' -m ziglang ar \"$@\"\n", self.python);
        write_script(&repo.tools().join("zig/ar"), &script)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zig_is_pinned() {
        assert!(Repo::here().read(REQUIREMENTS).unwrap().starts_with("ziglang=="));
    }

    #[test]
    fn programs_do_not_name_the_folders_of_this_machine() {
        let repo = Repo::here();
        let setting = without_paths(&repo, super::super::TARGETS[0]);
        assert!(setting.contains(&format!("'--remap-path-prefix={}=/fedflip'", repo.root().display())));
    }
}
