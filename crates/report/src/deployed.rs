//! Runs on real devices: the plans that held one after another, and how each device did.

use fedflip_record::{Header, Replan, Round};

use crate::collection::{Group, SchemeRuns};
use crate::numbers::{count, duration, percent, significant};
use crate::table::{Cell, Column, Table};

/// Rows of a table on the page.
const ROWS_MAX: usize = 200;

/// A plan, and what became of it while it held.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeldPlan {
    /// The last round of the plan before.
    pub after_round: u64,
    /// Why it was made.
    pub reason: String,
    /// How many it is for.
    pub devices: usize,
    /// How many of these are not part of it, because they keep failing to deliver.
    pub benched: usize,
    /// Σ q.
    pub expected_participants: f64,
    /// Of a whole run under it.
    pub expected_rounds: Option<f64>,
    /// E[T̂].
    pub expected_round_secs: Option<f64>,
    /// Rounds under it.
    pub rounds: u64,
    /// Rounds under it in which a device of the cohort did not report.
    pub biased_rounds: u64,
    /// How long its rounds took.
    pub secs: f64,
}

impl HeldPlan {
    pub(crate) fn first(header: &Header) -> Self {
        Self {
            reason: "the first plan".to_owned(),
            devices: header.devices,
            expected_participants: header.expected_participants,
            expected_rounds: header.expected_rounds,
            expected_round_secs: header.expected_round_secs,
            ..Self::default()
        }
    }

    pub(crate) fn of(replan: Replan) -> Self {
        Self {
            after_round: replan.after_round,
            reason: replan.reason,
            devices: replan.devices,
            benched: replan.benched.len(),
            expected_participants: replan.expected_participants,
            expected_rounds: replan.expected_rounds,
            expected_round_secs: replan.expected_round_secs,
            ..Self::default()
        }
    }

    pub(crate) fn add(&mut self, round: &Round) {
        self.rounds += 1;
        self.biased_rounds += u64::from(!round.lost.is_empty());
        self.secs += round.round_secs;
    }

    fn expected_secs(&self) -> Option<f64> {
        self.expected_rounds.zip(self.expected_round_secs).map(|(rounds, secs)| rounds * secs)
    }
}

/// The plans of a group's runs, one after another; none of simulations, which have one each.
pub fn plans_table(group: &Group) -> Option<Table> {
    if !group.setting.on_devices() {
        return None;
    }
    let all = group.runs().flat_map(|run| run.plans.iter().map(move |plan| (run, plan)));
    let all: Vec<_> = all.collect();
    let left_out = all.len().saturating_sub(ROWS_MAX);
    let rows = all[left_out..].iter().map(|(run, plan)| {
        let mean_secs = (plan.rounds > 0).then(|| plan.secs / plan.rounds as f64);
        vec![
            Cell::text(&run.header.scheme),
            Cell::count(run.header.seed),
            Cell::count(plan.after_round + 1),
            Cell::text(&plan.reason),
            Cell::count(plan.devices as u64),
            Cell::count(plan.benched as u64),
            Cell::number(Some(plan.expected_participants / plan.devices.max(1) as f64), percent),
            Cell::number(plan.expected_rounds, |rounds| significant(rounds, 3)),
            Cell::number(plan.expected_round_secs, duration),
            Cell::number(mean_secs, duration),
            Cell::number(plan.expected_secs().map(|secs| secs / 3600.0), |hours| duration(3600.0 * hours)),
            Cell::count(plan.rounds),
            Cell::count(plan.biased_rounds),
        ]
    });
    let shortened = match left_out {
        0 => String::new(),
        plans => format!(" The {} before these are left out.", count(plans)),
    };
    let note = "What was predicted is of a whole run under the plan. In a biased round a device of the cohort did not \
                report. A device that was away when a round was opened does not bias the round, as long as its absence is \
                independent of its update: its coin makes up for its availability.";
    Some(Table {
        name: "plans".to_owned(),
        title: "Plans, one after another".to_owned(),
        note: format!("{note}{shortened}"),
        columns: vec![
            Column::words("scheme", "scheme"),
            Column::number("seed", "seed"),
            Column::number("from round", "from_round"),
            Column::words("why", "reason"),
            Column::number("devices", "devices"),
            Column::number("of these benched", "benched"),
            Column::number("mean q", "mean_q"),
            Column::number("rounds, predicted", "expected_rounds"),
            Column::number("E[T̂]", "expected_round_secs"),
            Column::number("round, realised", "round_secs"),
            Column::number("time, predicted", "expected_hours"),
            Column::number("rounds under it", "rounds"),
            Column::number("of these biased", "biased_rounds"),
        ],
        rows: rows.collect(),
    })
}

/// How each device did, those who were lost most often first; none of simulations.
pub fn devices_table(group: &Group) -> Option<Table> {
    if !group.setting.on_devices() {
        return None;
    }
    let mut rows = Vec::new();
    let mut all = 0;
    for scheme in &group.schemes {
        let Some(devices) = &scheme.devices else { continue };
        let mut positions: Vec<usize> = (0..devices.fleet.len()).collect();
        positions.sort_by_key(|&device| std::cmp::Reverse(scheme.lost(device)));
        all += positions.len();
        positions.truncate(ROWS_MAX.saturating_sub(rows.len()));
        rows.extend(positions.into_iter().filter_map(|device| device_row(scheme, device)));
    }
    let shortened = match all - rows.len() {
        0 => String::new(),
        _ => format!(" {} of {} are shown.", count(rows.len()), count(all)),
    };
    (!rows.is_empty()).then(|| Table {
        name: "devices".to_owned(),
        title: "Devices".to_owned(),
        note: format!(
            "q and the availability that it was planned with are of the last plan, all else is of the whole run. \
             Availability is the share of rounds in which a device can be reached and reports.{shortened}"
        ),
        columns: vec![
            Column::words("scheme", "scheme"),
            Column::words("device", "device"),
            Column::number("planned q", "q"),
            Column::number("took part", "participations"),
            Column::number("of rounds", "frequency"),
            Column::number("lost", "lost"),
            Column::number("availability, planned with", "planned_availability"),
            Column::number("availability, measured", "availability"),
        ],
        rows,
    })
}

fn device_row(scheme: &SchemeRuns, device: usize) -> Option<Vec<Cell>> {
    let devices = scheme.devices.as_ref()?;
    let taken = scheme.participations(device);
    let measured = devices.availability.as_ref().and_then(|measured| measured.get(device)).copied();
    Some(vec![
        Cell::text(&scheme.scheme),
        Cell::text(devices.fleet.name(device)),
        Cell::number(Some(devices.q[device]), percent),
        Cell::count(taken),
        Cell::number(Some(taken as f64 / (scheme.rounds() as f64).max(1.0)), percent),
        Cell::count(scheme.lost(device)),
        Cell::number(Some(devices.fleet.availability()[device]), percent),
        Cell::number(measured, percent),
    ])
}
