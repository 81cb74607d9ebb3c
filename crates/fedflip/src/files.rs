//! Files that a user names: replaced whole, and never something that is no file.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use fedflip_record::folder::{FLEET, HOST, MODEL, PLAN, RECORDS, RUN};
use fedflip_record::{RecordError, atomic};

use crate::error::CliError;

/// Refuses to replace a file of a run folder: the run could not be resumed.
pub(crate) fn check_no_run(out: &Path) -> Result<(), CliError> {
    let folder = out.parent().unwrap_or(Path::new(""));
    let is_of_run =
        [RUN, FLEET, PLAN, RECORDS, MODEL, HOST].iter().any(|name| out.file_name() == Some(name.as_ref()));
    if is_of_run && folder.join(RECORDS).is_file() {
        return Err(CliError::usage(
            "--out: this would replace a file of a run folder",
            "name a file or a folder outside of the run's own folder",
        ));
    }
    Ok(())
}

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
