//! Fleets as CSV: `device,compute_secs,comm_secs,samples` and, optionally, `availability`.
//!
//! Columns may stand in any order; CRLF, a byte-order mark and quoted names are accepted. Nothing is
//! guessed: a missing time is refused, never read as zero.

use std::io::{BufRead, BufReader, BufWriter, Read, Write};

use crate::csv_lines::{LINE_BYTES_MAX, LineError, Lines};
pub use crate::csv_lines::{write_text, write_text_for_spreadsheets};
use crate::error::FleetError;
use crate::fleet::{Device, Fleet};
use crate::nearest::nearest;
use crate::units::{OutOfRange, Probability, Samples, Secs};

/// The columns, in the order in which they are written.
pub const COLUMNS: [&str; 5] = ["device", "compute_secs", "comm_secs", "samples", "availability"];
const AVAILABILITY: usize = 4;
const HEADER: &str = "device,compute_secs,comm_secs,samples[,availability]";

/// Reads a fleet; errors name it as `file`.
pub fn read(input: impl Read, file: &str) -> Result<Fleet, FleetError> {
    let mut input = BufReader::with_capacity(1 << 16, input);
    let head = input.fill_buf().map_err(|error| unreadable(file, &error))?;
    refuse_binary(head, file)?;
    let mut lines = Lines::new(input);
    if !advance(&mut lines, file)? {
        let hint = format!("the first line must be {HEADER}");
        return Err(FleetError::file(file, None, "the file is empty", &hint));
    }
    let header = Header::parse(&lines, file)?;

    let mut builder = Fleet::builder();
    let mut line_of: Vec<u64> = Vec::new();
    while advance(&mut lines, file)? {
        let row = Row { line: &lines, header: &header, file };
        builder.push(row.device()?).map_err(|error| row.refuse(0, "is not a device name", error.hint()))?;
        line_of.push(lines.number());
    }
    builder.build().map_err(|error| match error {
        FleetError::NoDevices => {
            let hint = "add one line per device below the header";
            FleetError::file(file, None, "there is a header but no device", hint)
        }
        FleetError::RepeatedName { name, first, second } => FleetError::Cell {
            file: file.to_owned(),
            line: line_of[second],
            column: COLUMNS[0].to_owned(),
            value: name,
            problem: format!("already names the device in line {}", line_of[first]),
            hint: "give every device a name of its own".to_owned(),
        },
        other => other,
    })
}

/// Writes a fleet; the availability column only if some device has one below 1.
pub fn write(fleet: &Fleet, output: impl Write) -> std::io::Result<()> {
    let capped = fleet.availability().iter().any(|&availability| availability < 1.0);
    let columns = if capped { &COLUMNS[..] } else { &COLUMNS[..AVAILABILITY] };
    let mut output = BufWriter::new(output);
    writeln!(output, "{}", columns.join(","))?;
    for n in 0..fleet.len() {
        write_text(&mut output, fleet.name(n))?;
        write!(output, ",{},{},{}", fleet.compute_secs()[n], fleet.comm_secs()[n], fleet.samples()[n])?;
        if capped {
            write!(output, ",{}", fleet.availability()[n])?;
        }
        writeln!(output)?;
    }
    output.flush()
}

/// Which field of a row holds which of [`COLUMNS`].
struct Header {
    field_of: [Option<usize>; COLUMNS.len()],
    fields: usize,
}

