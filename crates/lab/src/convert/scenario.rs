//! The keys of `run.toml` in version 3: two have other names, and none is left out.

use std::path::Path;

use fedflip_record::folder::FLEET;
use fedflip_scenario::{Preset, Source, Value};

use crate::error::LabError;

/// Section, name in version 1, name in version 3.
const RENAMED: [(&str, &str, &str); 2] =
    [("plan", "noise", "variance"), ("plan", "quiet_noise", "quiet_variance")];

/// What was left out had the values of this preset; under `auto` nothing was left out.
const LEFT_OUT: Preset = Preset::Paper;

/// The text of version 3. The fleet's file is the one beside `path`.
pub(super) fn converted(text: &str, path: &Path) -> Result<String, LabError> {
    let mut section = "";
    // A pilot ended at its loss, whatever the target of the run that it was for.
    let is_pilot = text.lines().any(|line| line.starts_with("target_loss = "));
    let mut renamed = String::with_capacity(text.len());
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        }
        // The programs wrote one key in a line; lines keep their numbers for refusals.
        let line = match line.split_once(" = ") {
            Some(("file", _)) if section == "fleet" => {
                let fleet = path.with_file_name(FLEET).display().to_string();
                format!("file = {}", Value::text(fleet))
            }
            Some(("target_accuracy", _)) if section == "stop" && is_pilot => format!("# {line}"),
            Some((key, value)) => format!("{} = {value}", new_name(section, key)),
            None => line.to_owned(),
        };
        renamed += &line;
        renamed.push('\n');
    }
    let source = Source::of_text(&renamed, &path.display().to_string()).with_default_preset(LEFT_OUT);
    let scenario = source.scenario(&[]);
    Ok(scenario.map_err(|error| LabError::Refused(format!("{error}; {}", error.hint())))?.stored())
}

fn new_name<'a>(section: &str, key: &'a str) -> &'a str {
    let renamed = RENAMED.iter().find(|(place, old, _)| *place == section && *old == key);
    renamed.map_or(key, |(_, _, new)| new)
}
