//! Tables of devices as CSV: a header, then one line per device, with errors that name file, line, column and value.
//!
//! The first column of a format is the device's name. Columns may stand in any order in a file.

use std::io::{BufRead, BufReader, Read};

use crate::csv_lines::{LINE_BYTES_MAX, LineError, Lines};
use crate::error::FleetError;
use crate::nearest::nearest;
use crate::units::OutOfRange;

/// A column of a format.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The title in the header.
    pub name: &'static str,
    is_required: bool,
    /// What to write into an empty cell.
    if_empty: &'static str,
}

impl Column {
    /// Every file has this column. An empty number is refused with the hint `if_empty`.
    pub const fn required(name: &'static str, if_empty: &'static str) -> Self {
        Self { name, is_required: true, if_empty }
    }

    /// A file may leave out this column.
    pub const fn optional(name: &'static str, if_empty: &'static str) -> Self {
        Self { name, is_required: false, if_empty }
    }
}

/// A kind of file.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The word for the kind in sentences: "a fleet file".
    pub what: &'static str,
    /// The header, for hints.
    pub header: &'static str,
    /// The columns; the first one has the names of the devices.
    pub columns: &'static [Column],
}

/// A file that is being read.
pub struct Table<R> {
    lines: Lines<BufReader<R>>,
    header: Header,
    file: String,
    format: &'static Format,
}

impl<R: Read> Table<R> {
    /// Reads the header; errors name the input as `file`.
    pub fn open(input: R, file: &str, format: &'static Format) -> Result<Self, FleetError> {
        let mut input = BufReader::with_capacity(1 << 16, input);
        let head = input.fill_buf().map_err(|error| unreadable(file, &error))?;
        refuse_binary(head, file, format)?;
        let mut lines = Lines::new(input);
        if !advance(&mut lines, file, format)? {
            let hint = format!("the first line must be {}", format.header);
            return Err(FleetError::file(file, None, "the file is empty", &hint));
        }
        let header = Header::parse(&lines, file, format)?;
        Ok(Self { lines, header, file: file.to_owned(), format })
    }

    /// The next line; none after the last.
    pub fn next_row(&mut self) -> Result<Option<Row<'_, impl BufRead>>, FleetError> {
        if !advance(&mut self.lines, &self.file, self.format)? {
            return Ok(None);
        }
        let Self { lines, header, file, format } = self;
        let row = Row { line: lines, header, file, format };
        if row.line.len() == row.header.fields { Ok(Some(row)) } else { Err(row.ragged()) }
    }

    /// The error of a file with a header and nothing else.
    pub fn without_devices(&self) -> FleetError {
        let hint = "add one line per device below the header";
        FleetError::file(&self.file, None, "there is a header but no device", hint)
    }

    /// The error of two lines with the same name.
    pub fn repeated_device(&self, name: &str, [first, second]: [u64; 2], hint: &str) -> FleetError {
        FleetError::Cell {
            file: self.file.clone(),
            line: second,
            column: self.format.columns[0].name.to_owned(),
            value: name.to_owned(),
            problem: format!("already names the device in line {first}"),
            hint: hint.to_owned(),
        }
    }
}

/// Which field of a row holds which column.
struct Header {
    field_of: Vec<Option<usize>>,
    fields: usize,
}

impl Header {
    fn parse(titles: &Lines<impl BufRead>, file: &str, format: &Format) -> Result<Self, FleetError> {
        let line = titles.number();
        let wanted = format!("the first line must be {}", format.header);
        let refuse = |field: usize, value: &str, problem: String, hint: String| FleetError::Cell {
            file: file.to_owned(),
            line,
            column: (field + 1).to_string(),
            value: value.to_owned(),
            problem,
            hint,
        };
        // `phone,1,7,300` is a device, not a header.
        let is_number =
            |title: &[u8]| std::str::from_utf8(title).is_ok_and(|title| title.parse::<f64>().is_ok());
        if titles.iter().skip(1).any(is_number) {
            let problem = "the header is missing: this line has numbers in it";
            return Err(FleetError::file(file, Some(line), problem, &wanted));
        }
        let mut field_of = vec![None; format.columns.len()];
        for (field, title) in titles.iter().enumerate() {
            let title = String::from_utf8_lossy(title);
            if titles.len() == 1 && title.contains([';', '\t']) {
                let problem = "is not separated by commas".to_owned();
                return Err(refuse(field, &title, problem, format!("write {}", format.header)));
            }
            let Some(column) = format.columns.iter().position(|column| column.name == title) else {
                let problem = format!("is not a column of a {} file", format.what);
                return Err(refuse(field, &title, problem, nearest_column(&title, format)));
            };
            if field_of[column].replace(field).is_some() {
                let (problem, hint) = ("occurs twice in the header", "keep one of the two");
                return Err(refuse(field, &title, problem.to_owned(), hint.to_owned()));
            }
        }
        let missing = |(column, field): &(&Column, &Option<usize>)| column.is_required && field.is_none();
        if let Some((column, _)) = format.columns.iter().zip(&field_of).find(missing) {
            let problem = format!("the column {} is missing", column.name);
            return Err(FleetError::file(file, Some(line), problem, &format!("{wanted}, in any order")));
        }
        Ok(Self { field_of, fields: titles.len() })
    }
}

