//! Runs on real devices: the plans that held one after another, and how each device did.

use super::Material;
use crate::collection::{Group, SchemeRuns};
use crate::devices::Devices;
use crate::model::Block;
use crate::numbers::{count, duration, percent};
use crate::run_view::{HeldPlan, RunView};
use crate::table::{Cell, Field, Table, number, words};

/// Rows of a table on the page.
const ROWS_MAX: usize = 200;

pub(super) fn plans(Material { group, .. }: &Material<'_>) -> Option<Block> {
    plans_table(group).map(Block::Table)
}

pub(super) fn devices(Material { group, .. }: &Material<'_>) -> Option<Block> {
    devices_table(group).map(Block::Table)
}

/// The plans of a group's runs, one after another; none of simulations, which have one each.
pub fn plans_table(group: &Group) -> Option<Table> {
    let on_devices = group.runs().filter(|_| group.setting.on_devices());
    let all: Vec<_> = on_devices.flat_map(|run| run.plans.iter().map(move |plan| (run, plan))).collect();
    let left_out = all.len().saturating_sub(ROWS_MAX);
    let shortened = match left_out {
        0 => String::new(),
        plans => format!(" The {} before these are left out.", count(plans)),
    };
    let note = format!(
        "Predictions are for a whole run under the plan. In a biased round a device of the cohort did not \
         report. A device that was away when a round was opened does not bias the round, as long as its absence is \
         independent of its update: its coin makes up for its availability.{shortened}"
    );
    let table = Table::of(all[left_out..].iter().map(|(run, plan)| plan_row(run, plan)))?;
    Some(table.named("plans", "Sequence of plans", &note))
}

fn plan_row(run: &RunView, plan: &HeldPlan) -> Vec<Field> {
    let made = &plan.made;
    let mean_q = made.expected_participants / made.devices.max(1) as f64;
    let mean_secs = (plan.rounds > 0).then(|| plan.secs / plan.rounds as f64);
    let expected = made.expected_rounds.zip(made.expected_round_secs);
    let expected_hours = expected.map(|(rounds, secs)| rounds * secs / 3600.0);
    vec![
        words("scheme", "scheme", &run.header.scheme),
        number("seed", "seed", Cell::count(run.header.seed)),
        number("from round", "from_round", Cell::count(made.after_round + 1)),
        words("why", "reason", &made.reason),
        number("devices", "devices", Cell::count(made.devices as u64)),
        number("of these benched", "benched", Cell::count(made.benched.len() as u64)),
        number("of these retired", "retired", Cell::count(made.retired.len() as u64)),
        number("mean q", "mean_q", Cell::number(Some(mean_q), percent)),
        number("overhead", "overhead_secs", Cell::number(Some(made.costs.overhead_secs), duration)),
        number("rounds, predicted", "expected_rounds", Cell::short(made.expected_rounds)),
        number("E[T̂]", "expected_round_secs", Cell::number(made.expected_round_secs, duration)),
        number("round, realised", "round_secs", Cell::number(mean_secs, duration)),
        number("time, predicted", "expected_hours", Cell::hours(expected_hours)),
        number("rounds under it", "rounds", Cell::count(plan.rounds)),
        number("of these biased", "biased_rounds", Cell::count(plan.biased_rounds)),
    ]
}

/// How each device did, those who were lost most often first; none of simulations.
pub fn devices_table(group: &Group) -> Option<Table> {
    let mut rows = Vec::new();
    let mut all = 0;
    for scheme in group.schemes.iter().filter(|_| group.setting.on_devices()) {
        let Some(devices) = &scheme.devices else { continue };
        let mut positions: Vec<usize> = (0..devices.fleet.len()).collect();
        positions.sort_by_key(|&device| std::cmp::Reverse(scheme.lost(device)));
        all += positions.len();
        positions.truncate(ROWS_MAX.saturating_sub(rows.len()));
        rows.extend(positions.into_iter().map(|device| device_row(scheme, devices, device)));
    }
    let shortened = match all - rows.len() {
        0 => String::new(),
        _ => format!(" {} of {} are shown.", count(rows.len()), count(all)),
    };
    let note = format!(
        "q and the availability that it was planned with belong to the last plan; all other columns are for the whole run. \
         Availability is the share of rounds in which a device can be reached and reports.{shortened}"
    );
    Some(Table::of(rows)?.named("devices", "Devices", &note))
}

fn device_row(scheme: &SchemeRuns, devices: &Devices, device: usize) -> Vec<Field> {
    let taken = scheme.participations(device);
    let frequency = taken as f64 / (scheme.rounds() as f64).max(1.0);
    let planned = devices.fleet.availability()[device];
    let measured = devices.availability.as_ref().and_then(|measured| measured.get(device)).copied();
    vec![
        words("scheme", "scheme", &scheme.scheme),
        words("device", "device", devices.fleet.name(device)),
        number("planned q", "q", Cell::number(Some(devices.q[device]), percent)),
        number("took part", "participations", Cell::count(taken)),
        number("of rounds", "frequency", Cell::number(Some(frequency), percent)),
        number("lost", "lost", Cell::count(scheme.lost(device))),
        number("availability, planned with", "planned_availability", Cell::number(Some(planned), percent)),
        number("availability, measured", "availability", Cell::number(measured, percent)),
    ]
}
