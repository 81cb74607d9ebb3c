//! A scenario as text: canonical TOML, the commented file to start from, JSON.

use std::path::Path;

use fedflip_learn::task::Task;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::keys::{self, Key, SECTIONS, Shown};
use super::{Preset, Scenario, Source};
use crate::error::ScenarioError;

/// Where comments start, unless a line reaches further.
const COMMENT_COLUMN: usize = 34;

impl Scenario {
    /// Every value that is set, without empty sections. Equal scenarios give equal bytes, and the text reads back as an equal
    /// scenario.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        for (section, _) in SECTIONS {
            let lines: String = keys::of(section, self.task).filter_map(|key| self.setting(key)).collect();
            if !section.is_empty() && !lines.is_empty() {
                text += &format!("\n[{section}]\n");
            }
            text += &lines;
        }
        text
    }

    /// A key's line in the canonical text, if it has one.
    fn setting(&self, key: &Key) -> Option<String> {
        key.get(self).map(|value| format!("{} = {value}\n", key.name))
    }

    /// The scenario of a task with every default visible and every key explained.
    pub fn template(task: Task, preset: Preset) -> Result<String, ScenarioError> {
        Self::template_with(task, preset, &[], Path::new(""))
    }

    /// The same with other values for some keys, which are not commented out; relative names start in `folder`.
    pub(super) fn template_with(
        task: Task,
        preset: Preset,
        overrides: &[String],
        folder: &Path,
    ) -> Result<String, ScenarioError> {
        let source = Source { folder: folder.to_owned(), ..Source::of_task(task, preset) };
        let scenario = source.scenario(overrides)?;
        let is_given = |key: &Key| {
            let path = key.path();
            overrides.iter().any(|text| text.split_once('=').is_some_and(|(given, _)| given == path))
        };
        let mut text = format!(
            "# A scenario of fedflip: defaults for {}, preset \"{}\". Every line but the task's name may be\n\
             # left out. A commented line shows a value that follows from others, or an example of a\n\
             # key that is not set. More in docs/reference/scenario.md.\n\n",
            task.name(),
            preset.name()
        );
        for (section, about) in SECTIONS {
            if !section.is_empty() {
                text += &format!("\n# {about}.\n[{section}]\n");
            }
            for key in keys::of(section, task) {
                text += &line(key, &scenario, is_given(key));
            }
        }
        Ok(text)
    }
}

/// A key, its value and its comment: beside it, or above where the value is long.
fn line(key: &Key, scenario: &Scenario, is_given: bool) -> String {
    let value = key.get(scenario).map(|value| value.to_string());
    let setting = match key.shown {
        Shown::Shorthand | Shown::Hidden => return String::new(),
        Shown::Set if value.is_none() => return String::new(),
        _ if is_given => format!("{} = {}", key.name, value.unwrap_or_default()),
        Shown::Set => format!("{} = {}", key.name, value.unwrap_or_default()),
        Shown::Follows => format!("# {} = {}", key.name, value.unwrap_or_default()),
        Shown::FollowsOr(example) => format!("# {} = {}", key.name, value.as_deref().unwrap_or(example)),
        Shown::Example(example) => format!("# {} = {example}", key.name),
    };
    if setting.len() < COMMENT_COLUMN {
        format!("{setting:COMMENT_COLUMN$}# {}\n", key.about)
    } else {
        format!("# {}:\n{setting}\n", key.about)
    }
}

/// One object with an object per section; null where nothing is set.
impl Serialize for Scenario {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut root = serializer.serialize_map(None)?;
        for (section, _) in SECTIONS {
            if section.is_empty() {
                for key in keys::of(section, self.task).filter(|key| key.is_kept()) {
                    root.serialize_entry(key.name, &key.get(self))?;
                }
            } else {
                root.serialize_entry(section, &Section { scenario: self, section })?;
            }
        }
        root.end()
    }
}

struct Section<'a> {
    scenario: &'a Scenario,
    section: &'static str,
}

impl Serialize for Section<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let keys = keys::of(self.section, self.scenario.task).filter(|key| key.is_kept());
        serializer.collect_map(keys.map(|key| (key.name, key.get(self.scenario))))
    }
}
