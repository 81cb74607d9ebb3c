//! Plain text, for models that predict the next character.

use std::fs;
use std::path::Path;

use crate::error::Problem;

pub(crate) fn read(path: &Path) -> Result<String, Problem> {
    let bytes = fs::read(path)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Problem::malformed("text", format!("byte {at} is no UTF-8"))
    })?;
    if text.trim().is_empty() { Err(Problem::Empty) } else { Ok(text) }
}
