//! Samples as CSV: a header line, and one sample per line. One line at a time is held.

use std::fs::File;
use std::path::Path;

use csv::{ByteRecord, ReaderBuilder};

use crate::columns::{self, Role, Rows};
use crate::error::Problem;
use crate::table::Table;

pub(crate) fn read(path: &Path) -> Result<Table, Problem> {
    let malformed = |error: csv::Error| match error.into_kind() {
        csv::ErrorKind::Io(error) => Problem::Io(error),
        csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let line = pos.map_or(0, |at| at.line());
            Problem::malformed(
                "CSV",
                format!("line {line} has {len} values, and the header has {expected_len}"),
            )
        }
        other => Problem::malformed("CSV", format!("{other:?}")),
    };
    let mut reader = ReaderBuilder::new().from_reader(File::open(path)?);
    let header = reader.byte_headers().map_err(malformed)?;
    let names: Vec<String> = header
        .iter()
        .map(|name| String::from_utf8_lossy(name).trim_start_matches('\u{feff}').trim().to_owned())
        .collect();
    let roles = columns::roles(&names)?;
    let mut rows = Rows::new(&roles);
    let mut record = ByteRecord::new();
    while reader.read_byte_record(&mut record).map_err(malformed)? {
        for ((field, role), name) in record.iter().zip(&roles).zip(&names) {
            let line = || record.position().map_or(0, csv::Position::line);
            let text = str::from_utf8(field).unwrap_or("\u{fffd}").trim();
            let refused = |wanted| Problem::Value {
                place: format!("line {}, column {name}", line()),
                value: format!("{:?}", text.chars().take(40).collect::<String>()),
                wanted,
            };
            match role {
                Role::Feature(_) => rows.x.push(text.parse().map_err(|_| refused("a number"))?),
                Role::Label => rows.labels.push(text.parse().map_err(|_| refused("a number"))?),
                Role::Device => rows.devices.iter_mut().for_each(|devices| devices.push(text.to_owned())),
            }
        }
    }
    rows.table()
}
