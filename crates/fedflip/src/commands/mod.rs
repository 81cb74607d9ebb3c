//! One file a command.

mod allocate;
mod bench;
mod bench_buffered;
mod bench_engine;
mod bound;
mod certs;
mod compare;
mod completions;
mod data;
mod demo;
mod demo_log;
mod devices;
mod export;
mod fleet;
mod inspect;
mod man;
mod outcome;
mod pilot;
mod plan;
mod plan_compare;
mod report;
mod retime;
mod run;
mod scenario;
mod scheme_cells;
mod serve;
mod sweep;

use std::io::Write;

use fedflip_run::shard::Shard;
use serde::Serialize;

use crate::args::{Args, Command, DataCommand, FleetCommand, ScenarioCommand};
use crate::error::{CliError, ExitStatus};

/// Runs what was asked for; everything for standard output goes to `output`.
pub(crate) fn run(args: Args, output: &mut dyn Write) -> Result<ExitStatus, CliError> {
    match args.command {
        Command::Run(args) => return run::run(&args, output),
        Command::Pilot(args) => return pilot::run(&args, output),
        Command::Compare(args) => return compare::run(&args, output),
        Command::Sweep(args) => return sweep::run(&args, output),
        Command::Serve(args) => return serve::run(&args, output),
        Command::Demo(args) => return demo::run(&args, output),
        Command::Join(args) => {
            fedflip_agent::join(&args)?;
            Ok(())
        }
        Command::Fleet(FleetCommand::New(args)) => fleet::new(&args, output),
        Command::Fleet(FleetCommand::Show(args)) => fleet::show(&args, output),
        Command::Plan(args) if args.compare => plan_compare::run(&args, output),
        Command::Plan(args) => plan::run(&args, output),
        Command::Allocate(args) => allocate::run(&args, output),
        Command::Data(DataCommand::List(args)) => data::list(&args, output),
        Command::Data(DataCommand::Get(args)) => data::get(&args, output),
        Command::Data(DataCommand::Check(args)) => data::check(&args, output),
        Command::Data(DataCommand::Inspect(args)) => inspect::inspect(&args, output),
        Command::Scenario(ScenarioCommand::New(args)) => scenario::new(&args, output),
        Command::Scenario(ScenarioCommand::Check(args)) => scenario::check(&args, output),
        Command::Report(args) => report::run(&args, output),
        Command::Export(args) => export::run(&args, output),
        Command::Retime(args) => retime::run(&args, output),
        Command::Certs(command) => certs::run(&command, output),
        Command::Devices(command) => devices::run(&command, output),
        Command::Bench(args) => bench::run(&args, output),
        Command::Bound(args) => bound::run(&args, output),
        Command::Completions(args) => completions::run(&args, output),
        Command::Man(args) => man::run(&args, output),
    }?;
    Ok(ExitStatus::Done)
}

/// One JSON value and a newline.
fn print_json(output: &mut dyn Write, value: &impl Serialize) -> Result<(), CliError> {
    serde_json::to_writer(&mut *output, value).map_err(|error| CliError::Output(error.into()))?;
    Ok(writeln!(output)?)
}

/// What is missing beside the runs of a shard. Standard output keeps to the results.
fn shard_done(shard: Shard) {
    // If nobody listens, the result below says the same in other ways.
    let _ = writeln!(
        std::io::stderr(),
        "shard {shard} is done; the result has its runs and those of the reference alone. When all shards are done, repeat the command with --resume \
         and without --shard to compare all runs, or name the folders of all shards in `fedflip report`"
    );
}

/// Why there is no result.
fn stopped(saved: bool) {
    // If nobody listens, the exit code says it.
    let _ = writeln!(std::io::stderr(), "{}", stopped_text(saved));
}

fn stopped_text(saved: bool) -> &'static str {
    if saved { "stopped; --resume continues" } else { "stopped; nothing was saved (no --out)" }
}
