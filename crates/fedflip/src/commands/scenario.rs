//! `fedflip scenario new | check`.

use std::io::Write;
use std::path::Path;

use fedflip_learn::Learner;
use fedflip_learn::task::{SharingReport, Source, Task};
use serde::Serialize;

use super::print_json;
use crate::args::{ScenarioCheckArgs, ScenarioNewArgs};
use crate::error::CliError;
use crate::render::count;
use fedflip_scenario::{Request, Scenario, Where};

pub(super) fn new(args: &ScenarioNewArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let task: Task = args.task.parse()?;
    if !args.train.is_empty() {
        if !matches!(task.source(), Source::Own) {
            return Err(CliError::usage(
                format!("--train: the task {} has data of its own", task.name()),
                "name the task own, or leave --train and --test out",
            ));
        }
        let request = Request {
            train: &args.train,
            test: &args.test,
            model: args.model.as_deref(),
            folder: Path::new(""),
        };
        return Ok(write!(output, "{}", Scenario::template_own(task, args.preset, &request)?)?);
    }
    Ok(write!(output, "{}", Scenario::template(task, args.preset)?)?)
}

pub(super) fn check(args: &ScenarioCheckArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let scenario = Scenario::read(&args.scenario, &args.set)?;
    let partition = partition(&scenario)?;
    if args.json {
        return print_json(output, &CheckJson { scenario: &scenario, partition });
    }
    write!(output, "{}", scenario.to_toml())?;
    if let Some(Partition { devices, samples, fewest, most, evaluated }) = partition {
        let [devices, samples, fewest, most, evaluated] =
            [devices, samples, fewest, most, evaluated].map(count);
        writeln!(
            output,
            "\n# The partition: {devices} devices hold {samples} training samples, {fewest} to {most} each.\n# Models \
             are evaluated on {evaluated} samples."
        )?;
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

#[derive(Clone, Copy, Serialize)]
struct Partition {
    devices: usize,
    samples: usize,
    fewest: usize,
    most: usize,
    evaluated: usize,
}

/// How files of the user's own are shared among the devices, after all checks of the samples.
fn partition(scenario: &Scenario) -> Result<Option<Partition>, CliError> {
    let own = &scenario.data.own;
    if own.train.is_empty() || own.place == Where::Devices {
        return Ok(None);
    }
    // Files of one's own are in no folder of data sets.
    let (learner, SharingReport { samples, fewest, most, .. }) =
        scenario.task_settings().learner(Path::new(""))?;
    let (devices, evaluated) = (learner.devices(), learner.test_samples());
    Ok(Some(Partition { devices, samples, fewest, most, evaluated }))
}
