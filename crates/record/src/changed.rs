//! Settings that changed while a run was in progress.

use serde::{Deserialize, Serialize};

use crate::schema::Header;
use crate::target::Target;
use crate::text::{optional_word, word};

/// Settings that an operator changed while a run was in progress: targets, caps and deadlines. What rounds compute stays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Changed {
    /// The last round under the settings before.
    pub after_round: u64,
    /// The keys that changed.
    pub changes: Vec<KeyChange>,
    /// The target at which the run ends from here on; it replaces the one of the header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Target>,
}

/// A key of the scenario whose value changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyChange {
    /// Such as `stop.at`.
    #[serde(deserialize_with = "word")]
    pub key: String,
    /// The value as text; none if the key was not set.
    #[serde(default, deserialize_with = "optional_word")]
    pub before: Option<String>,
    /// The value as text; none if the key is not set any more.
    #[serde(default, deserialize_with = "optional_word")]
    pub now: Option<String>,
}

impl Header {
    /// Takes over settings that changed while the run was in progress.
    pub fn take(&mut self, changed: &Changed) {
        if changed.stop.is_some() {
            self.stop.clone_from(&changed.stop);
        }
    }
}
