//! A report as one JSON object: facts, and every table as a list of rows under its name.

use serde_json::{Map, Value, json};

use crate::model::{Report, Section};
use crate::table::{Cell, Column, Table};

pub(super) fn render(report: &Report) -> String {
    let groups: Vec<Value> =
        report.groups.iter().map(|group| with_tables(&group.facts, &group.sections).into()).collect();
    let mut object = with_tables(&report.facts, report.before.iter().chain(&report.after));
    object.insert("groups".to_owned(), groups.into());
    object.insert("problems".to_owned(), json!(report.problems));
    format!("{:#}\n", Value::Object(object))
}

fn with_tables<'a>(
    facts: &Map<String, Value>,
    sections: impl IntoIterator<Item = &'a Section>,
) -> Map<String, Value> {
    let tables = sections.into_iter().flat_map(|section| section.tables(false));
    let mut object = facts.clone();
    object.extend(tables.map(|table| (table.name.replace('-', "_"), rows(table))));
    object
}

/// An object for each row.
fn rows(table: &Table) -> Value {
    table.rows.iter().map(|row| object(row, &table.columns)).collect()
}

fn object(row: &[Cell], columns: &[Column]) -> Value {
    let mut object = Map::new();
    for (cell, column) in row.iter().zip(columns) {
        let value = match &cell.value {
            Some(value) => value.clone().into(),
            None if column.numeric => Value::Null,
            None => json!(cell.text),
        };
        let bound = cell.value.is_some().then(|| cell.bound.name());
        object.insert(column.key.to_string(), value);
        object.extend(column.bound_key().map(|key| (key, json!(bound))));
    }
    object.into()
}
