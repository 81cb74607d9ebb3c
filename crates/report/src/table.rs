//! A table, before it becomes HTML, Markdown, CSV or JSON.

use fedflip_fleet::csv_file::write_text_for_spreadsheets;
use fedflip_fleet::printable;
use serde_json::Number;

/// A cell: what people read, and the number behind it, which scripts read and sorting goes by.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// For people, with unit.
    pub text: String,
    /// For programs; none for text, and for what is not known.
    pub value: Option<Number>,
}

impl Cell {
    /// Words, which may be those of somebody else: a folder's name, a reason.
    pub(crate) fn text(text: impl AsRef<str>) -> Self {
        Self { text: printable(text.as_ref()).into_owned(), value: None }
    }

    /// A number as `show` writes it; a dash if there is none.
    pub(crate) fn number(value: Option<f64>, show: impl FnOnce(f64) -> String) -> Self {
        Self { text: value.map_or("–".to_owned(), show), value: value.and_then(Number::from_f64) }
    }

    /// A whole number, to its last digit: a seed may have more than a float holds.
    pub(crate) fn count(value: u64) -> Self {
        Self { text: value.to_string(), value: Some(value.into()) }
    }

    /// A number if it reads as one.
    pub(crate) fn word_or_number(text: &str) -> Self {
        let value = text.parse().ok().and_then(Number::from_f64);
        Self { value, ..Self::text(text) }
    }
}

/// A column's heads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// For people.
    pub title: String,
    /// For programs, unit last.
    pub key: String,
    /// Aligned to the right, and sorted by value.
    pub numeric: bool,
}

impl Column {
    pub(crate) fn words(title: &str, key: &str) -> Self {
        Self { title: title.to_owned(), key: key.to_owned(), numeric: false }
    }

    pub(crate) fn number(title: &str, key: &str) -> Self {
        Self { numeric: true, ..Self::words(title, key) }
    }
}

/// Rows under columns.
#[derive(Clone, Debug)]
pub struct Table {
    /// For a file, such as `table1`.
    pub name: String,
    /// In a few words.
    pub title: String,
    /// How to read it.
    pub note: String,
    /// As many as each row has cells.
    pub columns: Vec<Column>,
    /// From top to bottom.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// GitHub's Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut text = line(self.columns.iter().map(|column| markdown_text(&column.title)).collect());
        text += &line(
            self.columns
                .iter()
                .map(|column| if column.numeric { "---:" } else { "---" }.to_owned())
                .collect(),
        );
        for row in &self.rows {
            text += &line(row.iter().map(|cell| markdown_text(&cell.text)).collect());
        }
        text
    }

    /// Values where there are any, without units. Words that a spreadsheet would take for a formula have a single
    /// quote in front.
    pub fn csv(&self) -> String {
        let heads: Vec<String> = self.columns.iter().map(|column| csv_text(&column.key)).collect();
        let mut text = heads.join(",") + "\n";
        for row in &self.rows {
            let cells: Vec<String> =
                row.iter().zip(&self.columns).map(|(cell, column)| csv_cell(cell, column)).collect();
            text += &(cells.join(",") + "\n");
        }
        text
    }

    /// An object a row.
    pub fn json(&self) -> serde_json::Value {
        let object = |row: &Vec<Cell>| {
            let entries = row.iter().zip(&self.columns).map(|(cell, column)| {
                let value = match &cell.value {
                    Some(value) => value.clone().into(),
                    None if column.numeric => serde_json::Value::Null,
                    None => serde_json::json!(cell.text),
                };
                (column.key.clone(), value)
            });
            serde_json::Value::Object(entries.collect())
        };
        self.rows.iter().map(object).collect()
    }
}

fn csv_cell(cell: &Cell, column: &Column) -> String {
    match &cell.value {
        Some(value) => value.to_string(),
        None if column.numeric => String::new(),
        None => csv_text(&cell.text),
    }
}

fn csv_text(text: &str) -> String {
    let mut bytes = Vec::new();
    // Memory takes whatever is written to it.
    let _ = write_text_for_spreadsheets(&mut bytes, text);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Text that stays text in a table of Markdown: no column, tag or link begins in it.
pub(crate) fn markdown_text(text: &str) -> String {
    let on_one_line = text.replace(['\n', '\r'], " ");
    on_one_line.replace('\\', "\\\\").replace('|', "\\|").replace('<', "\\<").replace("](", "]\\(")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_and_programs_read_the_same_table() {
        let table = Table {
            name: "t".to_owned(),
            title: String::new(),
            note: String::new(),
            columns: vec![Column::words("scheme", "scheme"), Column::number("time", "hours")],
            rows: vec![
                vec![Cell::text("a|b,c"), Cell::number(Some(0.5), |hours| format!("{hours} h"))],
                vec![Cell::text("none"), Cell::number(None, |hours| hours.to_string())],
            ],
        };
        assert_eq!(
            table.markdown(),
            "| scheme | time |\n| --- | ---: |\n| a\\|b,c | 0.5 h |\n| none | – |\n"
        );
        assert_eq!(table.csv(), "scheme,hours\n\"a|b,c\",0.5\nnone,\n");
        assert_eq!(table.json()[1], serde_json::json!({ "scheme": "none", "hours": null }));
        let foreign = vec![Cell::text("=1+1\u{1b}[2J"), Cell::text("[a](b)<c>")];
        let table = Table { rows: vec![foreign], ..table };
        assert_eq!(table.csv(), "scheme,hours\n'=1+1\u{fffd}[2J,\n");
        assert!(table.markdown().ends_with("| =1+1\u{fffd}[2J | [a]\\(b)\\<c> |\n"), "{}", table.markdown());
        assert_eq!(Cell::count(u64::MAX).value.unwrap().to_string(), u64::MAX.to_string());
    }
}
