//! The words in records, safe for whoever shows them.
//!
//! Records may come from somebody else. What a terminal would obey is replaced where they are read, so that nobody who
//! shows a run needs to think of it.

use fedflip_fleet::printable;
use serde::{Deserialize, Deserializer};

/// A word without what a terminal would obey.
pub(crate) fn word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok(printable(&text).into_owned())
}

/// The same of a word that may be missing.
pub(crate) fn optional_word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.map(|text| printable(&text).into_owned()))
}