/// One line below the header.
pub struct Row<'a, R> {
    line: &'a Lines<R>,
    header: &'a Header,
    file: &'a str,
    format: &'static Format,
}

impl<'a, R: BufRead> Row<'a, R> {
    /// The number of the line, from 1.
    pub fn line(&self) -> u64 {
        self.line.number()
    }

    /// Whether the file has an optional column.
    pub fn has(&self, column: usize) -> bool {
        self.header.field_of.get(column).is_some_and(Option::is_some)
    }

    fn bytes(&self, column: usize) -> &'a [u8] {
        let field = self.header.field_of.get(column).copied().flatten();
        field.and_then(|field| self.line.get(field)).unwrap_or_default()
    }

    /// The text in a column.
    pub fn text(&self, column: usize) -> Result<&'a str, FleetError> {
        std::str::from_utf8(self.bytes(column))
            .map_err(|_| self.refuse(column, "is not UTF-8 text", "save the file as UTF-8".to_owned()))
    }

    /// The number in a column, if `check` accepts it.
    pub fn quantity<Q>(
        &self,
        column: usize,
        check: fn(f64) -> Result<Q, OutOfRange>,
    ) -> Result<Q, FleetError> {
        let text = self.text(column)?;
        if text.is_empty() {
            let hint = self.format.columns.get(column).map_or("", |column| column.if_empty);
            return Err(self.refuse(column, "is empty", hint.to_owned()));
        }
        let number: f64 = text.parse().map_err(|_| {
            self.refuse(column, "is not a number", "write a plain number such as 12 or 0.35".to_owned())
        })?;
        check(number)
            .map_err(|error| self.refuse(column, "is out of range", format!("it must be {}", error.wanted)))
    }

    /// The error of the cell in a column.
    pub fn refuse(&self, column: usize, problem: &str, hint: String) -> FleetError {
        FleetError::Cell {
            file: self.file.to_owned(),
            line: self.line.number(),
            column: self.format.columns.get(column).map_or("", |column| column.name).to_owned(),
            value: String::from_utf8_lossy(self.bytes(column)).into_owned(),
            problem: problem.to_owned(),
            hint,
        }
    }

    /// Names the first column that is missing, or the first surplus value.
    fn ragged(&self) -> FleetError {
        let (have, want) = (self.line.len(), self.header.fields);
        let column_at = |field| {
            let column = self.header.field_of.iter().position(|&at| at == Some(field));
            let column = column.and_then(|column| self.format.columns.get(column));
            column.map_or_else(|| format!("{}", field + 1), |column| column.name.to_owned())
        };
        let surplus = self.line.get(want).unwrap_or_default();
        FleetError::Cell {
            file: self.file.to_owned(),
            line: self.line.number(),
            column: column_at(have.min(want)),
            value: String::from_utf8_lossy(surplus).into_owned(),
            problem: format!("does not fit: the line has {have} fields, the header {want}"),
            hint: "give every line one value per column; put quotes around a name that has a comma"
                .to_owned(),
        }
    }
}

fn advance(lines: &mut Lines<impl BufRead>, file: &str, format: &Format) -> Result<bool, FleetError> {
    lines.advance().map_err(|error| {
        let refuse =
            |problem: String, hint: &str| FleetError::file(file, Some(lines.number()), problem, hint);
        match error {
            LineError::Io(error) => unreadable(file, &error),
            LineError::TooLong => refuse(
                format!("longer than {LINE_BYTES_MAX} bytes"),
                &format!("this is not a {} file: one short line per device", format.what),
            ),
            LineError::UnclosedQuote { field } => refuse(
                format!("column {}: the quotes do not end with the field", field + 1),
                "close the quotes on the same line, before the comma; write a quote inside quotes twice",
            ),
        }
    })
}

fn unreadable(file: &str, error: &dyn std::error::Error) -> FleetError {
    let problem = format!("cannot be read: {error}");
    FleetError::file(file, None, problem, "check that the file exists and can be read")
}

fn refuse_binary(head: &[u8], file: &str, format: &Format) -> Result<(), FleetError> {
    let hint = format!("a {} is a CSV file in UTF-8", format.what);
    let refuse = |line, problem| FleetError::file(file, line, problem, &hint);
    if head.starts_with(b"\xFF\xFE") || head.starts_with(b"\xFE\xFF") {
        return Err(refuse(None, "the file is UTF-16, not UTF-8".to_owned()));
    }
    match head.iter().position(|&byte| byte == 0) {
        Some(at) => {
            let line = 1 + head[..at].iter().filter(|&&byte| byte == b'\n').count() as u64;
            Err(refuse(Some(line), format!("a zero byte (offset {at}): this is a binary file, not text")))
        }
        None => Ok(()),
    }
}

fn nearest_column(title: &str, format: &Format) -> String {
    if title.is_empty() {
        return format!(
            "leave out the column without a name (of pandas, write index=False); the columns are {}",
            format.header
        );
    }
    match nearest(title, format.columns.iter().map(|column| column.name)) {
        Some(column) => format!("did you mean {column}? The columns are {}", format.header),
        None => format!("the columns are {}", format.header),
    }
}
