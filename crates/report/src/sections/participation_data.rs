//! The numbers behind the figures of participation.

use fedflip_fleet::type_of;

use super::Material;
use crate::collection::Group;
use crate::model::Block;
use crate::table::{Cell, Column, Table};

pub(super) fn blocks(Material { group, .. }: &Material<'_>) -> Vec<Block> {
    Block::data(table(group))
}

/// Every device under every scheme: planned, and realised under the plan that is in the folder.
fn table(group: &Group) -> Table {
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
                Cell::plain(devices.fleet.weights()[device]),
                Cell::plain(devices.fleet.compute_secs()[device]),
                Cell::plain(devices.fleet.comm_secs()[device]),
                Cell::plain(q),
                Cell::plain(taken as f64 / (rounds as f64).max(1.0)),
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
