//! Every run that was read: its folder, its seed and how it ended.

use crate::collection::Collection;
use crate::model::Block;
use crate::numbers::{count, percent};
use crate::run_view::RunView;
use crate::table::{Cell, Column, Table};

pub(super) fn blocks(collection: &Collection) -> Vec<Block> {
    let table = table(collection);
    let runs = table.rows.len();
    let noun = if runs == 1 { "run" } else { "runs" };
    let summary = format!("{} {noun}: folders, seeds and how they ended", count(runs));
    vec![Block::Details { summary, open: false, blocks: vec![Block::Table(table)] }]
}

fn end(run: &RunView) -> String {
    let Some(end) = run.summary.end else { return "not over".to_owned() };
    let reason = serde_json::to_value(end).ok();
    let reason = reason.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default().replace('_', " ");
    let reason = if run.is_deployed() { reason.replace("virtual ", "") } else { reason };
    run.detail.as_ref().map_or(reason.clone(), |detail| format!("{reason}: {detail}"))
}

/// A row for each run and pilot.
pub fn table(collection: &Collection) -> Table {
    let rows = collection.groups.iter().flat_map(|group| group.runs().chain(&group.pilots)).map(|run| {
        let summary = &run.summary;
        vec![
            Cell::text(run.folder.display().to_string()),
            Cell::text(&run.header.scheme),
            Cell::count(run.header.seed),
            Cell::count(summary.rounds),
            Cell::hours(Some(summary.hours)),
            Cell::number(summary.metrics.get("accuracy"), percent),
            Cell::short(summary.metrics.get("loss")),
            Cell::count(summary.empty_rounds),
            Cell::count(summary.biased_rounds),
            Cell::text(end(run)),
            Cell::text(&run.header.fedflip),
        ]
    });
    Table {
        name: "runs".to_owned(),
        title: "Runs".to_owned(),
        note: "Every run that was read. In a biased round a device of the cohort did not report.".to_owned(),
        columns: vec![
            Column::words("folder", "folder"),
            Column::words("scheme", "scheme"),
            Column::number("seed", "seed"),
            Column::number("rounds", "rounds"),
            Column::number("time", "hours"),
            Column::number("accuracy", "accuracy"),
            Column::number("loss", "loss"),
            Column::number("empty", "empty_rounds"),
            Column::number("biased", "biased_rounds"),
            Column::words("end", "end"),
            Column::words("fedflip", "fedflip"),
        ],
        rows: rows.collect(),
    }
}
