//! `cargo xtask faults`: deployed runs on a simulated clock and network, deployed runs over a bad network, and runs
//! whose server and agents are killed. After each of them every committed round is computed again. The runs are
//! tests; here there are more of them.

use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;

/// A test suite of seeded runs.
struct Suite {
    package: &'static str,
    test: &'static str,
    /// The number of runs when a person starts the task.
    full: u64,
    /// Runs of `cargo xtask test`, for half a minute.
    short: u64,
}

/// The simulated runs come first: they are many, and the quickest.
const SUITES: [Suite; 3] = [
    Suite { package: "fedflip-net", test: "simulated", full: 1000, short: 50 },
    Suite { package: "fedflip-net", test: "faults", full: 300, short: 6 },
    Suite { package: "fedflip", test: "killed", full: 300, short: 6 },
];

/// `cargo xtask test` draws other runs than the tests alone do.
const SHORT_FIRST_SEED: u64 = 1_000_000;

/// What was asked for on the command line.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    /// Of each suite; by default its own number.
    runs: Option<u64>,
    first_seed: u64,
    /// By default all suites.
    suite: Option<String>,
}

pub(crate) fn run(repo: &Repo, args: &[String]) -> Result<(), TaskError> {
    let Asked { runs, first_seed, suite } = parse(args)?;
    let mut asked = SUITES.iter().filter(|known| suite.as_deref().is_none_or(|name| name == known.test));
    asked.try_for_each(|suite| suite.run(repo, runs.unwrap_or(suite.full), first_seed))
}

/// What `cargo xtask test` does.
pub(crate) fn short(repo: &Repo) -> Result<(), TaskError> {
    SUITES.iter().try_for_each(|suite| suite.run(repo, suite.short, SHORT_FIRST_SEED))
}

impl Suite {
    fn run(&self, repo: &Repo, runs: u64, first_seed: u64) -> Result<(), TaskError> {
        let Self { package, test, .. } = self;
        // Built as all tests are, features and all; no limit on their time.
        Cmd::words("cargo test --locked --workspace --test")
            .args([*test, "--", "--nocapture"])
            .env("FEDFLIP_FAULT_RUNS", runs.to_string())
            .env("FEDFLIP_FAULT_SEED", first_seed.to_string())
            .run(repo)
            .inspect_err(|_| {
                println!("   {package}: the seed of each run that failed is above; repeat one with");
                println!("   cargo xtask faults --suite {test} --runs 1 --seed SEED");
            })
    }
}

fn parse(args: &[String]) -> Result<Asked, TaskError> {
    let mut asked = Asked { runs: None, first_seed: 1, suite: None };
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let value = words.next();
        let number = || {
            let number = value.and_then(|value| value.parse().ok());
            number.ok_or_else(|| TaskError::Usage(format!("{word} takes a whole number")))
        };
        match word.as_str() {
            "--runs" => asked.runs = Some(number()?),
            "--seed" => asked.first_seed = number()?,
            "--suite" => asked.suite = Some(suite(value)?),
            other => {
                let problem = format!("`faults` knows --runs, --seed and --suite, not `{other}`");
                return Err(TaskError::Usage(problem));
            }
        }
    }
    Ok(asked)
}

fn suite(name: Option<&String>) -> Result<String, TaskError> {
    let known = SUITES.map(|suite| suite.test);
    let name = name.filter(|name| known.contains(&name.as_str())).cloned();
    name.ok_or_else(|| TaskError::Usage(format!("--suite takes one of {}", known.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Asked, TaskError> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn how_many_and_from_where() {
        assert_eq!(parsed("").unwrap(), Asked { runs: None, first_seed: 1, suite: None });
        let asked = Asked { runs: Some(20), first_seed: 7, suite: Some("simulated".to_owned()) };
        assert_eq!(parsed("--seed 7 --runs 20 --suite simulated").unwrap(), asked);
        for wrong in ["--runs", "--runs many", "--run 3", "20", "--suite", "--suite none"] {
            assert!(matches!(parsed(wrong), Err(TaskError::Usage(_))), "{wrong}");
        }
    }

    #[test]
    fn the_suites_are_there() {
        let repo = Repo::here();
        for Suite { package, test, .. } in &SUITES {
            let folder = if *package == "fedflip" { "fedflip" } else { "net" };
            let places = [format!("{test}.rs"), format!("{test}/main.rs")];
            let found = |place: &String| repo.path(&format!("crates/{folder}/tests/{place}")).is_file();
            assert!(places.iter().any(found), "{package}: {test}");
        }
    }
}
