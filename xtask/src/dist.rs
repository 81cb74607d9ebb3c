//! `cargo xtask dist`: all files of a release, for Linux on x86-64 and aarch64.
//!
//! `target/dist` gets the static programs by name and machine, as `deploy/` uses them. `target/dist/fedflip-VERSION`
//! gets what a release publishes: an archive per machine, the wheels, lists of what is built in, and checksums.

mod archive;
mod build;
mod check;
mod checksums;
mod documents;
pub(crate) mod elf;
mod images;
mod licences;
mod round;
mod sbom;

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::wheel;

use build::Zig;
pub(crate) use build::ensure_std;

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
const TARGETS: [&Target; 2] = [&X86_64, &AARCH64];

/// A program for a kind of machine.
struct Program {
    package: &'static str,
    name: &'static str,
    target: &'static Target,
}

const SERVER: Program = Program { package: "fedflip", name: "fedflip", target: &X86_64 };
const AGENT: Program = Program { package: "fedflip-agent", name: "fedflip-join", target: &X86_64 };
const ARM_SERVER: Program = Program { package: "fedflip", name: "fedflip", target: &AARCH64 };
const ARM_AGENT: Program = Program { package: "fedflip-agent", name: "fedflip-join", target: &AARCH64 };
const PROGRAMS: [&Program; 4] = [&SERVER, &AGENT, &ARM_SERVER, &ARM_AGENT];

impl Program {
    /// The path of the program, such as `target/dist/fedflip-join-aarch64`.
    fn path(&self, repo: &Repo) -> PathBuf {
        folder(repo).join(format!("{}-{}", self.name, self.target.arch))
    }

    fn runs_here(&self) -> bool {
        self.target.arch == std::env::consts::ARCH
    }
}

/// What the words after `dist` ask for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wanted {
    /// The static programs and nothing else.
    programs_only: bool,
    no_wheels: bool,
    check: bool,
    /// Machines by name; all of them where none is named.
    archs: Vec<String>,
}

impl Wanted {
    fn parse(args: &[String]) -> Result<Self, TaskError> {
        let mut wanted = Self::default();
        for arg in args {
            match arg.as_str() {
                "--programs" => wanted.programs_only = true,
                "--no-wheels" => wanted.no_wheels = true,
                "--check" => wanted.check = true,
                arch if TARGETS.iter().any(|target| target.arch == arch) => wanted.archs.push(arg.clone()),
                unknown => {
                    return Err(TaskError::Usage(format!(
                        "`dist` takes --programs, --no-wheels, --check, x86_64 and aarch64, but was given `{unknown}`"
                    )));
                }
            }
        }
        Ok(wanted)
    }

    fn has(&self, target: &Target) -> bool {
        self.archs.is_empty() || self.archs.iter().any(|arch| arch == target.arch)
    }

    fn targets(&self) -> impl Iterator<Item = &'static Target> {
        TARGETS.into_iter().filter(|target| self.has(target))
    }
}

/// Builds what was asked for; with `--check`, looks at all of it, lets the programs run, and makes images of them.
pub(crate) fn run(repo: &Repo, args: &[String]) -> Result<(), TaskError> {
    let wanted = Wanted::parse(args)?;
    let zig = Zig::ensure(repo)?;
    for program in PROGRAMS.into_iter().filter(|program| wanted.has(program.target)) {
        program.build(repo, &zig)?;
    }
    if !wanted.programs_only {
        release(repo, &wanted)?;
    }
    if wanted.check && wanted.targets().count() == TARGETS.len() {
        round::check(repo)?;
        images::check(repo)?;
    }
    Ok(())
}

