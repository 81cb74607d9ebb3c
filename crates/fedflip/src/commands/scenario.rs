//! `fedflip scenario new | check`.

use std::io::Write;
use std::path::Path;

use fedflip_learn::task::{Source, Task};

use super::print_json;
use crate::args::{ScenarioCheckArgs, ScenarioNewArgs};
use crate::error::CliError;
use fedflip_scenario::{Request, Scenario};

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
    if args.json {
        return print_json(output, &scenario);
    }
    Ok(write!(output, "{}", scenario.to_toml())?)
}
