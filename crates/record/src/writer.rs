//! Appending records: whole lines, with a running sum, so that a checkpoint can say how far they had come.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::checkpoint::Mark;
use crate::error::RecordError;
use crate::schema::Line;

/// Appends lines to `records.jsonl`.
#[derive(Debug)]
pub struct RecordWriter {
    path: PathBuf,
    file: BufWriter<File>,
    bytes: u64,
    crc: crc32fast::Hasher,
    /// Of the line in the making.
    line: Vec<u8>,
}

impl RecordWriter {
    /// A new file, or an old one emptied.
    pub fn create(path: &Path) -> Result<Self, RecordError> {
        let file = File::create(path).map_err(RecordError::io(path, "cannot be written"))?;
        Ok(Self::at(path, file, Mark::default()))
    }

    /// Resumes after `mark` and discards everything behind it; none if the records before it have changed.
    pub fn resume(path: &Path, mark: Mark) -> Result<Option<Self>, RecordError> {
        let mut file = match File::options().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(RecordError::io(path, "cannot be opened")(error)),
        };
        let refuse = |action| RecordError::io(path, action);
        let mut crc = crc32fast::Hasher::new();
        let mut before = (&mut file).take(mark.bytes);
        let mut buffer = vec![0; 1 << 16];
        let mut found = 0;
        loop {
            let read = before.read(&mut buffer).map_err(refuse("cannot be read"))?;
            if read == 0 {
                break;
            }
            crc.update(&buffer[..read]);
            found += read as u64;
        }
        if (Mark { bytes: found, crc: crc.finalize() }) != mark {
            return Ok(None);
        }
        file.set_len(mark.bytes).map_err(refuse("cannot be cut to the last checkpoint"))?;
        file.seek(SeekFrom::Start(mark.bytes)).map_err(refuse("cannot be read"))?;
        Ok(Some(Self::at(path, file, mark)))
    }

    /// After all that is there, for a run that has ended.
    pub(crate) fn at_end(path: &Path) -> Result<Self, RecordError> {
        let refuse = |action| RecordError::io(path, action);
        let mut file = File::options().write(true).open(path).map_err(refuse("cannot be opened"))?;
        let bytes = file.seek(SeekFrom::End(0)).map_err(refuse("cannot be read"))?;
        Ok(Self::at(path, file, Mark { bytes, crc: 0 }))
    }

    fn at(path: &Path, file: File, mark: Mark) -> Self {
        Self {
            path: path.to_owned(),
            file: BufWriter::with_capacity(1 << 16, file),
            bytes: mark.bytes,
            crc: crc32fast::Hasher::new_with_initial_len(mark.crc, mark.bytes),
            line: Vec::new(),
        }
    }

    /// Appends a line; it may stay in memory for a while.
    pub fn append(&mut self, line: &Line) -> Result<(), RecordError> {
        self.line.clear();
        let made = serde_json::to_writer(&mut self.line, line).map_err(std::io::Error::from);
        self.line.push(b'\n');
        made.and_then(|()| self.file.write_all(&self.line))
            .map_err(RecordError::io(&self.path, "cannot be written"))?;
        self.crc.update(&self.line);
        self.bytes += self.line.len() as u64;
        Ok(())
    }

    /// Hands everything to the system, so that readers see it.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        self.file.flush().map_err(RecordError::io(&self.path, "cannot be written"))
    }

    /// Syncs everything to the disk, and returns the length of the records.
    pub fn sync(&mut self) -> Result<Mark, RecordError> {
        self.flush()?;
        self.file.get_ref().sync_data().map_err(RecordError::io(&self.path, "cannot be written"))?;
        Ok(Mark { bytes: self.bytes, crc: self.crc.clone().finalize() })
    }
}
