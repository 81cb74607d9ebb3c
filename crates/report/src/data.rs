//! The numbers behind the figures, as tables.

use fedflip_fleet::type_of;

use crate::collection::Group;
use crate::curve::{Measure, curve};
use crate::table::{Cell, Column, Table};

fn number(value: f64) -> Cell {
    Cell::number(Some(value), |value| value.to_string())
}

/// Mean, least and most over the seeds, as drawn.
pub fn curves(group: &Group) -> Table {
    let mut rows = Vec::new();
    for scheme in &group.schemes {
        for (measure, name) in [(Measure::Accuracy, "accuracy"), (Measure::Loss, "loss")] {
            rows.extend(curve(&scheme.runs, measure).into_iter().map(|point| {
                let values = [point.secs / 3600.0, point.mean, point.low, point.high].map(number);
                [Cell::text(&scheme.scheme), Cell::text(name)].into_iter().chain(values).collect()
            }));
        }
    }
    Table {
        name: "curves".to_owned(),
        title: "Curves".to_owned(),
        note: String::new(),
        columns: vec![
            Column::words("scheme", "scheme"),
            Column::words("measure", "measure"),
            Column::number("hours", "hours"),
            Column::number("mean", "mean"),
            Column::number("least", "low"),
            Column::number("most", "high"),
        ],
        rows,
    }
}

/// Every device under every scheme: planned, and realised under the plan that it is from.
pub fn participation(group: &Group) -> Table {
    let mut rows = Vec::new();
    for scheme in &group.schemes {
        let Some(devices) = &scheme.devices else { continue };
        let rounds = scheme.rounds_of_plan();
        for (device, &q) in devices.q.iter().enumerate() {
            let taken = scheme.participations_of_plan(device);
            let name = devices.fleet.name(device);
            rows.push(vec![
                Cell::text(&scheme.scheme),
                Cell::text(name),
                Cell::text(type_of(name)),
                number(devices.fleet.weights()[device]),
                number(devices.fleet.compute_secs()[device]),
                number(devices.fleet.comm_secs()[device]),
                number(q),
                number(taken as f64 / (rounds as f64).max(1.0)),
                Cell::count(taken),
                Cell::count(scheme.lost(device)),
                Cell::count(rounds),
            ]);
        }
    }
    Table {
        name: "participation".to_owned(),
        title: "Participation".to_owned(),
        note: String::new(),
        columns: vec![
            Column::words("scheme", "scheme"),
            Column::words("device", "device"),
            Column::words("type", "type"),
            Column::number("data share", "data_share"),
            Column::number("compute", "compute_secs"),
            Column::number("link", "comm_secs"),
            Column::number("planned q", "q"),
            Column::number("realised", "frequency"),
            Column::number("took part", "participations"),
            Column::number("lost", "lost"),
            Column::number("rounds", "rounds"),
        ],
        rows,
    }
}
