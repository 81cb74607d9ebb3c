//! `fedflip scenario new | check`.

use std::io::Write;
use std::path::Path;

use fedflip_learn::Learner;
use fedflip_learn::own::{OwnData, OwnSamples};
use fedflip_learn::task::{Learners, SharingReport, Source, Task};
use serde::Serialize;

use super::print_json;
use crate::args::{ScenarioCheckArgs, ScenarioNewArgs};
use crate::error::CliError;
use crate::progress::warn;
use crate::render::count;
use fedflip_scenario::{OwnTemplate, Scenario, Where};

pub(super) fn new(args: &ScenarioNewArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let task: Task = args.task.parse()?;
    if !args.train.is_empty() {
        return new_own(task, args, output);
    }
    Ok(write!(output, "{}", Scenario::template(task, args.preset)?)?)
}

/// A scenario for files, after the test files were found to fit the training files.
fn new_own(task: Task, args: &ScenarioNewArgs, output: &mut dyn Write) -> Result<(), CliError> {
    if !matches!(task.source(), Source::Own) {
        return Err(CliError::usage(
            format!("--train: the task {} has data of its own", task.name()),
            "name the task own, or leave --train and --test out",
        ));
    }
    if args.test.is_empty() && args.validation.is_none_or(|share| share == 0.0) {
        return Err(CliError::usage(
            "--test is missing: there are no samples to evaluate models on".to_owned(),
            "add --test FILE, or --validation 0.2 to hold a fifth of the training samples out",
        ));
    }
    let wanted = OwnTemplate {
        train: &args.train,
        test: &args.test,
        model: args.model.as_deref(),
        loss: args.loss.as_deref(),
        validation: args.validation,
        folder: Path::new(""),
    };
    let found = Scenario::template_own(task, args.preset, &wanted)?;
    let settings = Scenario::from_toml(&found.text)?.task_settings();
    if !args.test.is_empty() {
        let test = OwnData { train: settings.own.test, test: Vec::new(), ..settings.own };
        OwnSamples::read(&test, settings.task.params())?;
    }
    found.notes.iter().for_each(|note| warn(note));
    Ok(write!(output, "{}", found.text)?)
}

pub(super) fn check(args: &ScenarioCheckArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let scenario = Scenario::read(&args.scenario, &args.set)?;
    let partition = partition(&scenario)?;
    if args.json {
        return print_json(output, &CheckJson { scenario: &scenario, partition });
    }
    write!(output, "{}", scenario.to_toml())?;
    if let Some(partition) = partition {
        write_partition(output, &partition)?;
    }
    Ok(())
}

fn write_partition(output: &mut dyn Write, partition: &Partition) -> Result<(), CliError> {
    let Partition { devices, samples, fewest, most, evaluated, holders } = partition;
    let [devices, samples, fewest, most, evaluated] =
        [*devices, *samples, *fewest, *most, *evaluated].map(count);
    writeln!(
        output,
        "\n# The partition: {devices} devices hold {samples} training samples, {fewest} to {most} each.\n# Models \
         are evaluated on {evaluated} samples."
    )?;
    for Holder { device, data } in holders.iter().take(LISTED_MAX) {
        let names: Vec<String> =
            data.iter().map(|name| fedflip_fleet::printable(name).into_owned()).collect();
        writeln!(
            output,
            "# Device {} holds the samples of {}.",
            fedflip_fleet::printable(device),
            names.join(", ")
        )?;
    }
    if holders.len() > LISTED_MAX {
        writeln!(output, "# And so on; --json lists all {} devices.", count(holders.len()))?;
    }
    Ok(())
}

/// A scenario, and how its files are shared.
#[derive(Serialize)]
struct CheckJson<'a> {
    #[serde(flatten)]
    scenario: &'a Scenario,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition: Option<Partition>,
}

#[derive(Serialize)]
struct Partition {
    devices: usize,
    samples: usize,
    fewest: usize,
    most: usize,
    evaluated: usize,
    /// Where the data say who holds which sample.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    holders: Vec<Holder>,
}

/// A device of the fleet, and the names under which the data have its samples.
#[derive(Serialize)]
struct Holder {
    device: String,
    data: Vec<String>,
}

/// Devices that are listed one by one.
const LISTED_MAX: usize = 12;

/// How files of the user's own are shared among the devices, after all checks of the samples.
fn partition(scenario: &Scenario) -> Result<Option<Partition>, CliError> {
    let own = &scenario.data.own;
    if own.train.is_empty() || own.place == Where::Devices {
        return Ok(None);
    }
    // Files of one's own are in no folder of data sets.
    let Learners { learner, sharing, holders, .. } = scenario.task_settings().learners(Path::new(""))?;
    let SharingReport { samples, fewest, most, .. } = sharing;
    let (devices, evaluated) = (learner.devices(), learner.test_samples());
    let counts: Vec<usize> = (0..devices).map(|device| learner.samples(device)).collect();
    let fleet = scenario.named_fleet(&counts, &holders)?;
    let holder = |(position, data)| Holder { device: fleet.name(position).to_owned(), data };
    let holders = holders.into_iter().enumerate().map(holder).collect();
    Ok(Some(Partition { devices, samples, fewest, most, evaluated, holders }))
}
