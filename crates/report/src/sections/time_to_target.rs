//! The paper's Table I: how long each scheme takes to the target.

use super::Material;
use crate::collection::{Group, SchemeRuns};
use crate::model::Block;
use crate::numbers::{duration, percent};
use crate::pilots::{hours_before, pilot_hours};
use crate::standing::{Bound, Spread, best_hours, mean};
use crate::table::{Cell, Column, Table};

pub(super) fn blocks(Material { group, .. }: &Material<'_>) -> Vec<Block> {
    if group.schemes.is_empty() { Vec::new() } else { vec![Block::Table(table(group))] }
}

/// One scheme.
fn row(group: &Group, scheme: &SchemeRuns, best: Option<f64>) -> Vec<Cell> {
    let standing = &scheme.standing;
    let (hours, bound) = (mean(standing.hours), standing.bound());
    let piloted = hours_before(group, &scheme.scheme);
    let state = if standing.diverged > 0 {
        format!(", {} diverged", standing.diverged)
    } else if standing.going_on > 0 {
        format!(", {} not over", standing.going_on)
    } else {
        String::new()
    };
    let accuracies = scheme.runs.iter().filter_map(|run| run.summary.metrics.get("accuracy"));
    vec![
        Cell::text(&scheme.scheme),
        Cell::hours(hours).bounded(bound),
        // The spread of runs that were cut off says nothing.
        Cell::hours(standing.hours.filter(|_| bound == Bound::Exact).and_then(|hours| hours.std)),
        Cell::ratio(hours.zip(best).map(|(hours, best)| hours / best)).bounded(bound),
        Cell::hours(hours.map(|hours| hours + piloted)).bounded(bound),
        Cell::short(mean(standing.rounds)),
        Cell::short(mean(standing.participants)),
        Cell::number(mean(Spread::of(accuracies)), percent),
        Cell {
            text: format!("{} of {}{state}", standing.reached, standing.seeds),
            ..Cell::count(standing.reached as u64)
        },
        Cell::count(standing.seeds as u64),
    ]
}

/// Whether the table counts pilots, and where.
fn pilots_note(group: &Group) -> String {
    match pilot_hours(group) {
        Some(hours) if group.setting.keeps_pilots() => format!(
            "schemes that need α and β went on from their pilots, a pair of which takes {} and is counted",
            duration(3600.0 * hours)
        ),
        Some(hours) => format!(
            "a pair of pilots takes {}, counted under “with pilots” for schemes that need α and β",
            duration(3600.0 * hours)
        ),
        None => "no pilots are at hand, so “with pilots” counts none".to_owned(),
    }
}

/// The paper's Table I.
pub fn table(group: &Group) -> Table {
    let best = best_hours(group.schemes.iter().map(|scheme| &scheme.standing));
    let rows = group.schemes.iter().map(|scheme| row(group, scheme, best));
    let target = group.target();
    let pilots_note = pilots_note(group);
    Table {
        name: "table1".to_owned(),
        title: format!("Time to {target}"),
        note: format!(
            "{}, means over seeds with one standard deviation; the ratio is to the best scheme that reached \
             the target with every seed; {pilots_note}. “>” marks a lower bound: some run ended before the target.{}",
            if group.setting.on_devices() { "Time by the clock on the wall" } else { "Virtual time" },
            biased(group)
        ),
        columns: vec![
            Column::words("scheme", "scheme"),
            Column::bounded("time to target", "hours"),
            Column::number("±", "hours_std"),
            Column::bounded("ratio", "ratio_to_best"),
            Column::bounded("with pilots", "hours_with_pilots"),
            Column::number("rounds", "rounds"),
            Column::number("devices a round", "participants"),
            Column::number("accuracy at the end", "accuracy"),
            Column::number("seeds at target", "reached"),
            Column::number("seeds", "seeds"),
        ],
        rows: rows.collect(),
    }
}

/// A word on rounds that were not what the plan meant them to be.
fn biased(group: &Group) -> String {
    let rounds: u64 = group.runs().map(|run| run.summary.rounds).sum();
    match group.runs().map(|run| run.summary.biased_rounds).sum::<u64>() {
        0 => String::new(),
        biased => format!(
            " In {biased} of {rounds} rounds a device of the cohort did not report: the steps of these rounds are biased."
        ),
    }
}
