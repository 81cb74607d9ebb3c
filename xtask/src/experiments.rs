//! `cargo xtask experiments`: the paper's evaluation and what goes beyond it, from commands that anybody can run
//! again.
//!
//! An experiment is a scenario file in `experiments/NAME` and some `fedflip` commands. Runs are kept below the
//! build folder and go on where they were stopped; what came of them is archived beside the scenario: tables,
//! curves and figures, the commands, the machine and the commit. Orderings that the results show are checked every
//! time; `--quick` checks them on a task that takes seconds. `--as-is` archives what has been run so far: runs that are
//! not over take one more round, and what is to hold is said and not insisted on.
//!
//! - `list`: the experiments and what is to hold.
//! - `hours`: reading the times that comparisons came to.
//! - `archive`: what is kept of an experiment.

mod archive;
mod hours;
mod list;

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::path::PathBuf;

use self::hours::Hours;
use self::list::{EXPERIMENTS, Experiment, Part, Place};
use crate::clock::Stopwatch;
use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::speed;

/// Whether an experiment is run as the paper did or in little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Full,
    Quick,
    /// In full, as far as it has come.
    AsIs,
}

impl Form {
    fn is_quick(self) -> bool {
        self == Self::Quick
    }
}

/// What the words after `experiments` ask for.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    List,
    Run { names: Vec<String>, form: Form },
}

pub(crate) fn run(repo: &Repo, args: &[String]) -> Result<(), TaskError> {
    match parse(args)? {
        Wanted::List => {
            print!("{}", listed());
            Ok(())
        }
        Wanted::Run { names, form } => {
            let chosen = select(&names)?;
            build(repo, form)?;
            chosen.into_iter().try_for_each(|experiment| Desk { repo, experiment, form }.run())
        }
    }
}

/// What `cargo xtask test` does: every experiment in little.
pub(crate) fn quick(repo: &Repo) -> Result<(), TaskError> {
    build(repo, Form::Quick)?;
    EXPERIMENTS.iter().try_for_each(|experiment| Desk { repo, experiment, form: Form::Quick }.run())
}

fn parse(args: &[String]) -> Result<Wanted, TaskError> {
    let mut names = Vec::new();
    let (mut form, mut list) = (Form::Full, false);
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--list" => list = true,
            "--quick" if form != Form::AsIs => form = Form::Quick,
            "--as-is" if form != Form::Quick => form = Form::AsIs,
            "--run" => match words.next() {
                Some(name) => names.push(name.clone()),
                None => {
                    return Err(TaskError::Usage("--run takes the name of an experiment, or `all`".into()));
                }
            },
            other => {
                return Err(TaskError::Usage(format!(
                    "`experiments` knows --list, --run NAME, and with it --quick or --as-is, not `{other}`"
                )));
            }
        }
    }
    match (list, names.is_empty()) {
        (true, true) if form == Form::Full => Ok(Wanted::List),
        (false, false) => Ok(Wanted::Run { names, form }),
        _ => Err(TaskError::Usage(
            "say --list, or --run NAME (or --run all), and --quick or --as-is with it".into(),
        )),
    }
}

fn select(names: &[String]) -> Result<Vec<&'static Experiment>, TaskError> {
    let known =
        |name: &String| name == "all" || EXPERIMENTS.iter().any(|experiment| experiment.name == *name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let names: Vec<&str> = EXPERIMENTS.iter().map(|experiment| experiment.name).collect();
        return Err(TaskError::Usage(format!(
            "there is no experiment `{unknown}`; the experiments are {}",
            names.join(", ")
        )));
    }
    let wanted = |experiment: &&Experiment| names.iter().any(|name| name == "all" || name == experiment.name);
    Ok(EXPERIMENTS.iter().filter(wanted).collect())
}

fn listed() -> String {
    let mut text = String::new();
    for experiment in EXPERIMENTS {
        text.push_str(&format!("{:<20} {}\n", experiment.name, experiment.shows));
    }
    text.push_str(
        "\nRun one with: cargo xtask experiments --run NAME\n  \
         --quick    on a task that takes seconds: checks the orderings, and archives nothing\n  \
         --as-is    archives what has been run so far; what is not over takes one round more\n",
    );
    text
}

fn build(repo: &Repo, form: Form) -> Result<(), TaskError> {
    match form.is_quick() {
        true => speed::build_as_tests(repo),
        false => Cmd::words("cargo build --locked --release --package fedflip").run(repo),
    }
}

/// One experiment in one form.
struct Desk<'a> {
    repo: &'a Repo,
    experiment: &'static Experiment,
    form: Form,
}

