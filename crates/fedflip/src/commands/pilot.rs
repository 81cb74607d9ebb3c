//! `fedflip pilot`: α and β from short runs.

use std::io::Write;

use fedflip_plan::{Interval, PilotFit};
use fedflip_record::Summary;
use fedflip_report::standing::Bound;
use serde::Serialize;

use super::print_json;
use crate::args::PilotArgs;
use crate::error::{CliError, ExitStatus};
use crate::render::{Cell, Table, duration, significant};
use crate::training::{self, overrides, warn_of_keys_idle_in_pilots};
use fedflip_run::Setup;
use fedflip_run::pilots::{Piloted, Pilots};
use fedflip_scenario::Source;

#[derive(Serialize)]
struct PilotJson<'a> {
    alpha: f64,
    beta: f64,
    alpha_interval: Option<[f64; 2]>,
    beta_interval: Option<[f64; 2]>,
    /// What Algorithm 2 takes: both pilots, averaged over the seeds.
    hours: f64,
    loss: f64,
    runs: &'a [Summary],
}

pub(super) fn run(args: &PilotArgs, output: &mut dyn Write) -> Result<ExitStatus, CliError> {
    let source = Source::read(&args.scenario)?;
    let scenario = source.scenario(&overrides(&args.training.set, args.training.seed))?;
    warn_of_keys_idle_in_pilots(&args.training.set);
    let mut session = training::session(&args.training)?;
    let setup = Setup::new(&scenario, &mut session)?;
    let pilots = Pilots {
        setup: &setup,
        scenario: &scenario,
        out: args.training.out.as_deref(),
        prefix: "",
        kept: 0,
        part: None,
    };
    let Some(piloted) = setup.with_crew(session.threads, |crew| pilots.run(crew, &mut session))? else {
        super::stopped(args.training.out.is_some());
        return Ok(ExitStatus::Stopped);
    };
    let (json, loss) = (args.training.json, scenario.pilot.loss);
    if !json {
        write_runs(output, &piloted.runs, loss)?;
    }
    let fit = match &piloted.fit {
        Ok(fit) => fit,
        // The table says what the refusal is about, so it is not dropped.
        Err(error) => {
            output.flush()?;
            return Err(error.clone().into());
        }
    };
    if json {
        print_json(output, &PilotJson::new(&piloted, fit, loss))?;
    } else {
        write_fit(output, fit, piloted.hours())?;
    }
    training::finish(session, &args.training, output)?;
    Ok(ExitStatus::Done)
}

impl<'a> PilotJson<'a> {
    fn new(piloted: &'a Piloted, fit: &PilotFit, loss: f64) -> Self {
        let ends = |interval: Option<Interval>| interval.map(|interval| [interval.low, interval.high]);
        Self {
            alpha: fit.constants.alpha(),
            beta: fit.constants.beta(),
            alpha_interval: ends(fit.alpha_interval),
            beta_interval: ends(fit.beta_interval),
            hours: piloted.hours(),
            loss,
            runs: &piloted.runs,
        }
    }
}

fn write_runs(output: &mut dyn Write, runs: &[Summary], loss: f64) -> Result<(), CliError> {
    writeln!(output, "pilots to a loss of {}\n", significant(loss, 4))?;
    let mut table = Table::new(&["scheme", "seed", "rounds", "virtual time", "participants"]);
    for run in runs {
        let bound = Bound::lower_if(!run.reached());
        table.row([
            Cell::text(&run.scheme),
            Cell::count(run.seed),
            Cell::count(run.rounds).bounded(bound),
            Cell::hours(Some(run.hours)).bounded(bound),
            Cell::short(Some(run.mean_participants)),
        ]);
    }
    table.write(output)?;
    Ok(writeln!(output)?)
}

fn write_fit(output: &mut dyn Write, fit: &PilotFit, hours: f64) -> Result<(), CliError> {
    let (alpha, beta) = (fit.constants.alpha(), fit.constants.beta());
    let spread = |interval: Option<Interval>| {
        interval.map_or(String::new(), |Interval { low, high }| {
            format!("   95 %: {} to {}", significant(low, 4), significant(high, 4))
        })
    };
    writeln!(output, "  alpha   {}{}", significant(alpha, 5), spread(fit.alpha_interval))?;
    writeln!(output, "  beta    {}{}", significant(beta, 5), spread(fit.beta_interval))?;
    writeln!(output, "  a pair of pilots takes {} of virtual time", duration(3600.0 * hours))?;
    writeln!(output, "\nfor a scenario:\n\n[plan]\nalpha = {alpha}\nbeta = {beta}")?;
    Ok(())
}
