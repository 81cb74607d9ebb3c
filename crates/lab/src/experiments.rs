//! `experiments`: the paper's evaluation and what goes beyond it, from commands that anybody can run again.
//!
//! An experiment is a folder `experiments/NAME` with an `experiment.toml`: some `fedflip` commands and the orderings
//! that their results must show. Runs are kept below the build folder and resume where they were stopped. Tables,
//! curves and figures, the commands, the machine and the commit are archived beside the scenario. `--quick` checks
//! the orderings on a task that takes seconds. `--as-is` archives what has been run so far: runs that are not over
//! take one more round, and an ordering that does not hold yet is printed and not insisted on.
//!
//! - [`definition`]: reading `experiment.toml`.
//! - [`hours`]: reading the hours that comparisons came to.
//! - [`archive`]: what is kept of an experiment.

mod archive;
mod definition;
mod hours;

use std::path::PathBuf;
use std::process::Command;

use self::definition::{Claim, Counted, Experiment, Part, Place};
use self::hours::{Comparison, Hours};
use crate::bench::Bench;
use crate::clock::Stopwatch;
use crate::error::LabError;
use crate::{files, process};

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// List the names of all experiments.
    #[arg(long, required_unless_present = "names", conflicts_with_all = ["names", "quick", "as_is"])]
    list: bool,
    /// Run an experiment, or `all`; may be given several times.
    #[arg(long = "run", value_name = "NAME")]
    names: Vec<String>,
    /// Check the orderings on a task that takes seconds; archive nothing.
    #[arg(long, conflicts_with = "as_is")]
    quick: bool,
    /// Archive what has been run so far; a run that is not over takes one more round.
    #[arg(long)]
    as_is: bool,
}

/// How an experiment is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Full,
    Quick,
    /// In full, as far as it has come.
    AsIs,
}

pub(crate) fn run(bench: &Bench, options: &Options) -> Result<(), LabError> {
    let all = definition::read_all(&bench.path("experiments"))?;
    if options.list {
        for experiment in &all {
            println!("{:<20} {}", experiment.name, experiment.shows);
        }
        println!("\nRun one with: cargo xtask experiments --run NAME [--quick | --as-is]");
        return Ok(());
    }
    let chosen = select(&all, &options.names)?;
    let form = match (options.quick, options.as_is) {
        (true, _) => Form::Quick,
        (_, true) => Form::AsIs,
        _ => Form::Full,
    };
    bench.build(&[])?;
    chosen.into_iter().try_for_each(|experiment| ExperimentRun { bench, experiment, form }.run())
}

fn select<'a>(all: &'a [Experiment], names: &[String]) -> Result<Vec<&'a Experiment>, LabError> {
    let known = |name: &&String| *name == "all" || all.iter().any(|experiment| experiment.name == **name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let known: Vec<&str> = all.iter().map(|experiment| experiment.name.as_str()).collect();
        return Err(LabError::Usage(format!(
            "there is no experiment `{unknown}`; the experiments are {}",
            known.join(", ")
        )));
    }
    let wanted =
        |experiment: &&Experiment| names.iter().any(|name| name == "all" || *name == experiment.name);
    Ok(all.iter().filter(wanted).collect())
}

/// One experiment in one form.
struct ExperimentRun<'a> {
    bench: &'a Bench,
    experiment: &'a Experiment,
    form: Form,
}

