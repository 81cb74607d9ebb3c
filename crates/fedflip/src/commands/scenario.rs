//! `fedflip scenario new | check`.

use std::io::Write;

use fedflip_learn::task::Task;

use super::print_json;
use crate::args::{ScenarioCheckArgs, ScenarioNewArgs};
use crate::error::CliError;
use fedflip_scenario::Scenario;

pub(super) fn new(args: &ScenarioNewArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let task: Task = args.task.parse()?;
    Ok(write!(output, "{}", Scenario::template(task, args.preset)?)?)
}

pub(super) fn check(args: &ScenarioCheckArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let scenario = Scenario::read(&args.scenario, &args.set)?;
    if args.json {
        return print_json(output, &scenario);
    }
    Ok(write!(output, "{}", scenario.to_toml())?)
}
