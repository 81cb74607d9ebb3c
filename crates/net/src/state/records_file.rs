//! `records.jsonl`, which repeats the lines of the database for readers and is never ahead of it.

use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use fedflip_record::{Line, RecordError};
use rusqlite::Connection;

use crate::error::{CANNOT_BE_READ, NetError};

const LINES: &str = "SELECT line || char(10) FROM records WHERE seq > ?1 ORDER BY seq";

/// The first bytes of an end line.
const END_BEGINS: &[u8] = br#"{"type":"end""#;
/// An end line is shorter than this.
const END_BYTES_MAX: u64 = 64 << 10;

/// The part of the file that equals the lines of the database.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Agreed {
    lines: u64,
    bytes: u64,
}

impl Agreed {
    /// Compares the file with the database, and changes nothing. A killed server leaves a file that ends early, perhaps
    /// within a line; a file that differs is refused with its line and round.
    pub(super) fn with_database(path: &Path, connection: &Connection) -> Result<Self, NetError> {
        let mut file = match File::open(path) {
            Ok(file) => BufReader::new(file),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(RecordError::io(path, CANNOT_BE_READ)(error).into()),
        };
        let mut read = |found: &mut Vec<u8>, bytes: u64| {
            found.clear();
            (&mut file).take(bytes).read_to_end(found).map_err(RecordError::io(path, CANNOT_BE_READ))
        };
        let mut agreed = Self::default();
        let mut found = Vec::new();
        let mut statement = connection.prepare(LINES)?;
        let mut lines = statement.query([0])?;
        while let Some(row) = lines.next()? {
            let wanted = row.get_ref(0).and_then(|text| Ok(text.as_bytes()?))?;
            read(&mut found, wanted.len() as u64)?;
            if found == wanted {
                agreed = Self { lines: agreed.lines + 1, bytes: agreed.bytes + wanted.len() as u64 };
            } else if found.len() < wanted.len() && wanted.starts_with(without_zeros(&found)) {
                return Ok(agreed);
            } else {
                // Where an end was taken back and the server was killed at that moment, the file still has it.
                let mut more = Vec::new();
                read(&mut more, END_BYTES_MAX)?;
                found.extend_from_slice(&more);
                if is_end(&found) && !wanted.starts_with(END_BEGINS) {
                    return Ok(agreed);
                }
                let round = match serde_json::from_slice(wanted) {
                    Ok(Line::Round(record)) => Some(record.round),
                    _ => None,
                };
                return Err(differs(path, agreed.lines + 1, round));
            }
        }
        read(&mut found, END_BYTES_MAX)?;
        if found.is_empty() || is_end(&found) {
            Ok(agreed)
        } else {
            Err(differs(path, agreed.lines + 1, None))
        }
    }
}

/// Some file systems append zeros to a file when the power fails: the content ends before them.
fn without_zeros(found: &[u8]) -> &[u8] {
    let end = found.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    &found[..end]
}

fn differs(path: &Path, line: u64, round: Option<u64>) -> NetError {
    NetError::RecordsDiffer { path: path.display().to_string(), line, round }
}

/// Whether this is an end line, or the beginning of one. Where a cap was raised and the server was killed at that moment,
/// only the database has removed it.
fn is_end(found: &[u8]) -> bool {
    let line = found.strip_suffix(b"\n").unwrap_or(found);
    !line.contains(&b'\n') && (line.starts_with(END_BEGINS) || END_BEGINS.starts_with(line))
}

/// The file, open at its end.
#[derive(Debug)]
pub(super) struct RecordsFile {
    path: PathBuf,
    file: File,
}

impl RecordsFile {
    /// Opens the file, keeps the part that agrees with the database, and appends the database's other lines.
    pub(super) fn follow(path: &Path, connection: &Connection, agreed: Agreed) -> Result<Self, NetError> {
        let failed = |action| RecordError::io(path, action);
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = file.map_err(failed("cannot be written"))?;
        // A run that continues has removed its end line.
        let of_all = "SELECT count(*), coalesce(sum(octet_length(line) + 1), 0) FROM records";
        let all = connection.query_row(of_all, [], |row| {
            Ok(Agreed { lines: row.get::<_, i64>(0)? as u64, bytes: row.get::<_, i64>(1)? as u64 })
        })?;
        let agreed = if agreed.lines > all.lines { all } else { agreed };
        if file.metadata().map_err(failed(CANNOT_BE_READ))?.len() > agreed.bytes {
            file.set_len(agreed.bytes).map_err(failed("cannot be cut"))?;
        }
        file.seek(SeekFrom::Start(agreed.bytes)).map_err(failed("cannot be written"))?;
        let mut rest = BufWriter::new(&file);
        let mut statement = connection.prepare(LINES)?;
        let mut lines = statement.query([agreed.lines as i64])?;
        while let Some(row) = lines.next()? {
            let line = row.get_ref(0).and_then(|text| Ok(text.as_bytes()?))?;
            rest.write_all(line).map_err(failed("cannot be written"))?;
        }
        rest.flush().map_err(failed("cannot be written"))?;
        drop(rest);
        Ok(Self { path: path.to_owned(), file })
    }

    /// Appends a line that the database has already, so that readers see it at once. The file is not synced: the database is.
    pub(super) fn append(&mut self, line: &str) -> Result<(), NetError> {
        Ok(self.file.write_all(line.as_bytes()).map_err(RecordError::io(&self.path, "cannot be written"))?)
    }
}