impl Desk<'_> {
    fn run(&self) -> Result<(), TaskError> {
        println!("\n-- {}: {}", self.experiment.name, self.experiment.shows);
        let watch = Stopwatch::start();
        if self.form.is_quick() && self.runs().exists() {
            // What is quick is run anew: it is there to see whether it still holds.
            fs::remove_dir_all(self.runs())
                .map_err(|source| TaskError::File { path: self.runs(), source })?;
        }
        if !self.form.is_quick() {
            archive::remember_commit(self)?;
        }
        for part in self.experiment.parts {
            self.command(part).run(self.repo)?;
        }
        let holds = self.check();
        match (holds, self.form) {
            (Err(TaskError::Promise(broken)), Form::AsIs) => println!("   not so far: {broken}"),
            (other, _) => other?,
        }
        if !self.form.is_quick() {
            archive::write(self)?;
        }
        println!("   {} in {:.1} s", self.experiment.name, watch.secs());
        Ok(())
    }

    /// Where its runs are.
    fn runs(&self) -> PathBuf {
        let form = if self.form.is_quick() { "experiments-quick" } else { "experiments" };
        self.repo.target().join(form).join(self.experiment.name)
    }

    /// The binary.
    fn fedflip(&self) -> Cmd {
        let profile = if self.form.is_quick() { "debug" } else { "release" };
        Cmd::new(self.repo.target().join(profile).join(format!("fedflip{EXE_SUFFIX}")).display().to_string())
    }

    fn command(&self, part: &Part) -> Cmd {
        let out = self.runs().join(part.folder).display().to_string();
        let command =
            self.words(part).fold(self.fedflip(), Cmd::arg).args(["--out", &out, "--resume", "--quiet"]);
        match self.form {
            Form::AsIs => command.args(["--set", "stop.real_hours_max=0.000001"]),
            Form::Full | Form::Quick => command,
        }
    }

    /// What stands behind `fedflip`, as anybody would type it at the root of the repository.
    fn words(&self, part: &Part) -> impl Iterator<Item = String> {
        let (line, scenario) = match self.form.is_quick() {
            false => (part.full, format!("experiments/{}/{}", self.experiment.name, part.scenario)),
            true => (part.quick, "experiments/quick.toml".to_owned()),
        };
        let words: Vec<String> = line
            .split_whitespace()
            .map(|word| if word == "SCENARIO" { scenario.clone() } else { word.to_owned() })
            .collect();
        words.into_iter()
    }

    /// Whether what is to hold does.
    fn check(&self) -> Result<(), TaskError> {
        let mut broken = Vec::new();
        for claim in self.experiment.claims {
            let wanted = if self.form.is_quick() { claim.at_least_quick } else { claim.at_least };
            let [faster, slower] = [self.hours(&claim.faster)?, self.hours(&claim.slower)?];
            let ratio = claim.counted.of(&slower) / claim.counted.of(&faster);
            let is_bound = if slower.lower_bound { "at least " } else { "" };
            let text = format!(
                "{} takes {is_bound}{ratio:.2} x the hours of {}{}",
                claim.slower, claim.faster, claim.counted
            );
            println!("   {text} (to hold: {wanted})");
            if faster.lower_bound || ratio.is_nan() || ratio < wanted {
                broken.push(format!("{text}, not {wanted}"));
            }
        }
        if broken.is_empty() {
            return Ok(());
        }
        Err(TaskError::Promise(format!("{}: {}", self.experiment.name, broken.join("; "))))
    }

    fn hours(&self, place: &Place) -> Result<Hours, TaskError> {
        let path = self.runs().join(place.folder).join("compare.json");
        let text =
            fs::read_to_string(&path).map_err(|source| TaskError::File { path: path.clone(), source })?;
        Hours::of(&text, place.scheme).ok_or_else(|| {
            TaskError::Answer(format!("{}: no hours of the scheme {}", path.display(), place.scheme))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Wanted, TaskError> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn what_can_be_asked_for() {
        assert_eq!(parsed("--list").unwrap(), Wanted::List);
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let run = |names, form| Wanted::Run { names, form };
        assert_eq!(parsed("--run mnist-table").unwrap(), run(names(&["mnist-table"]), Form::Full));
        assert_eq!(parsed("--quick --run a --run b").unwrap(), run(names(&["a", "b"]), Form::Quick));
        assert_eq!(parsed("--run a --as-is").unwrap(), run(names(&["a"]), Form::AsIs));
        for wrong in [
            "",
            "--run",
            "--quick",
            "--list --quick",
            "--list --run a",
            "table1",
            "--fast",
            "--run a --quick --as-is",
        ] {
            assert!(matches!(parsed(wrong), Err(TaskError::Usage(_))), "{wrong}");
        }
        assert!(matches!(select(&["tabel".to_owned()]), Err(TaskError::Usage(_))));
        assert_eq!(select(&["all".to_owned()]).unwrap().len(), EXPERIMENTS.len());
    }

    #[test]
    fn every_experiment_has_its_scenarios_and_a_page() {
        let repo = Repo::here();
        let mut names = std::collections::BTreeSet::new();
        for experiment in EXPERIMENTS {
            assert!(names.insert(experiment.name), "{} is there twice", experiment.name);
            assert!(!experiment.claims.is_empty(), "{}: nothing is to hold", experiment.name);
            let folder = repo.path("experiments").join(experiment.name);
            assert!(folder.join("README.md").is_file(), "{}: no README", experiment.name);
            for part in experiment.parts {
                assert!(folder.join(part.scenario).is_file(), "{}: {}", experiment.name, part.scenario);
                assert!(part.full.contains("SCENARIO") && part.quick.contains("SCENARIO"));
            }
        }
    }
}
