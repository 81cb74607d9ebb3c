//! `cargo xtask fuzz`: every decoder of bytes from a peer or a file, fuzzed with coverage guidance.
//!
//! The targets lie in `fuzz/`, in the layout of cargo-fuzz. They are built here with what cargo-fuzz would tell
//! the compiler, less the sanitizer: that takes a nightly toolchain, and this runs on any. A target is run on
//! its corpus, then on what once broke it, then on what libFuzzer makes of those.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::thread;

use crate::error::TaskError;
use crate::repo::{Repo, on_ci};
use crate::shell::Cmd;

/// How the compiler is told to report which way the code went, and which comparisons failed.
const COVERAGE: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// The decoders' formats show all they can within this; longer inputs only cost speed.
const INPUT_BYTES_MAX: u32 = 4096;
/// No input should take a millisecond; a busy machine gets this.
const INPUT_SECS_MAX: u32 = 10;
/// Of the whole process. What one input may take is counted by the targets themselves.
const MEMORY_MIB_MAX: u32 = 1024;

/// For a person who asks for fuzzing.
const SECS: u32 = 60;
/// For the step of `cargo xtask test`.
const STEP_SECS: u32 = 3;
/// And for that step: a few seconds of running do not pay for optimising.
const STEP_OPT_LEVEL: &str = "0";
/// The optimisation level for fuzzing by hand.
const OPT_LEVEL: &str = "1";

/// What a person asked for.
#[derive(Debug, PartialEq, Eq)]
struct Wish {
    secs: u32,
    /// All if none is named.
    targets: Vec<String>,
}

/// Fuzzes the named targets, or all; what is found to be new is kept in the build folder for the next time.
pub(crate) fn run(repo: &Repo, args: &[String]) -> Result<(), TaskError> {
    let known = targets(repo)?;
    let Wish { secs, targets } = Wish::parse(args, &known)?;
    fuzz(repo, if targets.is_empty() { &known } else { &targets }, secs, "found", OPT_LEVEL)
}

/// Every target for a few seconds, starting from the committed corpus alone.
pub(crate) fn step(repo: &Repo) -> Result<(), TaskError> {
    // Not where a person's own run keeps what it has found: that may be days of work.
    let fresh = repo.target().join("fuzz/fresh");
    if fresh.is_dir() {
        fs::remove_dir_all(&fresh).map_err(|source| TaskError::File { path: fresh, source })?;
    }
    fuzz(repo, &targets(repo)?, STEP_SECS, "fresh", STEP_OPT_LEVEL)
}

/// Whether this machine can build libFuzzer, which is C++.
pub(crate) fn can_run(repo: &Repo) -> bool {
    cfg!(any(target_os = "linux", target_os = "macos")) && Cmd::words("c++ --version").output(repo).is_ok()
}

impl Wish {
    fn parse(args: &[String], known: &[String]) -> Result<Self, TaskError> {
        let mut wish = Self { secs: SECS, targets: Vec::new() };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            if arg == "--secs" {
                let secs = args.next().and_then(|secs| secs.parse().ok()).filter(|secs| *secs > 0);
                wish.secs =
                    secs.ok_or_else(|| TaskError::Usage("--secs takes a number of seconds".to_owned()))?;
            } else if known.contains(arg) {
                wish.targets.push(arg.clone());
            } else {
                let known = known.join(", ");
                return Err(TaskError::Usage(format!("there is no target `{arg}`; the targets are {known}")));
            }
        }
        Ok(wish)
    }
}

/// The names of all targets, in order.
fn targets(repo: &Repo) -> Result<Vec<String>, TaskError> {
    let folder = repo.path("fuzz/fuzz_targets");
    let failed = |source| TaskError::File { path: folder.clone(), source };
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    Ok(names.into_iter().collect())
}

/// What is new goes to the folder `found` of the build.
fn fuzz(repo: &Repo, targets: &[String], secs: u32, found: &str, opt_level: &str) -> Result<(), TaskError> {
    let programs = build(repo, opt_level)?;
    let scratch = scratch(repo);
    make_folder(&scratch)?;
    let waiting = Mutex::new(targets.iter());
    let next = || waiting.lock().ok().and_then(|mut targets| targets.next());
    let workers = thread::available_parallelism().map_or(1, |count| count.get().min(targets.len()));
    let work = || {
        let mut ended = Ok(());
        while let Some(target) = next() {
            ended = ended.and(fuzz_one(
                repo,
                &Fuzzing { target, programs: &programs, scratch: &scratch, found, secs },
            ));
        }
        ended
    };
    let ended = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let lost = || Err(TaskError::Answer("a thread of the fuzzer was lost".to_owned()));
        workers.into_iter().map(|worker| worker.join().unwrap_or_else(|_| lost())).collect::<Vec<_>>()
    });
    // Only memory is lost if it stays.
    let _ = fs::remove_dir_all(&scratch);
    ended.into_iter().collect()
}

