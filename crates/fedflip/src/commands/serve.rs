//! `fedflip serve`: training on real devices.

use std::io::Write;
use std::net::SocketAddr;
use std::slice::from_ref;

use fedflip_agent::{LogFormat, logs};
use fedflip_dashboard::DeviceWatch;
use fedflip_net::door::Security;
use fedflip_net::status::Reach;
use fedflip_record::{EndReason, Summary};
use serde::Serialize;
use tracing::info;

use super::outcome::{self, line};
use super::print_json;
use crate::args::ServeArgs;
use crate::bar::Bar;
use crate::dashboard::{self, Watched, tell_people};
use crate::error::{CliError, ExitStatus};
use crate::interrupt;
use crate::training::{new_session, overrides, read_scenario, warn_of_idle_keys};
use fedflip_run::Session;
use fedflip_run::deployed::{Served, Serving, address, with_authority};
use fedflip_scenario::Scenario;

const PORT: u16 = 7700;

const RESUMES: &str = "the same command resumes the run";

#[derive(Serialize)]
struct ServeJson<'a> {
    /// None before the first plan.
    #[serde(flatten)]
    summary: Option<&'a Summary>,
    /// `stopped` if it resumes when it is started again.
    status: &'static str,
    out: String,
}

pub(super) fn run(args: &ServeArgs, output: &mut dyn Write) -> Result<ExitStatus, CliError> {
    logs::begin(args.logs);
    let overrides = overrides(&args.set, args.seed);
    let scenario = read_scenario(&args.scenario, &overrides, args.scheme.as_deref())?;
    warn_of_idle_keys(&args.set, from_ref(&scenario.plan.scheme), from_ref(&scenario));
    let serving = serving(args, &scenario)?;
    serving.check(false)?;
    interrupt::catch(false);
    let for_programs = args.logs.log == LogFormat::Json;
    let (mut session, watch) = session(args, for_programs)?;
    // The server stays as long as the dashboard does: late devices are told that the run is over.
    let Served { summary, server: _server } =
        serving.run(None, &mut session, &mut |server| watch.ask(server.fleet_source()))?;

    let end = summary.as_ref().and_then(|summary| summary.end);
    if args.json {
        let (status, out) = (super::run::status(end), args.out.display().to_string());
        print_json(output, &ServeJson { summary: summary.as_ref(), status, out })?;
    } else if let Some(summary) = &summary {
        write_text(output, &scenario, summary, args)?;
    } else {
        writeln!(output, "{} stopped before its first plan; {RESUMES}", scenario.task.name())?;
    }
    session.observers.all_done();
    dashboard::linger(&args.dashboard, output, || match for_programs {
        true => info!("{}", dashboard::STAYS),
        // If nobody listens, it stays all the same.
        false => drop(writeln!(std::io::stderr(), "{}", dashboard::STAYS)),
    })?;
    Ok(match end {
        Some(EndReason::Diverged) => ExitStatus::Diverged,
        _ => ExitStatus::Done,
    })
}

/// The scenario and the flags that say how it is served.
fn serving<'a>(args: &'a ServeArgs, scenario: &'a Scenario) -> Result<Serving<'a>, CliError> {
    let status = args.metrics.as_deref().map(|text| address("metrics", text)).transpose()?;
    let reach = if args.metrics_public { Reach::Everybody } else { Reach::ThisMachine };
    Ok(Serving {
        scenario,
        out: &args.out,
        listen: listen(args)?,
        security: match args.insecure {
            true => Security::Plain,
            false => Security::MutualTls { certs_folder: with_authority(&args.certs)? },
        },
        status: status.map(|address| (address, reach)),
        pilots: args.pilots,
        devices_min: args.devices_min.map(|least| least as usize),
        devices_max: args.devices_max.map(|most| most as usize),
        samples_max: args.samples_max,
        replan_every: (args.replan_every > 0).then_some(args.replan_every),
        window_secs: args.window_secs,
        quorum: args.quorum,
    })
}

/// Rounds go to the log; a dashboard shows them, too.
fn session(args: &ServeArgs, for_programs: bool) -> Result<(Session<'static>, DeviceWatch), CliError> {
    let mut session = new_session(&args.data, args.threads)?;
    session.observers.add(Bar::without_rounds());
    let watched = Watched::of(&args.dashboard, &|address| match for_programs {
        true => info!(url = %format!("http://{address}/"), "{}", dashboard::SERVED),
        false => tell_people(address),
    })?;
    let watch = watched.as_ref().map(Watched::device_watch).unwrap_or_default();
    if let Some(watched) = watched {
        session.observers.add(watched);
    }
    Ok((session, watch))
}

/// Where devices call: everywhere with certificates, this machine without.
fn listen(args: &ServeArgs) -> Result<SocketAddr, CliError> {
    match &args.listen {
        Some(text) => Ok(address("listen", text)?),
        None if args.insecure => Ok(SocketAddr::from(([127, 0, 0, 1], PORT))),
        None => Ok(SocketAddr::from(([0, 0, 0, 0], PORT))),
    }
}

fn write_text(
    output: &mut dyn Write,
    scenario: &Scenario,
    summary: &Summary,
    args: &ServeArgs,
) -> Result<(), CliError> {
    let how = match summary.end {
        Some(reason) => reason.in_words(true),
        None => &format!("stopped; {RESUMES}"),
    };
    writeln!(output, "{} under {} {how}", scenario.task.name(), summary.scheme)?;
    outcome::write(output, "time", summary, None)?;
    if let Some(rule) = scenario.round.aggregation.robust_name() {
        line(output, "aggregation", &format!("{rule} (biased)"))?;
    }
    line(output, "kept in", &args.out.display().to_string())
}
