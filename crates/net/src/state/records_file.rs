//! `records.jsonl` beside a database that has the same lines: it follows, and never leads.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use fedflip_record::RecordError;
use rusqlite::Connection;

use super::database::{STATE, refusal};
use crate::error::NetError;

/// The file, open at its end.
#[derive(Debug)]
pub(super) struct RecordsFile {
    path: PathBuf,
    file: File,
}

impl RecordsFile {
    /// Opens the file and makes it what the database says: what is right stays, what is behind it is replaced.
    pub(super) fn follow(path: &Path, connection: &Connection) -> Result<Self, NetError> {
        let failed = |action| RecordError::io(path, action);
        let refuse = refusal(&path.with_file_name(STATE));
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = file.map_err(failed("cannot be written"))?;
        let mut statement =
            connection.prepare("SELECT line || char(10) FROM records ORDER BY seq").map_err(&refuse)?;
        let mut lines = statement.query([]).map_err(&refuse)?;
        let mut next = || -> Result<Option<Vec<u8>>, NetError> {
            let Some(row) = lines.next().map_err(&refuse)? else { return Ok(None) };
            Ok(Some(row.get::<_, String>(0).map_err(&refuse)?.into_bytes()))
        };

        let (mut there, mut good_bytes) = (BufReader::new(&file), 0_u64);
        let mut found = Vec::new();
        let mut wanted = next()?;
        while let Some(line) = &wanted {
            found.clear();
            (&mut there).take(line.len() as u64).read_to_end(&mut found).map_err(failed("cannot be read"))?;
            if found != *line {
                break;
            }
            good_bytes += line.len() as u64;
            wanted = next()?;
        }
        if file.metadata().map_err(failed("cannot be read"))?.len() > good_bytes {
            file.set_len(good_bytes).map_err(failed("cannot be cut"))?;
        }
        file.seek(SeekFrom::Start(good_bytes)).map_err(failed("cannot be written"))?;
        if wanted.is_some() {
            let mut rest = BufWriter::new(&file);
            while let Some(line) = wanted {
                rest.write_all(&line).map_err(failed("cannot be written"))?;
                wanted = next()?;
            }
            rest.flush().map_err(failed("cannot be written"))?;
        }
        Ok(Self { path: path.to_owned(), file })
    }

    /// Appends a line, with its end, that the database has by now, for readers to see at once. Not brought to the disk: the
    /// database has it.
    pub(super) fn append(&mut self, line: &str) -> Result<(), NetError> {
        Ok(self.file.write_all(line.as_bytes()).map_err(RecordError::io(&self.path, "cannot be written"))?)
    }
}
