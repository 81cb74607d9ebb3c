//! The tools that the tasks need beyond the toolchain: one table of versions, and installing.
//!
//! A tool already on the path in a fitting version is used as it is; else the pinned version is
//! built into `.tools`, so that only the first run pays.

use std::env;
use std::fmt;

use crate::browser;
use crate::clock::Stopwatch;
use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::venv::Kept;

/// A program that cargo can install; package and program share the name.
#[derive(Debug)]
pub(crate) struct Tool {
    package: &'static str,
    pin: Pin,
    /// Further words for `cargo install`.
    options: &'static [&'static str],
    /// What the program must hear before `--version`.
    before_version: &'static [&'static str],
}

/// Which versions of a tool will do.
#[derive(Debug)]
enum Pin {
    /// This version, or a later one that semantic versioning calls compatible.
    Compatible(Version),
    /// Exactly the version that `Cargo.lock` has of this crate: the two speak a private protocol.
    Locked(&'static str),
}

/// Runs the tests, each in its own process, with a time limit.
pub(crate) const NEXTEST: Tool = Tool {
    package: "cargo-nextest",
    pin: Pin::Compatible(Version(0, 9, 143)),
    // Leaves out what updates the program by itself, which a pinned one must not do.
    options: &["--no-default-features"],
    before_version: &[],
};

/// Checks licences, banned crates and sources.
pub(crate) const DENY: Tool = Tool {
    package: "cargo-deny",
    pin: Pin::Compatible(Version(0, 20, 2)),
    options: &[],
    before_version: &[],
};

/// Lists what is built into a program, in the form CycloneDX.
pub(crate) const CYCLONEDX: Tool = Tool {
    package: "cargo-cyclonedx",
    pin: Pin::Compatible(Version(0, 5, 9)),
    options: &[],
    before_version: &["cyclonedx"],
};

/// Drives valgrind for the instruction counts.
pub(crate) const GUNGRAUN: Tool =
    Tool { package: "gungraun-runner", pin: Pin::Locked("gungraun"), options: &[], before_version: &[] };

/// The environment variable that names a Python in which PyTorch can be imported.
pub(crate) const TORCH_PYTHON: &str = "FEDFLIP_TORCH_PYTHON";

/// The value of an environment variable, if it is set to something.
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// A Python of our own, in a virtual environment below `.tools`, with what a requirements file asks for.
pub(crate) fn python_with(repo: &Repo, name: &str, requirements: &str) -> Result<String, TaskError> {
    Kept::ensure(repo, "python3", name, requirements).map(|kept| kept.python())
}

/// Installs whatever any task may need.
pub(crate) fn ensure_all(repo: &Repo) -> Result<(), TaskError> {
    for tool in [&NEXTEST, &DENY, &GUNGRAUN] {
        ensure(repo, tool)?;
    }
    ensure_valgrind(repo)?;
    browser::ensure(repo).map(drop)
}

/// Makes sure that the tool is there in a version that will do.
pub(crate) fn ensure(repo: &Repo, tool: &Tool) -> Result<(), TaskError> {
    if is_here(repo, tool)? {
        return Ok(());
    }
    let wanted = tool.wanted(repo)?;
    let watch = Stopwatch::start();
    install_command(repo, tool, wanted).run(repo)?;
    println!("   {} {wanted} installed in {:.0} s", tool.package, watch.secs());
    Ok(())
}

/// Whether it is there in a version that will do.
pub(crate) fn is_here(repo: &Repo, tool: &Tool) -> Result<bool, TaskError> {
    let wanted = tool.wanted(repo)?;
    let Some(found) = installed_version(repo, tool) else { return Ok(false) };
    let fits = match tool.pin {
        Pin::Compatible(_) => found.satisfies(wanted),
        Pin::Locked(_) => found == wanted,
    };
    let but = if fits { String::new() } else { format!(", but {wanted} is needed") };
    println!("   {} {found} is here{but}", tool.package);
    Ok(fits)
}

impl Tool {
    fn wanted(&self, repo: &Repo) -> Result<Version, TaskError> {
        match self.pin {
            Pin::Compatible(version) => Ok(version),
            Pin::Locked(crate_name) => locked_version(&repo.read("Cargo.lock")?, crate_name),
        }
    }
}

fn install_command(repo: &Repo, tool: &Tool, version: Version) -> Cmd {
    let root = repo.tools().display().to_string();
    // Their release profiles ask for all the optimisation there is. These tools wait for other
    // programs, so that buys nothing here and would more than double the time of the install.
    Cmd::words("cargo install --quiet --locked --force --root")
        .arg(root)
        .args(tool.options.iter().copied())
        .arg(format!("{}@{version}", tool.package))
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "false")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
}

