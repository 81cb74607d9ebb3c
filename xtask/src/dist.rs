//! `cargo xtask dist`: static programs for Linux on x86-64 and aarch64, which need nothing of the machine that they
//! run on.
//!
//! The standard library comes from rustup. The C code in ring and SQLite is compiled by zig, which has the headers of
//! musl for every target and comes as one package of pip's; rustc's own linker links.

pub(crate) mod elf;
mod images;
mod round;

use std::fs;
use std::path::PathBuf;

use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::{Cmd, write_script};
use crate::tools;

const REQUIREMENTS: &str = "deploy/zig.txt";

/// A kind of machine.
struct Target {
    /// The name of it in the names of files.
    arch: &'static str,
    rust: &'static str,
    zig: &'static str,
    /// The number of it in the head of an executable.
    machine: u16,
}

const X86_64: Target =
    Target { arch: "x86_64", rust: "x86_64-unknown-linux-musl", zig: "x86_64-linux-musl", machine: 62 };
const AARCH64: Target =
    Target { arch: "aarch64", rust: "aarch64-unknown-linux-musl", zig: "aarch64-linux-musl", machine: 183 };

/// A program for a kind of machine.
struct Program {
    package: &'static str,
    name: &'static str,
    target: &'static Target,
}

const SERVER: Program = Program { package: "fedflip", name: "fedflip", target: &X86_64 };
const AGENT: Program = Program { package: "fedflip-agent", name: "fedflip-join", target: &X86_64 };
const ARM_AGENT: Program = Program { package: "fedflip-agent", name: "fedflip-join", target: &AARCH64 };

/// Builds all programs; with `--check`, the agents take part in a run, and images are made of all.
pub(crate) fn run(repo: &Repo, args: &[String]) -> Result<(), TaskError> {
    let check = match args {
        [] => false,
        [flag] if flag == "--check" => true,
        other => {
            let words = other.join(" ");
            return Err(TaskError::Usage(format!(
                "`dist` takes --check or nothing, but was given `{words}`"
            )));
        }
    };
    let zig = Zig::ensure(repo)?;
    for program in [&AGENT, &ARM_AGENT, &SERVER] {
        program.build(repo, &zig)?;
    }
    if check {
        round::check(repo)?;
        images::check(repo)?;
    }
    Ok(())
}

impl Program {
    /// The path of the program, such as `target/dist/fedflip-join-aarch64`.
    fn path(&self, repo: &Repo) -> PathBuf {
        repo.target().join("dist").join(format!("{}-{}", self.name, self.target.arch))
    }

    fn build(&self, repo: &Repo, zig: &Zig) -> Result<(), TaskError> {
        let Self { package, name, target } = self;
        ensure_std(repo, target.rust)?;
        let suffix = target.rust.replace('-', "_");
        Cmd::words("cargo build --locked --release --target")
            .args([target.rust, "--package", package, "--bin", name])
            .env(&format!("CC_{suffix}"), zig.compiler(repo, target)?)
            .env(&format!("AR_{suffix}"), zig.archiver(repo)?)
            .env(&format!("CARGO_TARGET_{}_LINKER", suffix.to_uppercase()), "rust-lld")
            .env("CARGO_PROFILE_RELEASE_STRIP", "symbols")
            .env("ZIG_GLOBAL_CACHE_DIR", repo.tools().join("zig/cache").display().to_string())
            .run(repo)?;
        let built = repo.target().join(target.rust).join("release").join(name);
        let path = self.path(repo);
        let folder = repo.target().join("dist");
        fs::create_dir_all(&folder).map_err(|source| TaskError::File { path: folder, source })?;
        fs::copy(&built, &path).map_err(|source| TaskError::File { path: built, source })?;
        let bytes = fs::read(&path).map_err(|source| TaskError::File { path: path.clone(), source })?;
        let shown = path.display();
        elf::check_static(&bytes, target.machine)
            .map_err(|problem| TaskError::Answer(format!("{shown}: {problem}")))?;
        println!("   {shown}: static, {:.1} MB", bytes.len() as f64 / 1e6);
        Ok(())
    }
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
struct Zig {
    python: String,
}

impl Zig {
    fn ensure(repo: &Repo) -> Result<Self, TaskError> {
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
}
