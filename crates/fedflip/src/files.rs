//! Files that a user names: replaced whole, and never something that is no file.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use fedflip_record::{RecordError, atomic};

/// Replaces a file, also one at the end of a link; writes into what is no file, such as a pipe.
pub(crate) fn write(out: &Path, bytes: &[u8]) -> Result<(), RecordError> {
    match fs::metadata(out) {
        Ok(found) if found.is_file() => {
            let file = fs::canonicalize(out).map_err(RecordError::io(out, "cannot be written"))?;
            atomic::write(&file, bytes)
        }
        Ok(_) => {
            let opened = File::options().write(true).open(out);
            opened
                .and_then(|mut file| file.write_all(bytes))
                .map_err(RecordError::io(out, "cannot be written"))
        }
        Err(_) => atomic::write(out, bytes),
    }
}
