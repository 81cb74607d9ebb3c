//! Every run that was read: its folder, its seed and how it ended.

use fedflip_fleet::MetricInfo;
use serde_json::json;

use crate::collection::{Collection, Group};
use crate::model::{Block, Layout};
use crate::numbers::counted;
use crate::run_view::RunView;
use crate::table::{Cell, Field, Table, metric, number, words};

pub(super) fn block(collection: &Collection) -> Option<Block> {
    let table = table(collection)?;
    let summary = format!("{}: folders, seeds and how they ended", counted(table.rows.len(), "run"));
    Block::together(Layout::Details { summary, open: false }, [Block::Table(table)])
}

/// A row for each run and pilot.
pub fn table(collection: &Collection) -> Option<Table> {
    let metrics = metrics(collection);
    let note = "Every run that was read. In a biased round a device of the cohort did not report.";
    Some(Table::of(collection.all_runs().map(|run| row(run, &metrics)))?.named("runs", "Runs", note))
}

/// The metrics of all runs, each once.
fn metrics(collection: &Collection) -> Vec<&MetricInfo> {
    let mut metrics: Vec<&MetricInfo> = Vec::new();
    for metric in collection.groups.iter().flat_map(Group::metrics) {
        if !metrics.iter().any(|known| known.name == metric.name) {
            metrics.push(metric);
        }
    }
    metrics
}

fn row(run: &RunView, metrics: &[&MetricInfo]) -> Vec<Field> {
    let summary = run.summary();
    let field = |info: &&MetricInfo| metric(info.name.clone(), info, summary.metrics.get(&info.name));
    let mut fields = vec![
        words("folder", "folder", run.folder.display().to_string()),
        words("scheme", "scheme", &run.header.scheme),
        number("seed", "seed", Cell::count(run.header.seed)),
        number("rounds", "rounds", Cell::count(summary.rounds)),
        number("time", "hours", Cell::hours(Some(summary.hours))),
    ];
    fields.extend(metrics.iter().map(field));
    fields.extend([
        number("empty", "empty_rounds", Cell::count(summary.empty_rounds)),
        number("biased", "biased_rounds", Cell::count(summary.biased_rounds)),
        words("end", "end", end(run)),
        words("fedflip", "fedflip", &run.header.fedflip),
    ]);
    fields
}

fn end(run: &RunView) -> String {
    let Some(end) = run.summary().end else { return "not over".to_owned() };
    let reason = json!(end);
    let reason = reason.as_str().unwrap_or_default().replace('_', " ");
    let reason = if run.is_deployed() { reason.replace("virtual ", "") } else { reason };
    run.detail.as_ref().map_or(reason.clone(), |detail| format!("{reason}: {detail}"))
}
