//! Samples as CSV: a header line, and one sample per line. One line at a time is held, and none without an end.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use csv::{ByteRecord, ReaderBuilder};

use crate::columns::{self, Role, Rows};
use crate::error::Problem;
use crate::table::Table;

/// The longest line: a header and a quote without an end are taken for a mistake.
const LINE_BYTES_MAX: usize = 1 << 24;
/// The largest number of columns of a table.
const COLUMNS_MAX: usize = 1 << 20;

/// A file that is read up to the end of a line that is not too long.
struct Lines<'a> {
    file: File,
    /// The bytes that were read since the last line was complete.
    bytes: &'a Cell<usize>,
}

impl Read for Lines<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.bytes.get() > LINE_BYTES_MAX {
            let what = format!("a line has more than {LINE_BYTES_MAX} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        let read = self.file.read(buffer)?;
        self.bytes.set(self.bytes.get() + read);
        Ok(read)
    }
}

pub(crate) fn read(path: &Path) -> Result<Table, Problem> {
    let malformed = |error: csv::Error| match error.into_kind() {
        csv::ErrorKind::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
            Problem::malformed("CSV", error)
        }
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
    let bytes = Cell::new(0);
    let mut reader = ReaderBuilder::new().from_reader(Lines { file: File::open(path)?, bytes: &bytes });
    let header = reader.byte_headers().map_err(malformed)?;
    if header.len() > COLUMNS_MAX {
        let what = format!("it has {} columns; at most {COLUMNS_MAX} are read", header.len());
        return Err(Problem::malformed("CSV", what));
    }
    let name = |(column, name)| match str::from_utf8(name) {
        Ok(name) => Ok(name.trim_start_matches('\u{feff}').trim().to_owned()),
        Err(_) => Err(not_utf8(format!("line 1, column {}", column + 1), name)),
    };
    let names = header.iter().enumerate().map(name).collect::<Result<Vec<String>, Problem>>()?;
    let roles = columns::roles(&names)?;
    let mut rows = Rows::new(&roles, &names);
    let mut record = ByteRecord::new();
    while reader.read_byte_record(&mut record).map_err(malformed)? {
        bytes.set(0);
        for ((field, role), name) in record.iter().zip(&roles).zip(&names) {
            let line = || record.position().map_or(0, csv::Position::line);
            let place = || format!("line {}, column {name}", line());
            // Replaced by a sign for what cannot be read, two devices would become one.
            let text = str::from_utf8(field).map_err(|_| not_utf8(place(), field))?.trim();
            let refused = |wanted| Problem::Value {
                place: place(),
                value: format!("{:?}", text.chars().take(40).collect::<String>()),
                wanted,
            };
            match role {
                Role::Feature(_) => rows.x.push(text.parse().map_err(|_| refused("a number"))?),
                Role::Label => rows.push_label(text.parse().map_err(|_| match refused("a number") {
                    Problem::Value { place, value, .. } if !text.is_empty() => {
                        Problem::TextLabel { place, value }
                    }
                    missing => missing,
                })?),
                Role::Device => rows.push_device(text),
            }
        }
    }
    rows.table()
}

/// A text in another encoding.
fn not_utf8(place: String, text: &[u8]) -> Problem {
    let shown: String = String::from_utf8_lossy(text).chars().take(40).collect();
    Problem::Value { place, value: format!("{shown:?}"), wanted: "UTF-8 text" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_are_words_are_refused_with_a_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, "age,label\n1,cat\n").unwrap();
        let error = read(&path).unwrap_err().in_file(&path);
        assert!(
            error.to_string().ends_with("line 2, column label: \"cat\" is a text, and labels are numbers")
        );
        assert!(error.hint().contains("factorize"), "{}", error.hint());
        std::fs::write(&path, "age,label\n1,\n").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("\"\" is not a number"));
    }
}
