//! `fedflip devices`: the devices of a deployed run.

use std::io::Write;
use std::path::Path;

use fedflip_net::NetError;
use fedflip_net::state::{Departed, Departure, EnrolledDevice, StateView, departed};
use fedflip_net::status::{DeviceStatus, FleetStatus, Standing};
use serde::Serialize;

use super::certs::now_unix_secs;
use super::print_json;
use crate::args::{DevicesCommand, DevicesListArgs, DevicesRetireArgs};
use crate::error::CliError;
use crate::render::Table;

/// A status that is older than this is of a server that does not run any more.
const FRESH_SECS: i64 = 60;
const DAY_SECS: i64 = 86_400;

/// A device, and the word for its state.
#[derive(Serialize)]
struct ListedDevice {
    state: &'static str,
    #[serde(flatten)]
    status: DeviceStatus,
}

pub(super) fn run(command: &DevicesCommand, output: &mut dyn Write) -> Result<(), CliError> {
    match command {
        DevicesCommand::List(args) => list(args, output),
        DevicesCommand::Retire(args) => retire(args, output),
    }
}

fn list(args: &DevicesListArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let folder = &args.folder.run;
    let enrolled = StateView::open(folder)?.devices()?;
    let (departed, now) = (departed::read(folder)?, now_unix_secs());
    let devices = listed(&enrolled, &departed, FleetStatus::read(folder), now);
    if args.json {
        return print_json(output, &devices);
    }
    let mut table = Table::new(&[
        "device",
        "slot",
        "state",
        "samples",
        "compute",
        "link",
        "availability",
        "version",
        "certificate",
        "last seen",
    ]);
    for ListedDevice { state, status } in devices {
        let certificate = status.certificate_until_unix_secs.map(|until| remaining(until, now));
        table.row(vec![
            status.name,
            status.slot.to_string(),
            state.to_owned(),
            status.samples.to_string(),
            format!("{:.3} s", status.compute_secs),
            status.link_mbps.map_or_else(|| "-".to_owned(), |mbps| format!("{mbps:.3} Mbit/s")),
            format!("{:.0} %", 100.0 * status.availability),
            if status.version.is_empty() { "-".to_owned() } else { status.version },
            certificate.unwrap_or_else(|| "-".to_owned()),
            status.last_seen_unix_secs.map_or_else(|| "-".to_owned(), |seen| ago(seen, now)),
        ]);
    }
    table.write(output)?;
    Ok(())
}

/// Every device that has enrolled, with what the server last wrote of it.
fn listed(
    enrolled: &[EnrolledDevice],
    departed: &Departed,
    written: Option<FleetStatus>,
    now_unix_secs: i64,
) -> Vec<ListedDevice> {
    let is_fresh =
        written.as_ref().is_some_and(|written| now_unix_secs.saturating_sub(written.unix_secs) <= FRESH_SECS);
    let written = written.map(|written| written.devices).unwrap_or_default();
    let device = |enrolled: &EnrolledDevice| {
        let known = written.get(enrolled.slot).filter(|status| status.name == enrolled.name).cloned();
        let mut status = known.unwrap_or_else(|| unknown(enrolled));
        status.is_connected &= is_fresh;
        match departed.get(&enrolled.name) {
            Some(Departure::Retired) => status.standing = Standing::Retired,
            Some(Departure::Revoked) => status.standing = Standing::Revoked,
            None => {}
        }
        let state = match (status.standing, status.is_connected) {
            (Standing::Active, true) => "connected",
            (Standing::Active, false) if is_fresh => "away",
            (Standing::Active, false) => "enrolled",
            (standing, _) => standing.name(),
        };
        ListedDevice { state, status }
    };
    enrolled.iter().map(device).collect()
}

/// A device of which the server has written nothing.
fn unknown(device: &EnrolledDevice) -> DeviceStatus {
    let EnrolledDevice { slot, name, samples, compute_secs, comm_mbit, .. } = device.clone();
    DeviceStatus {
        slot,
        name,
        is_connected: false,
        standing: Standing::Active,
        version: String::new(),
        samples,
        compute_secs,
        comm_mbit,
        link_mbps: None,
        availability: 1.0,
        certificate_until_unix_secs: None,
        last_seen_unix_secs: None,
    }
}

fn remaining(until_unix_secs: i64, now_unix_secs: i64) -> String {
    match until_unix_secs.saturating_sub(now_unix_secs) {
        secs if secs < 0 => "expired".to_owned(),
        secs => format!("{} days", secs / DAY_SECS),
    }
}

fn ago(seen_unix_secs: i64, now_unix_secs: i64) -> String {
    match now_unix_secs.saturating_sub(seen_unix_secs).max(0) {
        secs if secs < 60 => format!("{secs} s ago"),
        secs if secs < 3600 => format!("{} min ago", secs / 60),
        secs if secs < DAY_SECS => format!("{} h ago", secs / 3600),
        secs => format!("{} days ago", secs / DAY_SECS),
    }
}

fn retire(args: &DevicesRetireArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let folder: &Path = &args.folder.run;
    let enrolled = StateView::open(folder)?.devices()?;
    let names = || enrolled.iter().map(|device| device.name.as_str());
    for name in &args.names {
        if !names().any(|known| known == name) {
            let nearest = fedflip_fleet::nearest(name, names()).map(str::to_owned);
            return Err(NetError::NotInRun { name: name.clone(), nearest }.into());
        }
    }
    let gone = departed::read(folder)?;
    let stays = |name: &&str| !gone.contains_key(*name) && !args.names.iter().any(|other| other == name);
    if !names().any(|name| stays(&name)) {
        return Err(CliError::usage(
            "no device would be left in this run",
            "stop the server instead; a new run in another folder has a new fleet",
        ));
    }
    departed::add(folder, args.names.iter().map(|name| (name.as_str(), Departure::Retired)))?;
    for name in &args.names {
        match gone.get(name) {
            Some(_) => writeln!(output, "{name} has left this run before")?,
            None => writeln!(output, "{name} is retired: the next plan is for the others")?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_of_long_ago_connects_nobody() {
        let enrolled: Vec<EnrolledDevice> = (0..3)
            .map(|slot| EnrolledDevice {
                slot,
                name: format!("phone-{slot}"),
                coin: [0; 32],
                samples: 10.0,
                compute_secs: 2.0,
                comm_mbit: 8.0,
            })
            .collect();
        let connected = |device: &EnrolledDevice| DeviceStatus { is_connected: true, ..unknown(device) };
        // The last device has enrolled since.
        let written = FleetStatus { unix_secs: 1000, devices: enrolled[..2].iter().map(connected).collect() };
        let departed: Departed = [("phone-1".to_owned(), Departure::Retired)].into();
        let states = |now| -> Vec<&str> {
            let devices = listed(&enrolled, &departed, Some(written.clone()), now);
            devices.iter().map(|device| device.state).collect()
        };
        assert_eq!(states(1010), ["connected", "retired", "away"]);
        assert_eq!(states(1000 + FRESH_SECS + 1), ["enrolled", "retired", "enrolled"]);
        let never: Vec<&str> =
            listed(&enrolled, &departed, None, 0).iter().map(|device| device.state).collect();
        assert_eq!(never, ["enrolled", "retired", "enrolled"]);
    }
}
