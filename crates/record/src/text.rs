//! The words in records, safe for whoever shows them.
//!
//! Records may come from somebody else. What a terminal would obey is replaced where they are read, so that nobody who
//! shows a run needs to think of it.

use fedflip_fleet::printable;
use serde::{Deserialize, Deserializer};

/// A word without what a terminal would obey.
pub(crate) fn word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok(shown(&text))
}

/// The most characters of a word: nobody reads a longer one, and whoever shows it would have to hold it many times.
const CHARS_MAX: usize = 2000;

fn shown(text: &str) -> String {
    match text.char_indices().nth(CHARS_MAX) {
        None => printable(text).into_owned(),
        Some((end, _)) => format!("{}…", printable(&text[..end])),
    }
}

/// The same of a word that may be missing.
pub(crate) fn optional_word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.map(|text| shown(&text)))
}