/// Builds all targets; where they are.
fn build(repo: &Repo, opt_level: &str) -> Result<PathBuf, TaskError> {
    let about = Cmd::words("rustc --version --verbose").output(repo)?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.ok_or_else(|| TaskError::Answer("rustc does not say what it runs on".to_owned()))?;
    let folder = repo.target().join("fuzz");
    // The target is named so that build scripts and macros are built as ever.
    let line = "cargo build --quiet --release --bins --manifest-path fuzz/Cargo.toml --target";
    let build = Cmd::words(line)
        .arg(host)
        .env("RUSTFLAGS", COVERAGE)
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", opt_level);
    let build = if on_ci() { build.arg("--locked") } else { build };
    build.env("CARGO_TARGET_DIR", folder.display().to_string()).run(repo)?;
    Ok(folder.join(host).join("release"))
}

/// Decoders that open files get them from memory where the system has a folder there.
fn scratch(repo: &Repo) -> PathBuf {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { memory.to_owned() } else { repo.target().join("fuzz") };
    folder.join(format!("fedflip-fuzz-of-{}", std::process::id()))
}

/// One target and how it is run.
#[derive(Debug)]
struct Fuzzing<'a> {
    target: &'a str,
    programs: &'a Path,
    scratch: &'a Path,
    found: &'a str,
    secs: u32,
}

fn fuzz_one(repo: &Repo, fuzzing: &Fuzzing<'_>) -> Result<(), TaskError> {
    let Fuzzing { target, programs, scratch, found, secs } = fuzzing;
    let folder = repo.target().join("fuzz");
    let (found, crashes) = (folder.join(found).join(target), folder.join("crashes"));
    make_folder(&found)?;
    make_folder(&crashes)?;
    let program = programs.join(target).display().to_string();
    let mut cmd = Cmd::new(&program)
        .args([
            "-seed=1".to_owned(),
            format!("-max_total_time={secs}"),
            format!("-max_len={INPUT_BYTES_MAX}"),
            format!("-timeout={INPUT_SECS_MAX}"),
            format!("-rss_limit_mb={MEMORY_MIB_MAX}"),
            "-print_final_stats=1".to_owned(),
            format!("-artifact_prefix={}/{target}-", crashes.display()),
        ])
        .env("TMPDIR", scratch.display().to_string());
    let words = repo.path(&format!("fuzz/dictionaries/{target}.dict"));
    if words.is_file() {
        cmd = cmd.arg(format!("-dict={}", words.display()));
    }
    // What is new goes to the first folder; the others are only read.
    cmd = cmd.arg(found.display().to_string());
    for given in ["corpus", "regressions"] {
        let given = repo.path("fuzz").join(given).join(target);
        if given.is_dir() {
            cmd = cmd.arg(given.display().to_string());
        }
    }
    let path = folder.join(format!("{target}.log"));
    let refuse = |source| TaskError::File { path: path.clone(), source };
    let log = File::create(&path).map_err(refuse)?;
    let both = log.try_clone().map_err(refuse)?;
    let mut command = cmd.prepare(repo);
    command.stdout(Stdio::from(both)).stderr(Stdio::from(log));
    let ended = command.status().map_err(|source| cmd.cannot_start(source))?;
    let bytes = fs::read(&path).map_err(refuse)?;
    let log = String::from_utf8_lossy(&bytes);
    if ended.success() {
        println!("   {target:<12} {}", summary(&log));
        return Ok(());
    }
    let what = gist(&log);
    let Some(input) = log.lines().find_map(|line| Some(line.split_once("Test unit written to ")?.1)) else {
        println!("{log}");
        return cmd.check(ended);
    };
    Err(TaskError::Crash { target: (*target).to_owned(), what, replay: format!("{program} {input}") })
}

