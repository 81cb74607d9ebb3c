//! `fedflip serve`: training on real devices.
//!
//! - `checks`: what is refused before the server listens.

mod checks;

use std::io::Write;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::slice::from_ref;
use std::sync::Arc;
use std::time::Duration;

use fedflip_agent::{LogFormat, logs};
use fedflip_dashboard::DeviceWatch;
use fedflip_net::NetError;
use fedflip_net::door::{Limits, Security};
use fedflip_net::server::{FleetCapacity, NormBound, Offer, Server, ServerSettings, Timeouts};
use fedflip_net::status::Reach;
use fedflip_record::{EndReason, Summary};
use serde::Serialize;
use tracing::{info, warn};

use self::checks::{check_for_devices, devices_min, refuse_another_folder, with_authority};
use super::outcome::{self, line};
use super::print_json;
use crate::args::ServeArgs;
use crate::bar::Bar;
use crate::dashboard::{self, Watched, tell_people};
use crate::error::{CliError, ExitStatus};
use crate::interrupt;
use crate::training::{new_session, overrides, read_scenario, warn_of_idle_keys};
use fedflip_run::Session;
use fedflip_run::deployed::{self, Deployed, Host};
use fedflip_scenario::{Scenario, Where};

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
    let timeouts = timeouts(args)?;
    let listen = listen(args)?;
    let capacity = fleet_capacity(args, &scenario)?;
    let devices_min = devices_min(args.devices_min, scenario.devices(), capacity.devices_max)?;
    let settings = server_settings(args, listen)?;
    refuse_another_folder(&args.out)?;
    rehearse(&settings, &scenario)?;
    check_for_devices(&scenario, args.pilots)?;
    interrupt::catch(false);
    let for_programs = args.logs.log == LogFormat::Json;
    let (mut session, watch) = session(args, for_programs)?;
    let host = Host::new(&scenario, &mut session)?;
    let deployed = Deployed {
        scenario: &scenario,
        host: &host,
        out: &args.out,
        pilots: args.pilots,
        devices_min,
        replan_every: (args.replan_every > 0).then_some(args.replan_every),
        timeouts,
    };
    let opened = deployed.open()?;
    let update_norm = host.update_norm(&scenario, &mut session)?;
    let samples_max = args.samples_max;
    let offer =
        Offer { update_norm, capacity, samples_max, ..offer(&scenario, host.parameters(), host.samples())? };
    let server = Server::start(&settings, &offer)?;
    scenario.target().into_iter().for_each(|target| server.metrics().ends_at(target));
    watch.ask(server.fleet_source());
    announce(&server, capacity.devices_max, settings.limits.connections_max);
    let summary = deployed.run(&server, opened, &mut session)?;

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

fn announce(server: &Server, devices: usize, connections_max: usize) {
    info!(address = %server.address(), devices, connections_max, "listening");
    if connections_max < devices {
        warn!(devices, connections_max, "not all devices can be connected at once: raise `ulimit -n`");
    }
    if let Some(address) = server.status_address() {
        info!(%address, "serving metrics and health");
    }
}

/// Where and to whom the server listens.
fn server_settings(args: &ServeArgs, listen: SocketAddr) -> Result<ServerSettings, CliError> {
    let status = args.metrics.as_deref().map(|text| address("--metrics", text)).transpose()?;
    let security = match args.insecure {
        true => Security::Plain,
        false => Security::MutualTls { certs_folder: with_authority(&args.certs)? },
    };
    let reach = if args.metrics_public { Reach::Everybody } else { Reach::ThisMachine };
    let limits = Limits::of_this_process();
    Ok(ServerSettings { listen, security, limits, status: status.map(|address| (address, reach)) })
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

/// What devices are told; no update is small enough yet, and no device has few enough samples.
fn offer(scenario: &Scenario, parameters: usize, samples: Arc<[u64]>) -> Result<Offer, CliError> {
    let (task, devices) = (deployed::offered(scenario)?, scenario.devices());
    let (seed, encoding) = (scenario.seed, scenario.update.encoding);
    let download_encoding = scenario.download_encoding();
    let (bandwidth_mbps, signals) = deployed::band(scenario);
    let update_norm = NormBound::Configured(0.0);
    let capacity = FleetCapacity { devices_max: devices, slots_max: shares(scenario) };
    let weights = scenario.data.weights.clone();
    Ok(Offer {
        task,
        seed,
        parameters,
        samples,
        samples_max: 0,
        weights,
        bandwidth_mbps,
        encoding,
        download_encoding,
        signals,
        update_norm,
        capacity,
    })
}

/// Whatever can be refused is, before the run's folder is made: a server that cannot listen leaves nothing behind.
fn rehearse(settings: &ServerSettings, scenario: &Scenario) -> Result<(), CliError> {
    let address = settings.listen;
    if settings.security == Security::Plain && !address.ip().is_loopback() {
        return Err(NetError::PlainText { address }.into());
    }
    TcpListener::bind(address).map_err(|source| NetError::Listen { address, source })?;
    // The certificates and the address of the metrics, behind a port that nobody knows.
    let listen = SocketAddr::new(address.ip(), 0);
    Server::start(&ServerSettings { listen, ..settings.clone() }, &offer(scenario, 0, Arc::default())?)?;
    Ok(())
}

/// How many devices may enrol. Where each slot has its own share of a data set, there are no more slots than shares.
fn fleet_capacity(args: &ServeArgs, scenario: &Scenario) -> Result<FleetCapacity, CliError> {
    let devices_max = args.devices_max.map_or(scenario.devices(), |most| most as usize);
    let slots_max = shares(scenario);
    if let Some(shares) = slots_max {
        let wanted =
            format!("at most fleet.devices, the number of shares of the data set, which is {shares}");
        CliError::in_range("--devices-max", devices_max as f64, 1.0..=shares as f64, &wanted)?;
    }
    Ok(FleetCapacity { devices_max, slots_max })
}

/// The number of shares of the data set; none where devices bring data of their own.
fn shares(scenario: &Scenario) -> Option<usize> {
    let bring_data = scenario.task.is_external() || scenario.data.own.place == Where::Devices;
    (!bring_data).then(|| scenario.devices())
}

/// Where devices call: everywhere with certificates, this machine without.
fn listen(args: &ServeArgs) -> Result<SocketAddr, CliError> {
    match &args.listen {
        Some(text) => address("--listen", text),
        None if args.insecure => Ok(SocketAddr::from(([127, 0, 0, 1], PORT))),
        None => Ok(SocketAddr::from(([0, 0, 0, 0], PORT))),
    }
}

fn address(flag: &str, text: &str) -> Result<SocketAddr, CliError> {
    let found = text.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
    found.ok_or_else(|| {
        let hint = "write ADDRESS:PORT, such as 127.0.0.1:7700";
        CliError::usage(format!("{flag}: {text:?} is no address"), hint)
    })
}

fn timeouts(args: &ServeArgs) -> Result<Timeouts, CliError> {
    let ServeArgs { window_secs, quorum, .. } = *args;
    let wanted = "a number of seconds from 0.001 to 3600";
    CliError::in_range("--window-secs", window_secs, 0.001..=3600.0, wanted)?;
    CliError::in_range("--quorum", quorum, 0.0..=1.0, "a share from 0 to 1")?;
    Ok(Timeouts { window: Duration::from_secs_f64(window_secs), quorum, ..Timeouts::default() })
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
