//! The pilots, a row each.

use crate::collection::Group;
use crate::standing::Bound;
use crate::table::{Cell, Column, Table};

/// Rounds and time to the loss of the pilots.
pub fn table(group: &Group) -> Table {
    let rows = group.pilots.iter().map(|pilot| {
        let summary = &pilot.summary;
        let bound = Bound::lower_if(!summary.reached());
        vec![
            Cell::text(&pilot.header.scheme),
            Cell::count(pilot.header.seed),
            Cell::count(summary.rounds).bounded(bound),
            Cell::hours(Some(summary.hours)).bounded(bound),
            Cell::short(Some(summary.mean_participants)),
            Cell::short(pilot.header.target_of("loss")),
        ]
    });
    Table {
        name: "pilots".to_owned(),
        title: "Pilots".to_owned(),
        note: "Rounds to the loss of the pilots, under schemes whose sampling variance is known. “>” marks a pilot that ended before that loss."
            .to_owned(),
        columns: vec![
            Column::words("scheme", "scheme"),
            Column::number("seed", "seed"),
            Column::bounded("rounds", "rounds"),
            Column::bounded("time", "hours"),
            Column::number("devices a round", "participants"),
            Column::number("to the loss", "target_loss"),
        ],
        rows: rows.collect(),
    }
}