/// How many inputs were tried, and how much of the code they have reached.
fn summary(log: &str) -> String {
    let stat = |name: &str| {
        log.lines()
            .find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name)?.strip_prefix(':'))
            .map(str::trim)
    };
    let word_after = |line: &str, name: &str| {
        line.split_whitespace().skip_while(|word| *word != name).nth(1).unwrap_or("?").to_owned()
    };
    let done = log.lines().rfind(|line| line.contains("DONE")).unwrap_or_default();
    format!(
        "{:>8} inputs, {:>6} a second, {:>5} places reached, {:>4} MiB at most",
        stat("number_of_executed_units").unwrap_or("?"),
        stat("average_exec_per_sec").unwrap_or("?"),
        word_after(done, "cov:"),
        stat("peak_rss_mb").unwrap_or("?"),
    )
}

/// What went wrong, in a line or two.
fn gist(log: &str) -> String {
    let mut lines =
        log.lines().skip_while(|line| !(line.contains("panicked at") || line.contains("ERROR: libFuzzer")));
    lines.by_ref().take(2).collect::<Vec<_>>().join(" ")
}

fn make_folder(folder: &Path) -> Result<(), TaskError> {
    fs::create_dir_all(folder).map_err(|source| TaskError::File { path: folder.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Wish, String> {
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        Wish::parse(&args, &["coin".to_owned(), "names".to_owned()]).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_asked_for_is_understood_or_refused() {
        assert_eq!(parse(&[]), Ok(Wish { secs: SECS, targets: vec![] }));
        assert_eq!(parse(&["names", "--secs", "9"]), Ok(Wish { secs: 9, targets: vec!["names".to_owned()] }));
        assert!(
            parse(&["name"])
                .is_err_and(|message| message.contains("`name`") && message.contains("coin, names"))
        );
        for wrong in [&["--secs"][..], &["--secs", "0"], &["--secs", "x"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn every_target_is_built_and_has_a_corpus_and_nothing_else_has() {
        let repo = Repo::here();
        let (names, manifest) = (targets(&repo).unwrap(), repo.read("fuzz/Cargo.toml").unwrap());
        assert_eq!(manifest.matches("[[bin]]").count(), names.len());
        for name in &names {
            assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name}");
            let seeds = fs::read_dir(repo.path("fuzz/corpus").join(name)).unwrap().count();
            assert!((1..=40).contains(&seeds), "{name}: {seeds} seeds");
        }
        for folder in ["corpus", "regressions", "dictionaries"] {
            for entry in fs::read_dir(repo.path("fuzz").join(folder)).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_stem().unwrap().to_string_lossy().into_owned();
                assert!(names.contains(&name), "{}: no such target", path.display());
            }
        }
    }

    /// A bug of a library is found only in the version that ships.
    #[test]
    fn the_versions_that_ship_are_the_versions_that_are_fuzzed() {
        let repo = Repo::here();
        let versions = |lock: &str| -> BTreeSet<(String, String)> {
            let field = |line: Option<&str>, name: &str| {
                Some(line?.strip_prefix(name)?.trim_matches(['=', ' ', '"']).to_owned())
            };
            let packages = lock.split("[[package]]").skip(1).map(|package| package.trim().lines());
            packages
                .filter_map(|mut lines| Some((field(lines.next(), "name")?, field(lines.next(), "version")?)))
                .collect()
        };
        let shipped = versions(&repo.read("Cargo.lock").unwrap());
        let names: BTreeSet<&String> = shipped.iter().map(|(name, _)| name).collect();
        let fuzzed = versions(&repo.read("fuzz/Cargo.lock").unwrap());
        let others: Vec<_> =
            fuzzed.iter().filter(|it| names.contains(&it.0) && !shipped.contains(it)).collect();
        assert!(shipped.len() > 100 && fuzzed.len() > 50);
        assert!(
            others.is_empty(),
            "{others:?}: cp Cargo.lock fuzz/Cargo.lock && cargo update --workspace --manifest-path fuzz/Cargo.toml"
        );
    }

    #[test]
    fn logs_are_read_for_what_matters() {
        let log = "#9 DONE   cov: 612 ft: 1000 corp: 3/4b\nstat::number_of_executed_units: 90\n\
                   stat::average_exec_per_sec:     45\nstat::peak_rss_mb:  33\n";
        assert_eq!(summary(log), "      90 inputs,     45 a second,   612 places reached,   33 MiB at most");
        let log = "INFO: x\nthread '<unnamed>' panicked at a.rs:1:\nno\nmore\n";
        assert_eq!(gist(log), "thread '<unnamed>' panicked at a.rs:1: no");
    }
}
