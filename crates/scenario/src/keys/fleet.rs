//! The keys of `[fleet]`: a file, or what a fleet is made from; and the bandwidth.

use std::fs::File;
use std::sync::Arc;

use fedflip_fleet::profile::PAPER;
use fedflip_fleet::{DEVICES_MAX, Gflop, Mbit, Mbps, csv_file};

use super::{Key, Shown, key};
use crate::error::Refusal;
use crate::value::{Given, Value};
use crate::{FleetSource, GeneratedFleet, Scenario};

pub(super) static KEYS: &[Key] = &[
    key(
        "fleet",
        "file",
        "a fleet file; then leave out the five keys below",
        |s| match &s.fleet {
            FleetSource::File { name, .. } => Some(Value::text(name)),
            FleetSource::Generated(_) => None,
        },
        set_file,
    )
    .shown(Shown::Example("\"fleet.csv\"")),
    key(
        "fleet",
        "devices",
        "number of devices, in equal blocks of each type",
        |s| generated(s).map(|fleet| Value::count(fleet.devices)),
        |s, v| v.count(1..=DEVICES_MAX).map(|count| change(s, |fleet| fleet.devices = count)),
    ),
    key(
        "fleet",
        "types",
        "the paper's five types, with the speeds of docs/reference/device-types.md",
        |s| {
            let names =
                |fleet: &GeneratedFleet| fleet.types.iter().map(|kind| Value::text(kind.slug)).collect();
            generated(s).map(|fleet| Value::List(names(fleet)))
        },
        |s, v| {
            let types = v.choices(&PAPER.map(|kind| (kind.slug, kind)))?;
            change(s, |fleet| fleet.types = types);
            Ok(())
        },
    ),
    key(
        "fleet",
        "payload_mbit",
        "size of an upload; by default the update in its encoding",
        |s| generated(s).map(|fleet| Value::Number(fleet.payload.get())),
        |s, v| v.quantity(Mbit::new, Mbit::WANTED).map(|mbit| change(s, |fleet| fleet.payload = mbit)),
    )
    .shown(Shown::Follows),
    key(
        "fleet",
        "work_gflop",
        "work of a device per round; by default its train.iterations of SGD",
        |s| generated(s).map(|fleet| Value::Number(fleet.work.get())),
        |s, v| v.quantity(Gflop::new, Gflop::WANTED).map(|gflop| change(s, |fleet| fleet.work = gflop)),
    )
    .shown(Shown::Follows),
    key(
        "fleet",
        "sample_work_gflop",
        "work for each sample of a device; by default its train.epochs",
        |s| {
            let work = generated(s).map(|fleet| fleet.sample_work).filter(|work| *work != Gflop::ZERO);
            work.map(|work| Value::Number(work.get()))
        },
        |s, v| {
            v.quantity(Gflop::new, Gflop::WANTED).map(|gflop| change(s, |fleet| fleet.sample_work = gflop))
        },
    )
    .shown(Shown::FollowsOr("0.003")),
    key(
        "fleet",
        "bandwidth_mbps",
        "f_tot: the bandwidth that a cohort shares, in Mbit/s",
        |s| Some(Value::Number(s.bandwidth.get())),
        |s, v| v.quantity(Mbps::new, Mbps::WANTED).map(|bandwidth| s.bandwidth = bandwidth),
    ),
];

fn generated(scenario: &Scenario) -> Option<&GeneratedFleet> {
    if let FleetSource::Generated(fleet) = &scenario.fleet { Some(fleet) } else { None }
}

/// A file and these keys do not stand beside each other: see `resolve`.
fn change(scenario: &mut Scenario, change: impl FnOnce(&mut GeneratedFleet)) {
    if let FleetSource::Generated(fleet) = &mut scenario.fleet {
        change(fleet);
    }
}

/// The file is read here and now: how many devices there are decides how the data are shared.
fn set_file(s: &mut Scenario, v: &Given<'_>) -> Result<(), Refusal> {
    let name = v.text("the name of a fleet file, from the scenario's folder")?;
    if let Some(fleet) = &v.memory.fleet {
        s.fleet = FleetSource::File { name: name.to_owned(), fleet: Arc::clone(fleet), in_memory: true };
        return Ok(());
    }
    let path = v.folder.join(name);
    let shown = path.display().to_string();
    let file = File::open(&path).map_err(|error| Refusal {
        problem: format!("{shown} cannot be opened: {error}"),
        hint: "name a fleet file from the scenario's folder; `fedflip fleet new` makes one".to_owned(),
    })?;
    let fleet = csv_file::read(file, &shown)
        .map_err(|error| Refusal { problem: error.to_string(), hint: error.hint() })?;
    s.fleet = FleetSource::File { name: name.to_owned(), fleet: Arc::new(fleet), in_memory: false };
    Ok(())
}
