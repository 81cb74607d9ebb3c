//! Plain text, for models that predict the next character.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::Problem;

/// The longest text: 200 times all of Shakespeare.
const BYTES_MAX: u64 = 1 << 30;

pub(crate) fn read(path: &Path) -> Result<String, Problem> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    if length > BYTES_MAX {
        return Err(Problem::TooLarge { bytes: length, limit: BYTES_MAX });
    }
    let mut bytes = Vec::new();
    // A file may grow while it is read, and some, such as pipes, do not tell their length.
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(Problem::TooLarge { bytes: bytes.len() as u64, limit: BYTES_MAX });
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Problem::malformed("text", format!("byte {at} is not UTF-8"))
    })?;
    if text.trim().is_empty() { Err(Problem::Empty) } else { Ok(text) }
}