impl ExperimentRun<'_> {
    fn run(&self) -> Result<(), LabError> {
        println!("\n-- {}: {}", self.experiment.name, self.experiment.shows);
        let watch = Stopwatch::start();
        match self.form {
            // A quick run starts anew: it is there to see whether the orderings still hold.
            Form::Quick => files::remove_folder(&self.runs())?,
            Form::Full | Form::AsIs => archive::remember_commit(self)?,
        }
        for part in &self.experiment.parts {
            process::run(&mut self.command(part))?;
        }
        match (self.check(), self.form) {
            (Err(LabError::Broken(broken)), Form::AsIs) => println!("   not so far: {broken}"),
            (other, _) => other?,
        }
        if self.form != Form::Quick {
            archive::write(self)?;
        }
        println!("   {} in {:.1} s", self.experiment.name, watch.secs());
        Ok(())
    }

    /// The folder of its runs.
    fn runs(&self) -> PathBuf {
        let form = if self.form == Form::Quick { "experiments-quick" } else { "experiments" };
        self.bench.target().join(form).join(&self.experiment.name)
    }

    fn command(&self, part: &Part) -> Command {
        let mut command = self.bench.fedflip();
        command.args(part.words(&self.experiment.name, self.form == Form::Quick));
        command.arg("--out").arg(self.runs().join(&part.folder)).args(["--resume", "--quiet"]);
        if self.form == Form::AsIs {
            command.args(["--set", "stop.real_hours_max=0.000001"]);
        }
        command
    }

    /// Whether every claim holds.
    fn check(&self) -> Result<(), LabError> {
        let mut broken = Vec::new();
        for claim in &self.experiment.claims {
            let [faster, slower] = [self.hours(&claim.faster)?, self.hours(&claim.slower)?];
            let wanted = if self.form == Form::Quick { claim.at_least_quick } else { claim.at_least };
            let (holds, text) = judge(claim, &faster, &slower, wanted);
            println!("   {text} (to hold: {wanted})");
            if !holds {
                broken.push(format!("{text}, not {wanted}"));
            }
        }
        if broken.is_empty() {
            return Ok(());
        }
        Err(LabError::Broken(format!("{}: {}", self.experiment.name, broken.join("; "))))
    }

    fn hours(&self, place: &Place) -> Result<Hours, LabError> {
        let path = self.runs().join(&place.folder).join("compare.json");
        let shown = path.display().to_string();
        let comparison: Comparison = files::from_json(&files::read(&path)?, &shown)?;
        let hours = comparison.hours(&place.scheme);
        hours.ok_or_else(|| LabError::Answer(format!("{shown}: no hours of the scheme {}", place.scheme)))
    }
}

/// Whether a claim holds, and the sentence that says what was found.
fn judge(claim: &Claim, faster: &Hours, slower: &Hours, wanted: f64) -> (bool, String) {
    let ratio = slower.counted(claim.counted) / faster.counted(claim.counted);
    let bound = if slower.lower_bound { "at least " } else { "" };
    let pilots = if claim.counted == Counted::WithPilots { ", pilots counted" } else { "" };
    let text =
        format!("{} takes {bound}{ratio:.2} times the hours of {}{pilots}", claim.slower, claim.faster);
    // A bound on the faster scheme says nothing about the ratio.
    (!faster.lower_bound && ratio >= wanted, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_holds_by_a_ratio_and_never_by_a_bound_on_the_faster_scheme() {
        let hours = |mean: f64, lower_bound: bool| {
            let json = serde_json::json!({ "schemes": [{
                "scheme": "x", "hours": { "mean": mean }, "hours_with_pilot": mean, "lower_bound": lower_bound,
            }] });
            serde_json::from_value::<Comparison>(json).unwrap().hours("x").unwrap()
        };
        let place = |scheme: &str| Place::from(scheme.to_owned());
        let claim = Claim {
            slower: place("full"),
            faster: place("a/paper"),
            counted: Counted::WithPilots,
            at_least: 2.0,
            at_least_quick: 2.0,
        };
        let (holds, text) = judge(&claim, &hours(1.0, false), &hours(2.0, true), 2.0);
        assert!(holds);
        assert_eq!(text, "full takes at least 2.00 times the hours of paper (a), pilots counted");
        assert!(!judge(&claim, &hours(1.0, true), &hours(2.0, false), 2.0).0);
        assert!(!judge(&claim, &hours(1.0, false), &hours(1.9, false), 2.0).0);
        assert!(!judge(&claim, &hours(0.0, false), &hours(0.0, false), 2.0).0, "NaN holds nothing");
    }
}
