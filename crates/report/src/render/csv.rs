//! A table as CSV: values without units, and a column `…_bound` beside values that may be bounds.

use fedflip_fleet::csv_file::write_text_for_spreadsheets;

use crate::table::{Cell, Column, Table};

/// Words that a spreadsheet would take for a formula have a single quote in front.
pub(super) fn render(table: &Table) -> String {
    let heads = table
        .columns
        .iter()
        .flat_map(|column| std::iter::once(column.key.to_string()).chain(column.bound_key()));
    let mut text = heads.map(|key| quoted(&key)).collect::<Vec<_>>().join(",") + "\n";
    for row in &table.rows {
        let cells = row.iter().zip(&table.columns).flat_map(|(cell, column)| {
            let bound = column.bounded.then(|| bound(cell));
            std::iter::once(value(cell, column)).chain(bound)
        });
        text += &(cells.collect::<Vec<_>>().join(",") + "\n");
    }
    text
}

fn value(cell: &Cell, column: &Column) -> String {
    match &cell.value {
        Some(value) => value.to_string(),
        None if column.numeric => String::new(),
        None => quoted(&cell.text),
    }
}

fn bound(cell: &Cell) -> String {
    if cell.value.is_some() { cell.bound.name().to_owned() } else { String::new() }
}

fn quoted(text: &str) -> String {
    let mut bytes = Vec::new();
    // Writing to memory does not fail.
    let _ = write_text_for_spreadsheets(&mut bytes, text);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::standing::Bound;
    use crate::table::{number, words};

    #[test]
    fn programs_read_values_bounds_and_no_formulas() {
        let row = |scheme: &str, hours: Option<f64>, bound: Bound| {
            vec![
                words("scheme", "scheme", scheme),
                number("time", "hours", Cell::hours(hours)).bounded(bound),
            ]
        };
        let rows = [
            row("a|b,c", Some(0.5), Bound::Exact),
            row("=1+1\u{1b}[2J", Some(2.0), Bound::AtLeast),
            row("none", None, Bound::AtLeast),
        ];
        let table = Table::of(rows).unwrap();
        let expected =
            "scheme,hours,hours_bound\n\"a|b,c\",0.5,exact\n'=1+1\u{fffd}[2J,2.0,at_least\nnone,,\n";
        assert_eq!(render(&table), expected);
    }
}