/// The version that a program on the children's path gives of itself.
fn installed_version(repo: &Repo, tool: &Tool) -> Option<Version> {
    let words = tool.before_version.iter().copied().chain(["--version"]);
    let output = Cmd::new(tool.package).args(words).prepare(repo).output().ok()?;
    String::from_utf8_lossy(&output.stdout).split_whitespace().find_map(Version::parse)
}

/// Valgrind is a system package.
pub(crate) fn ensure_valgrind(repo: &Repo) -> Result<(), TaskError> {
    ensure_by_apt(repo, "valgrind", &["valgrind", "libc6-dbg"])
}

/// Makes sure of a program of the system: installed where this runs as root on a Debian, else asked for.
pub(crate) fn ensure_by_apt(repo: &Repo, program: &str, packages: &[&str]) -> Result<(), TaskError> {
    let there = || {
        let version = Cmd::new(program).arg("--version").output(repo);
        version.map(|text| println!("   {} is here", text.lines().next().unwrap_or(program))).is_ok()
    };
    if there() {
        return Ok(());
    }
    install_by_apt(repo, packages)?;
    let missing = || TaskError::Missing {
        what: program.to_owned(),
        hint: format!(
            "install it with the system's package manager, for example `apt-get install {}`",
            packages.join(" ")
        ),
    };
    there().then_some(()).ok_or_else(missing)
}

/// Installs packages of the system where this runs as root on a Debian; elsewhere it does nothing.
pub(crate) fn install_by_apt(repo: &Repo, packages: &[&str]) -> Result<(), TaskError> {
    let root = Cmd::words("id -u").output(repo).is_ok_and(|id| id.trim() == "0");
    if !root || Cmd::words("apt-get --version").output(repo).is_err() {
        return Ok(());
    }
    Cmd::words("apt-get update --quiet").run(repo)?;
    Cmd::words("apt-get install --quiet --yes --no-install-recommends")
        .args(packages.iter().copied())
        .env("DEBIAN_FRONTEND", "noninteractive")
        .run(repo)
}

/// Three numbers; anything after them does not matter to any pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(u64, u64, u64);

impl Version {
    fn parse(text: &str) -> Option<Self> {
        let core = text.split(['-', '+']).next()?;
        let mut numbers = core.split('.').map(str::parse::<u64>);
        let version = Self(numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?);
        numbers.next().is_none().then_some(version)
    }

    /// Cargo's caret rule: not older, and the leftmost number that is not zero is the same.
    fn satisfies(self, wanted: Self) -> bool {
        let same_series = match wanted {
            Self(0, 0, _) => self == wanted,
            Self(0, minor, _) => self.0 == 0 && self.1 == minor,
            Self(major, ..) => self.0 == major,
        };
        same_series && self >= wanted
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// The version of a crate in the text of a `Cargo.lock`.
fn locked_version(lock: &str, crate_name: &str) -> Result<Version, TaskError> {
    let name_line = format!("name = \"{crate_name}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name_line).skip(1);
    lines
        .next()
        .and_then(|line| line.strip_prefix("version = \"")?.strip_suffix('"'))
        .and_then(Version::parse)
        .ok_or_else(|| TaskError::Missing {
            what: format!("`{crate_name}` in Cargo.lock"),
            hint: "its version decides which tool to install; \
                   run `cargo generate-lockfile` if the file is damaged"
                .to_owned(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_tools_print() {
        assert_eq!(Version::parse("0.9.143"), Some(Version(0, 9, 143)));
        assert_eq!(
            Version::parse("1.1.8+spec-1.1.0"),
            Some(Version(1, 1, 8)),
            "build metadata is no part of the number"
        );
        for nonsense in ["cargo-deny", "1.2", "1.2.3.4", "(60fa45f63", ""] {
            assert_eq!(Version::parse(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn a_later_compatible_version_will_do_and_others_will_not() {
        let wanted = Version(0, 9, 143);
        assert!(Version(0, 9, 143).satisfies(wanted));
        assert!(Version(0, 9, 151).satisfies(wanted));
        assert!(!Version(0, 9, 9).satisfies(wanted));
        assert!(!Version(0, 10, 200).satisfies(wanted));
        assert!(Version(1, 9, 0).satisfies(Version(1, 2, 3)));
        assert!(!Version(2, 0, 0).satisfies(Version(1, 2, 3)));
    }

    #[test]
    fn the_locked_version_is_that_of_the_very_crate() {
        let lock = "[[package]]\nname = \"gungraun-macros\"\nversion = \"0.10.0\"\n\n\
                    [[package]]\nname = \"gungraun\"\nversion = \"0.20.1\"\n";
        let locked = locked_version(lock, "gungraun");
        assert!(locked.is_ok_and(|version| version == Version(0, 20, 1)));
        assert!(locked_version(lock, "gun").is_err());
    }
}
