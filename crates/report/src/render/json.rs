//! A report as one JSON object: facts, and every table as a list of rows under its name.

use serde_json::{Map, Value, json};

use crate::model::{Report, Section, tables};
use crate::table::{Cell, Column, Table};

pub(super) fn render(report: &Report) -> String {
    let groups: Vec<Value> =
        report.groups.iter().map(|group| with_tables(group.facts.clone(), &group.sections).into()).collect();
    let mut object = with_tables(report.facts.clone(), &report.before);
    object.insert("groups".to_owned(), groups.into());
    let mut object = with_tables(object, &report.after);
    object.insert("problems".to_owned(), json!(report.problems));
    format!("{:#}\n", Value::Object(object))
}

fn with_tables(mut object: Map<String, Value>, sections: &[Section]) -> Map<String, Value> {
    for table in sections.iter().flat_map(|section| tables(&section.blocks, false)) {
        object.insert(table.name.replace('-', "_"), rows(table));
    }
    object
}

/// An object for each row.
pub(crate) fn rows(table: &Table) -> Value {
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
        object.insert(column.key.clone(), value);
        object.extend(column.bound_key().map(|key| (key, json!(bound))));
    }
    object.into()
}
