//! Every run that was read: its folder, its seed and how it ended.

use fedflip_fleet::MetricInfo;
use serde_json::json;

use crate::collection::{Collection, Group};
use crate::model::{Block, Layout};
use crate::numbers::{counted, metric_value};
use crate::run_view::RunView;
use crate::table::{Cell, Field, Table, metric, number, words};

pub(super) fn block(collection: &Collection) -> Option<Block> {
    let table = table(collection)?;
    let summary = format!("{}: folders, seeds and how they ended", counted(table.rows.len(), "run"));
    Block::together(Layout::Details { summary, open: false }, [Block::Table(table)])
}

/// A row for each run and pilot.
pub fn table(collection: &Collection) -> Option<Table> {
    let shown = Shown {
        test: collection.all_runs().any(|run| !run.summary().test.is_empty()),
        errors: collection.all_runs().any(|run| run.summary().estimated.is_some()),
        metrics: metrics(collection),
    };
    let mut note =
        "The table has every run that was read. In a biased round a device of the cohort did not report."
            .to_owned();
    if shown.test {
        note += " Where a run has test metrics, its other metrics are on validation samples.";
    }
    if shown.errors {
        note +=
            " Metrics with a standard error (s.e.) are estimates from the devices that evaluated the model.";
    }
    Some(Table::of(collection.all_runs().map(|run| row(run, &shown)))?.named("runs", "Runs", &note))
}

/// Which columns of metrics there are.
struct Shown<'a> {
    metrics: Vec<&'a MetricInfo>,
    /// Metrics on test samples beside those on validation samples.
    test: bool,
    /// Standard errors of estimates.
    errors: bool,
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

fn row(run: &RunView, shown: &Shown<'_>) -> Vec<Field> {
    let summary = run.summary();
    let fields_of = |info: &&MetricInfo| {
        let name = &info.name;
        let error = || {
            let error = summary.estimated.as_ref().and_then(|estimated| estimated.se.get(name));
            beside(format!("{name} s.e."), format!("{name}_se"), info, error)
        };
        let test = || beside(format!("test {name}"), format!("test_{name}"), info, summary.test.get(name));
        let mut fields = vec![metric(name.clone(), info, summary.metrics.get(name))];
        fields.extend(shown.errors.then(error));
        fields.extend(shown.test.then(test));
        fields
    };
    let mut fields = vec![
        words("folder", "folder", run.folder.display().to_string()),
        words("scheme", "scheme", &run.header.scheme),
        number("seed", "seed", Cell::count(run.header.seed)),
        number("rounds", "rounds", Cell::count(summary.rounds)),
        number("time", "hours", Cell::hours(Some(summary.hours))),
    ];
    fields.extend(shown.metrics.iter().flat_map(fields_of));
    fields.extend([
        number("empty", "empty_rounds", Cell::count(summary.empty_rounds)),
        number("biased", "biased_rounds", Cell::count(summary.biased_rounds)),
        words("end", "end", end(run)),
        words("fedflip", "fedflip", &run.header.fedflip),
    ]);
    fields
}

/// A number that belongs to a metric, in its unit.
fn beside(title: String, key: String, info: &MetricInfo, value: Option<f64>) -> Field {
    number(title, key, Cell::number(value, |value| metric_value(info.display, value)))
}

fn end(run: &RunView) -> String {
    let Some(end) = run.summary().end else {
        return run.detail.clone().unwrap_or_else(|| "not over".to_owned());
    };
    let reason = json!(end);
    let reason = reason.as_str().unwrap_or_default().replace('_', " ");
    let reason = if run.is_deployed() { reason.replace("virtual ", "") } else { reason };
    run.detail.as_ref().map_or(reason.clone(), |detail| format!("{reason}: {detail}"))
}
