//! `cargo xtask faults`: deployed runs over a bad network, and runs whose server and agents are killed. After each
//! of them every committed round is computed again. The runs are tests; here there are more of them.

use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;

/// Seeded runs, of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Runs {
    count: u64,
    first_seed: u64,
}

/// Hundreds, by hand.
const FULL: Runs = Runs { count: 300, first_seed: 1 };
/// For half a minute of `cargo xtask test`.
const SHORT: Runs = Runs { count: 6, first_seed: 1_000_000 };

/// The packages and test suites.
const SUITES: [(&str, &str); 2] = [("fedflip-net", "faults"), ("fedflip", "killed")];

pub(crate) fn run(repo: &Repo, args: &[String]) -> Result<(), TaskError> {
    all(repo, parse(args)?)
}

/// What `cargo xtask test` does.
pub(crate) fn short(repo: &Repo) -> Result<(), TaskError> {
    all(repo, SHORT)
}

fn all(repo: &Repo, runs: Runs) -> Result<(), TaskError> {
    SUITES.iter().try_for_each(|(package, suite)| {
        // Built as all tests are, features and all; no limit on their time.
        Cmd::words("cargo test --locked --workspace --test")
            .args([*suite, "--", "--nocapture"])
            .env("FEDFLIP_FAULT_RUNS", runs.count.to_string())
            .env("FEDFLIP_FAULT_SEED", runs.first_seed.to_string())
            .run(repo)
            .inspect_err(|_| println!("   {package}: the seed of the run that failed is above"))
    })
}

fn parse(args: &[String]) -> Result<Runs, TaskError> {
    let mut runs = FULL;
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let place = match word.as_str() {
            "--runs" => &mut runs.count,
            "--seed" => &mut runs.first_seed,
            other => {
                return Err(TaskError::Usage(format!("`faults` knows --runs and --seed, not `{other}`")));
            }
        };
        let value = words.next().and_then(|value| value.parse().ok());
        *place = value.ok_or_else(|| TaskError::Usage(format!("{word} takes a whole number")))?;
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Runs, TaskError> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn how_many_and_from_where() {
        assert_eq!(parsed("").unwrap(), FULL);
        assert_eq!(parsed("--seed 7 --runs 20").unwrap(), Runs { count: 20, first_seed: 7 });
        for wrong in ["--runs", "--runs many", "--run 3", "20"] {
            assert!(matches!(parsed(wrong), Err(TaskError::Usage(_))), "{wrong}");
        }
    }

    #[test]
    fn the_suites_are_there() {
        let repo = Repo::here();
        for path in ["crates/net/tests/faults.rs", "crates/fedflip/tests/killed/main.rs"] {
            assert!(repo.path(path).is_file(), "{path}");
        }
    }
}
