//! The numbers behind the curves.

use super::Material;
use crate::collection::Group;
use crate::curve::{Measure, curve};
use crate::model::Block;
use crate::table::{Cell, Column, Table};

pub(super) fn blocks(Material { group, .. }: &Material<'_>) -> Vec<Block> {
    Block::data(table(group))
}

/// Mean, least and most over the seeds, as drawn.
fn table(group: &Group) -> Table {
    let mut rows = Vec::new();
    for scheme in &group.schemes {
        for (measure, name) in [(Measure::Accuracy, "accuracy"), (Measure::Loss, "loss")] {
            rows.extend(curve(&scheme.runs, measure).into_iter().map(|point| {
                let values = [point.secs / 3600.0, point.mean, point.low, point.high].map(Cell::plain);
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
