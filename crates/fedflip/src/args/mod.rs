//! The arguments of every command.

mod bench;
mod certs;
mod completions;
mod costs;
mod crew;
mod data;
mod deploy;
mod devices;
mod fleet;
mod man;
mod plan;
mod report;
mod retime;
mod scenario;
mod training;

use clap::{Parser, Subcommand};

pub(crate) use bench::{BenchArgs, BenchModel};
pub(crate) use certs::{
    CertsCommand, CertsDeviceArgs, CertsInitArgs, CertsListArgs, CertsRenewArgs, CertsRevokeArgs,
    CertsServerArgs,
};
pub(crate) use completions::{CompletionsArgs, Program};
pub(crate) use costs::{BandArgs, CostArgs};
pub(crate) use crew::CrewArgs;
pub(crate) use data::{DataCheckArgs, DataCommand, DataDirArgs, DataGetArgs, DataInspectArgs, DataListArgs};
pub(crate) use deploy::{DemoArgs, ServeArgs};
pub(crate) use devices::{DevicesCommand, DevicesListArgs, DevicesRetireArgs};
pub(crate) use fleet::{FleetCommand, FleetNewArgs, FleetShowArgs};
pub(crate) use man::ManArgs;
pub(crate) use plan::{AllocateArgs, BoundArgs, ConstantsArgs, PlanArgs};
pub(crate) use report::ReportArgs;
pub(crate) use retime::RetimeArgs;
pub(crate) use scenario::{ScenarioCheckArgs, ScenarioCommand, ScenarioNewArgs};
pub(crate) use training::{
    CompareArgs, DashboardArgs, ExportArgs, ExportFormat, ExportTable, PilotArgs, RunArgs, SweepArgs,
    TrainingArgs,
};

const AFTER_HELP: &str = "\
Start here:
  fedflip fleet new --seed 7 > fleet.csv
  fedflip plan fleet.csv --bandwidth 100 --alpha 28.474 --beta 2.2043
  fedflip compare

Exit codes: 0 success; 1 the system failed, for example a disk is full; 2 the input is invalid (the
message says why); 3 the model diverged; 4 the run was interrupted before its end.";

/// Federated learning in which every device flips its own coin.
#[derive(Debug, Parser)]
#[command(name = "fedflip", version, after_help = AFTER_HELP, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make or show a fleet of devices
    #[command(subcommand)]
    Fleet(FleetCommand),
    /// Choose the participation probability of each device
    Plan(PlanArgs),
    /// Share the bandwidth among the devices of one round
    Allocate(AllocateArgs),
    /// Evaluate the convergence bound of Theorem 1, its conditions and the rounds to a threshold
    Bound(BoundArgs),
    /// Download, list or check data sets
    #[command(subcommand)]
    Data(DataCommand),
    /// Print or check a scenario: the settings that decide a run
    #[command(subcommand)]
    Scenario(ScenarioCommand),
    /// Train in virtual time until the target is reached
    Run(RunArgs),
    /// Measure the constants α and β by short runs
    Pilot(PilotArgs),
    /// Run every scheme to the target and compare their times
    Compare(CompareArgs),
    /// Compare all schemes at every value of a key
    Sweep(SweepArgs),
    /// Report on runs: one page with tables and figures, or single files for a paper
    Report(ReportArgs),
    /// Export the records of a run as a table, or its curves for TensorBoard
    Export(ExportArgs),
    /// Recompute the clock of finished runs, without training again
    Retime(RetimeArgs),
    /// Make a certificate authority and identities for devices
    #[command(subcommand)]
    Certs(CertsCommand),
    /// List or retire the devices of a deployed run
    #[command(subcommand)]
    Devices(DevicesCommand),
    /// Train on real devices: wait for them, plan, and run rounds until the target is reached
    Serve(ServeArgs),
    /// Take part in a run as a device
    Join(fedflip_agent::JoinArgs),
    /// Demonstrate a deployment on this machine: a server, five devices of different speeds, a dashboard
    Demo(DemoArgs),
    /// Measure how fast this machine trains
    Bench(BenchArgs),
    /// Print a script with which a shell completes commands and options
    Completions(CompletionsArgs),
    /// Write the manual pages
    Man(ManArgs),
}

/// Reads a plain number. Each command checks the range itself.
fn number(text: &str) -> Result<f64, String> {
    text.trim().parse().map_err(|_| "write a plain number without a unit, such as 100 or 0.5".to_owned())
}

/// Reads a whole number from 0 up.
fn count(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| "write a whole number from 0 up, digits only, such as 1000".to_owned())
}
