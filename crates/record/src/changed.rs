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
    /// The key that changed, such as `stop.at`.
    #[serde(deserialize_with = "word")]
    pub key: String,
    /// The value as text; none if the key was not set.
    #[serde(default, deserialize_with = "optional_word")]
    pub before: Option<String>,
    /// The value as text; none if the key is not set any more.
    #[serde(default, deserialize_with = "optional_word")]
    pub now: Option<String>,
}

impl Changed {
    /// Whether the run is judged by another metric from here on, or in another direction.
    pub fn is_of_metric(&self) -> bool {
        self.changes.iter().any(|change| ["stop.metric", "stop.mode"].contains(&change.key.as_str()))
    }
}

impl Header {
    /// Takes over settings that changed while the run was in progress.
    pub fn take(&mut self, changed: &Changed) {
        if changed.stop.is_some() {
            self.stop.clone_from(&changed.stop);
        }
    }
}

/// A sentence names at most this many keys.
const NAMED_MAX: usize = 4;

/// The keys in which two scenarios differ, as a sentence; free keys do not count. Some keys follow from others, so the first
/// one may not be the one that a person has changed.
pub fn difference_in_words(before: &str, now: &str, free_keys: &[&str]) -> Option<String> {
    let is_fixed = |change: &KeyChange| !free_keys.contains(&change.key.as_str());
    let changes: Vec<KeyChange> = key_changes(before, now).into_iter().filter(is_fixed).collect();
    let quoted = |value: fn(&KeyChange) -> &Option<String>| {
        let one = |change: &KeyChange| match value(change) {
            Some(value) => format!("`{} = {value}`", change.key),
            None => format!("no `{}`", change.key),
        };
        changes.iter().take(NAMED_MAX).map(one).collect::<Vec<_>>().join(" and ")
    };
    let (old, new) = (quoted(|change| &change.before), quoted(|change| &change.now));
    let reason = match changes.len() {
        0 => return None,
        1 => "a run keeps the value of this key",
        _ => "a run keeps the values of these keys",
    };
    Some(format!("it has {old}, where this one has {new}; {reason}"))
}

/// The keys in which two scenarios differ, in the order of the first one; keys that only the second one has come last.
pub fn key_changes(before: &str, now: &str) -> Vec<KeyChange> {
    let [old, new] = [before, now].map(settings);
    let value = |settings: &[(String, String)], key: &str| {
        settings.iter().find(|(known, _)| known == key).map(|(_, value)| value.clone())
    };
    let added = new.iter().filter(|(key, _)| value(&old, key).is_none());
    let keys = old.iter().chain(added).map(|(key, _)| key);
    let change =
        |key: &String| KeyChange { key: key.clone(), before: value(&old, key), now: value(&new, key) };
    keys.map(change).filter(|change| change.before != change.now).collect()
}

/// The keys of a scenario in its canonical form, as SECTION.KEY, and their values.
fn settings(text: &str) -> Vec<(String, String)> {
    let mut section = String::new();
    let mut settings = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = format!("{name}.");
        } else if let Some((key, value)) = line.split_once('=')
            && !line.starts_with('#')
        {
            settings.push((format!("{section}{}", key.trim()), value.trim().to_owned()));
        }
    }
    settings
}
