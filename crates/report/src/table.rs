//! A table, before a renderer turns it into HTML, Markdown, LaTeX, CSV, JSON or text for a terminal.

use std::borrow::Cow;
use std::io::{self, Write};

use fedflip_fleet::{MetricInfo, printable};
use serde_json::Number;

use crate::numbers::{duration, metric_value, significant, times};
use crate::render::text;
use crate::standing::Bound;

/// A cell: what people read, and the number behind it, which scripts read and sorting goes by.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// For people, with unit and without the sign of a bound.
    pub text: String,
    /// For programs; none for text, and for what is not known.
    pub value: Option<Number>,
    /// Whether the value is only a bound. Every renderer shows this.
    pub bound: Bound,
}

impl Cell {
    /// Words, which may be those of somebody else: a folder's name, a reason.
    pub fn text(text: impl AsRef<str>) -> Self {
        Self { text: printable(text.as_ref()).into_owned(), ..Self::default() }
    }

    /// A number as `show` writes it; a dash if there is none.
    pub fn number(value: Option<f64>, show: impl FnOnce(f64) -> String) -> Self {
        let text = value.map_or("–".to_owned(), show);
        Self { text, value: value.and_then(Number::from_f64), bound: Bound::Exact }
    }

    /// A number with three significant digits.
    pub fn short(value: Option<f64>) -> Self {
        Self::number(value, |value| significant(value, 3))
    }

    /// Hours, shown in a unit that fits.
    pub fn hours(hours: Option<f64>) -> Self {
        Self::number(hours, |hours| duration(3600.0 * hours))
    }

    /// A ratio, such as `1.27×`; a dash where it is to no time at all.
    pub fn ratio(ratio: Option<f64>) -> Self {
        Self::number(ratio.filter(|ratio| ratio.is_finite()), times)
    }

    /// A number with all its digits, for programs.
    pub(crate) fn plain(value: f64) -> Self {
        Self::number(Some(value), |value| value.to_string())
    }

    /// A whole number, to its last digit: a seed may have more than a float holds.
    pub fn count(value: u64) -> Self {
        Self { text: value.to_string(), value: Some(value.into()), bound: Bound::Exact }
    }

    /// A number if the text reads as one.
    pub(crate) fn word_or_number(text: &str) -> Self {
        let value = text.parse().ok().and_then(Number::from_f64);
        Self { value, ..Self::text(text) }
    }

    /// The same number as a bound; a cell without a number bounds nothing.
    #[must_use]
    pub fn bounded(self, bound: Bound) -> Self {
        Self { bound: if self.value.is_some() { bound } else { Bound::Exact }, ..self }
    }

    /// The text with the sign of its bound.
    pub fn shown(&self) -> String {
        format!("{}{}", self.bound.sign(), self.text)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

/// Most heads are known when the program is written.
type Head = Cow<'static, str>;

/// A column of a table with its heads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The head for people to read.
    pub title: Head,
    /// For programs, unit last.
    pub key: Head,
    /// Aligned to the right, and sorted by value.
    pub numeric: bool,
    /// Whether values may be bounds: formats for programs then have a column `…_bound` beside the values.
    pub bounded: bool,
    /// Whether the key is the name of a metric, which may be that of another column.
    pub(crate) is_metric: bool,
}

impl Column {
    /// The head of the column beside this one that says which values are bounds.
    pub(crate) fn bound_key(&self) -> Option<String> {
        self.bounded.then(|| format!("{}_bound", self.key))
    }
}

/// A cell with the heads of its column. The rows of a report's tables are lists of these, so that a column is one line.
pub(crate) struct Field {
    pub column: Column,
    pub cell: Cell,
}

/// A field in a column of words: its title, its key for programs, and its text.
pub(crate) fn words(title: impl Into<Head>, key: impl Into<Head>, text: impl AsRef<str>) -> Field {
    let column =
        Column { title: title.into(), key: key.into(), numeric: false, bounded: false, is_metric: false };
    Field { column, cell: Cell::text(text) }
}

/// A field in a column of numbers.
pub(crate) fn number(title: impl Into<Head>, key: impl Into<Head>, cell: Cell) -> Field {
    let mut field = words(title, key, "");
    field.column.numeric = true;
    Field { cell, ..field }
}

/// A field in a column of a metric's values.
pub(crate) fn metric(title: impl Into<Head>, info: &MetricInfo, value: Option<f64>) -> Field {
    let cell = Cell::number(value, |value| metric_value(info.display, value));
    let mut field = number(title, info.name.clone(), cell);
    field.column.is_metric = true;
    field
}

impl Field {
    /// The same in a column whose values may be bounds.
    pub(crate) fn bounded(mut self, bound: Bound) -> Self {
        self.column.bounded = true;
        Self { cell: self.cell.bounded(bound), ..self }
    }
}

/// A table: rows of cells under named columns.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// For a file, such as `table1`.
    pub name: String,
    /// In a few words.
    pub title: String,
    /// How to read it.
    pub note: String,
    /// A row may have fewer cells, but never more.
    pub columns: Vec<Column>,
    /// From top to bottom.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table for a terminal, whose first column holds words and whose others hold numbers.
    pub fn new<T: AsRef<str>>(titles: &[T]) -> Self {
        let titles = titles.iter().map(|title| title.as_ref().to_owned());
        let columns = titles.map(|title| number(title.clone(), title, Cell::default()).column).collect();
        Self { columns, ..Self::default() }.with_words(1)
    }

    /// A table of rows whose fields have the same columns; none without rows.
    pub(crate) fn of(rows: impl IntoIterator<Item = Vec<Field>>) -> Option<Self> {
        let mut table = Self::default();
        for row in rows {
            let (columns, cells) = row.into_iter().map(|field| (field.column, field.cell)).unzip();
            table.columns = columns;
            table.rows.push(cells);
        }
        table.rename_metrics();
        (!table.rows.is_empty()).then_some(table)
    }

    /// A metric whose name another column has gets a key of its own.
    fn rename_metrics(&mut self) {
        let others = self.columns.iter().filter(|column| !column.is_metric);
        let taken: Vec<String> =
            others.flat_map(|column| [Some(column.key.to_string()), column.bound_key()]).flatten().collect();
        for column in self.columns.iter_mut().filter(|column| column.is_metric) {
            if taken.iter().any(|key| *key == column.key) {
                column.key = format!("metric_{}", column.key).into();
            }
        }
    }

    /// The same with its name, its title and how to read it.
    #[must_use]
    pub(crate) fn named(self, name: &str, title: &str, note: &str) -> Self {
        Self { name: name.to_owned(), title: title.to_owned(), note: note.to_owned(), ..self }
    }

    /// The same with as many columns of words at its left.
    #[must_use]
    pub fn with_words(mut self, columns: usize) -> Self {
        self.columns.iter_mut().take(columns).for_each(|column| column.numeric = false);
        self
    }

    /// Adds a row of cells.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<Cell>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Writes titles and rows for a terminal.
    pub fn write(&self, output: &mut dyn Write) -> io::Result<()> {
        output.write_all(text::lines(self).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_needs_a_number() {
        assert_eq!(Cell::hours(Some(0.5)).bounded(Bound::AtLeast).shown(), "> 30 min");
        assert_eq!(Cell::ratio(Some(2.0)).bounded(Bound::AtMost).shown(), "< 2.00×");
        assert_eq!(Cell::hours(None).bounded(Bound::AtLeast).shown(), "–");
        assert_eq!(Cell::count(u64::MAX).value.unwrap().to_string(), u64::MAX.to_string());
    }
}