/// The folder of a release, with everything in it.
fn release(repo: &Repo, wanted: &Wanted) -> Result<(), TaskError> {
    let release = Release::new(repo)?;
    wheel::empty(&release.folder)?;
    sbom::make(repo, &release, wanted)?;
    for target in wanted.targets() {
        archive::make(repo, &release, target)?;
    }
    if !wanted.no_wheels {
        wheel::run(repo, &wanted.archs)?;
        for target in wanted.targets() {
            let wheel = wheel::only_wheel(&repo.target().join("wheels").join(target.arch))?;
            copy(&wheel, &release.folder.join(wheel.file_name().unwrap_or_default()))?;
        }
    }
    checksums::make(repo, &release.folder)?;
    println!("   {} holds:", release.folder.display());
    for name in names_in(&release.folder)? {
        println!("     {name}");
    }
    if wanted.check { check::release(repo, &release, wanted) } else { Ok(()) }
}

/// What all files of a release share.
struct Release {
    version: String,
    /// The seconds of the commit: all that a file says of its time, so that equal sources give equal archives.
    commit_secs: String,
    folder: PathBuf,
}

impl Release {
    fn new(repo: &Repo) -> Result<Self, TaskError> {
        let version = version(repo)?;
        let commit_secs = commit_secs(repo)?;
        let folder = folder(repo).join(format!("fedflip-{version}"));
        Ok(Self { version, commit_secs, folder })
    }

    /// `fedflip-0.1.0-aarch64-unknown-linux-musl`: the folder in an archive, and the start of its name.
    fn stem(&self, target: &Target) -> String {
        format!("fedflip-{}-{}", self.version, target.rust)
    }
}

/// The version that all crates share.
pub(crate) fn version(repo: &Repo) -> Result<String, TaskError> {
    let manifest = repo.read("Cargo.toml")?;
    let line = manifest.lines().find_map(|line| line.strip_prefix("version = \""));
    let version = line.and_then(|rest| rest.strip_suffix('"'));
    version.map(str::to_owned).ok_or_else(|| TaskError::Answer("Cargo.toml has no version".to_owned()))
}

/// When the present commit was made, in seconds since 1970.
pub(crate) fn commit_secs(repo: &Repo) -> Result<String, TaskError> {
    Ok(Cmd::words("git log -1 --format=%ct").output(repo)?.trim().to_owned())
}

fn folder(repo: &Repo) -> PathBuf {
    repo.target().join("dist")
}

fn copy(from: &Path, to: &Path) -> Result<(), TaskError> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(|source| wheel::file_error(folder, source))?;
    }
    fs::copy(from, to).map(drop).map_err(|source| wheel::file_error(from, source))
}

fn write(path: &Path, text: &str) -> Result<(), TaskError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|source| wheel::file_error(folder, source))?;
    }
    fs::write(path, text).map_err(|source| wheel::file_error(path, source))
}

/// The names in a folder, in order.
fn names_in(folder: &Path) -> Result<Vec<String>, TaskError> {
    let entries = fs::read_dir(folder).map_err(|source| wheel::file_error(folder, source))?;
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(args: &[&str]) -> Result<Wanted, TaskError> {
        Wanted::parse(&args.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn machines_and_flags_are_told_apart_and_others_refused() {
        let one = wanted(&["--check", "aarch64"]).unwrap();
        assert!(one.check && one.has(&AARCH64) && !one.has(&X86_64));
        assert_eq!(wanted(&[]).unwrap().targets().count(), TARGETS.len());
        assert!(wanted(&["arm64"]).unwrap_err().to_string().contains("`arm64`"));
    }

    #[test]
    fn both_programs_are_made_for_every_machine() {
        for target in TARGETS {
            let names: Vec<&str> =
                PROGRAMS.iter().filter(|one| one.target.rust == target.rust).map(|one| one.name).collect();
            assert_eq!(names, ["fedflip", "fedflip-join"]);
        }
    }

    #[test]
    fn the_version_is_that_of_the_workspace() {
        let version = version(&Repo::here()).unwrap();
        assert_eq!(version, env!("CARGO_PKG_VERSION"));
    }
}
