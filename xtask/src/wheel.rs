//! `cargo xtask wheel`: wheels of the Python package for Linux on x86-64 and aarch64, against an old glibc.
//!
//! maturin builds them with zig as compiler of C and as linker, because zig has the symbols of every glibc for every
//! target. One wheel serves Python 3.11 and later, by the stable ABI.

mod contents;

use std::fs;
use std::path::{Path, PathBuf};

use crate::dist::{self, elf, ensure_std};
use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::venv::{self, Kept};

const REQUIREMENTS: &str = "python/tests/requirements-wheel.txt";
/// All that a user needs beside the wheel.
pub(crate) const BARE: &str = "python/tests/requirements-bare.txt";
/// The second number of the oldest glibc 2 that the wheels run on.
const GLIBC: u32 = 17;
const BYTES_MAX: u64 = 15_000_000;

/// A kind of machine.
struct Target {
    /// The name of it in the name of a wheel.
    arch: &'static str,
    rust: &'static str,
    /// The number of it in the head of a library.
    machine: u16,
}

const TARGETS: [Target; 2] = [
    Target { arch: "x86_64", rust: "x86_64-unknown-linux-gnu", machine: 62 },
    Target { arch: "aarch64", rust: "aarch64-unknown-linux-gnu", machine: 183 },
];

/// Builds the wheels, looks into each, and imports that of this machine.
pub(crate) fn run(repo: &Repo, args: &[String]) -> Result<(), TaskError> {
    let targets = select(args)?;
    let tools = Kept::ensure(repo, "python3", "wheel", REQUIREMENTS)?;
    for target in targets {
        let wheel = target.build(repo, &tools)?;
        target.check(repo, &tools, &wheel)?;
        if target.arch == std::env::consts::ARCH {
            import(repo, &wheel)?;
        }
    }
    Ok(())
}

fn select(args: &[String]) -> Result<Vec<&'static Target>, TaskError> {
    let known = |arg: &String| TARGETS.iter().any(|target| target.arch == arg);
    if let Some(unknown) = args.iter().find(|arg| !known(arg)) {
        let names = TARGETS.map(|target| target.arch).join(" and ");
        return Err(TaskError::Usage(format!(
            "there is no wheel for `{unknown}`; there are those for {names}"
        )));
    }
    Ok(TARGETS.iter().filter(|target| args.is_empty() || args.iter().any(|arg| arg == target.arch)).collect())
}

impl Target {
    /// `target/wheels/x86_64`, which holds nothing but the one wheel.
    fn folder(&self, repo: &Repo) -> PathBuf {
        repo.target().join("wheels").join(self.arch)
    }

    fn build(&self, repo: &Repo, tools: &Kept) -> Result<PathBuf, TaskError> {
        ensure_std(repo, self.rust)?;
        let folder = self.folder(repo);
        empty(&folder)?;
        Cmd::new(tools.program("maturin"))
            .args(["build", "--release", "--locked", "--zig", "--target", self.rust])
            .env("SOURCE_DATE_EPOCH", dist::commit_secs(repo)?)
            .args(["--compatibility", &format!("manylinux_2_{GLIBC}")])
            .args(["--out", &folder.display().to_string()])
            .with_programs_in(&tools.programs())
            .env("ZIG_GLOBAL_CACHE_DIR", repo.tools().join("zig/cache").display().to_string())
            .run(repo)?;
        only_wheel(&folder)
    }

    /// Looks at the name, the size, the files and the library of a wheel.
    fn check(&self, repo: &Repo, tools: &Kept, wheel: &Path) -> Result<(), TaskError> {
        let refused = |problem: String| TaskError::Answer(format!("{}: {problem}", wheel.display()));
        let name = wheel.file_name().unwrap_or_default().to_string_lossy().into_owned();
        contents::check_name(&name, self.arch, GLIBC).map_err(refused)?;
        let bytes = fs::metadata(wheel).map_err(|source| file_error(wheel, source))?.len();
        if bytes >= BYTES_MAX {
            return Err(refused(format!("{bytes} bytes, but must be below {BYTES_MAX}")));
        }
        let folder = self.folder(repo).join("unpacked");
        Cmd::new(tools.python())
            .args(["-m", "zipfile", "-e", &wheel.display().to_string(), &folder.display().to_string()])
            .run(repo)?;
        let sources = contents::files_below(&repo.path("python"), "fedflip")?;
        let files = contents::files_below(&folder, "")?;
        contents::check_files(&files, &sources).map_err(refused)?;
        let library = folder.join(contents::LIBRARY);
        let code = fs::read(&library).map_err(|source| file_error(&library, source))?;
        elf::check_machine(&code, self.machine).map_err(refused)?;
        let glibc = elf::glibc_needed(&code);
        if glibc > GLIBC {
            return Err(refused(format!("needs glibc 2.{glibc}, but should run on 2.{GLIBC}")));
        }
        println!(
            "   {name}: {:.1} MB, {} files, library of {:.1} MB that needs glibc 2.{glibc}",
            bytes as f64 / 1e6,
            files.len(),
            code.len() as f64 / 1e6
        );
        fs::remove_dir_all(&folder).map_err(|source| file_error(&folder, source))
    }
}

/// Installs a wheel beside numpy and nothing else, and uses it.
fn import(repo: &Repo, wheel: &Path) -> Result<(), TaskError> {
    for interpreter in venv::interpreters(repo) {
        let name = format!("bare-3.{}", interpreter.minor);
        let numpy = Kept::ensure(repo, &interpreter.program, &name, BARE)?;
        let python = venv::fresh(repo, &name, wheel, &numpy, &[&numpy.python()])?;
        Cmd::new(&python).args(["-m", "fedflip", "--version"]).run(repo)?;
        Cmd::new(&python).args(["-c", "import fedflip; print(fedflip.__version__)"]).run(repo)?;
    }
    Ok(())
}

/// The one wheel in a folder.
pub(crate) fn only_wheel(folder: &Path) -> Result<PathBuf, TaskError> {
    let entries = fs::read_dir(folder).map_err(|source| file_error(folder, source))?;
    let is_wheel = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "whl");
    let mut wheels = entries.flatten().map(|entry| entry.path()).filter(is_wheel);
    match (wheels.next(), wheels.next()) {
        (Some(wheel), None) => Ok(wheel),
        _ => Err(TaskError::Answer(format!("{} should hold one wheel", folder.display()))),
    }
}

/// A folder with nothing in it.
pub(crate) fn empty(folder: &Path) -> Result<(), TaskError> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|source| file_error(folder, source))?;
    }
    fs::create_dir_all(folder).map_err(|source| file_error(folder, source))
}

pub(crate) fn file_error(path: &Path, source: std::io::Error) -> TaskError {
    TaskError::File { path: path.to_path_buf(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_machine_is_refused_with_those_that_are_known() {
        assert_eq!(select(&[]).unwrap().len(), TARGETS.len());
        assert_eq!(select(&["aarch64".to_owned()]).unwrap()[0].machine, 183);
        let refused = select(&["arm64".to_owned()]).err().unwrap().to_string();
        assert!(refused.contains("`arm64`") && refused.contains("aarch64"), "{refused}");
    }

    #[test]
    fn the_builders_are_pinned() {
        let requirements = Repo::here().read(REQUIREMENTS).unwrap();
        assert!(requirements.lines().all(|line| line.contains("==")), "{requirements}");
        assert!(requirements.contains("maturin==") && requirements.contains("ziglang=="));
    }
}