impl Header {
    fn parse(titles: &Lines<impl BufRead>, file: &str) -> Result<Self, FleetError> {
        let line = titles.number();
        let refuse = |field: usize, value: &str, problem: &str, hint: String| FleetError::Cell {
            file: file.to_owned(),
            line,
            column: (field + 1).to_string(),
            value: value.to_owned(),
            problem: problem.to_owned(),
            hint,
        };
        let mut field_of = [None; COLUMNS.len()];
        // `phone,1,7,300` is a device, not a header.
        if titles
            .iter()
            .skip(1)
            .any(|title| std::str::from_utf8(title).is_ok_and(|title| title.parse::<f64>().is_ok()))
        {
            let (problem, hint) = ("the header is missing: this line has numbers in it", HEADER);
            return Err(FleetError::file(
                file,
                Some(line),
                problem,
                &format!("the first line must be {hint}"),
            ));
        }
        for (field, title) in titles.iter().enumerate() {
            let title = String::from_utf8_lossy(title);
            if titles.len() == 1 && title.contains([';', '\t']) {
                return Err(refuse(field, &title, "is not separated by commas", format!("write {HEADER}")));
            }
            let Some(column) = COLUMNS.iter().position(|column| *column == title) else {
                return Err(refuse(field, &title, "is not a column of a fleet file", nearest_column(&title)));
            };
            if field_of[column].replace(field).is_some() {
                let hint = "keep one of the two".to_owned();
                return Err(refuse(field, &title, "occurs twice in the header", hint));
            }
        }
        for (column, field) in COLUMNS.iter().zip(field_of).take(AVAILABILITY) {
            if field.is_none() {
                let problem = format!("the column {column} is missing");
                let hint = format!("the first line must be {HEADER}, in any order");
                return Err(FleetError::file(file, Some(line), problem, &hint));
            }
        }
        Ok(Self { field_of, fields: titles.len() })
    }
}

/// One line below the header.
struct Row<'a, R> {
    line: &'a Lines<R>,
    header: &'a Header,
    file: &'a str,
}

impl<'a, R: BufRead> Row<'a, R> {
    fn device(&self) -> Result<Device<'a>, FleetError> {
        if self.line.len() != self.header.fields {
            return Err(self.ragged());
        }
        Ok(Device {
            name: self.text(0)?,
            compute_secs: self.quantity(1, Secs::new)?,
            comm_secs: self.quantity(2, Secs::new)?,
            samples: self.quantity(3, Samples::new)?,
            availability: match self.header.field_of[AVAILABILITY] {
                Some(_) => self.quantity(AVAILABILITY, Probability::new)?,
                None => Probability::ONE,
            },
        })
    }

    fn bytes(&self, column: usize) -> &'a [u8] {
        self.header.field_of[column].and_then(|field| self.line.get(field)).unwrap_or_default()
    }

    fn text(&self, column: usize) -> Result<&'a str, FleetError> {
        std::str::from_utf8(self.bytes(column))
            .map_err(|_| self.refuse(column, "is not UTF-8 text", "save the file as UTF-8".to_owned()))
    }

    fn quantity<Q>(&self, column: usize, check: fn(f64) -> Result<Q, OutOfRange>) -> Result<Q, FleetError> {
        let text = self.text(column)?;
        if text.is_empty() {
            let hint = if column == AVAILABILITY {
                "write 1 for a device that is always reachable"
            } else {
                "write the measured value; a missing one is never taken for 0"
            };
            return Err(self.refuse(column, "is empty", hint.to_owned()));
        }
        let number: f64 = text.parse().map_err(|_| {
            self.refuse(column, "is not a number", "write a plain number such as 12 or 0.35".to_owned())
        })?;
        check(number)
            .map_err(|error| self.refuse(column, "is out of range", format!("it must be {}", error.wanted)))
    }

    fn refuse(&self, column: usize, problem: &str, hint: String) -> FleetError {
        FleetError::Cell {
            file: self.file.to_owned(),
            line: self.line.number(),
            column: COLUMNS[column].to_owned(),
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
            column.map_or_else(|| format!("{}", field + 1), |column| COLUMNS[column].to_owned())
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

fn advance(lines: &mut Lines<impl BufRead>, file: &str) -> Result<bool, FleetError> {
    lines.advance().map_err(|error| {
        let refuse =
            |problem: String, hint: &str| FleetError::file(file, Some(lines.number()), problem, hint);
        match error {
            LineError::Io(error) => unreadable(file, &error),
            LineError::TooLong => refuse(
                format!("longer than {LINE_BYTES_MAX} bytes"),
                "this is not a fleet file: one short line per device",
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

fn refuse_binary(head: &[u8], file: &str) -> Result<(), FleetError> {
    let refuse = |line, problem| FleetError::file(file, line, problem, "a fleet is a CSV file in UTF-8");
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

fn nearest_column(title: &str) -> String {
    match nearest(title, COLUMNS) {
        Some(column) => format!("did you mean {column}? The columns are {HEADER}"),
        None => format!("the columns are {HEADER}"),
    }
}
