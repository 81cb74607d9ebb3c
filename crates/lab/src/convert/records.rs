//! The lines of `records.jsonl` in the present version: metrics and the target have names, and a pilot says that it is one.

use fedflip_record::Line;
use fedflip_record::schema::VERSION;
use serde_json::{Map, Value, json};

use crate::error::LabError;

type Fields = Map<String, Value>;

/// The metrics of version 1; the first one is the headline.
const METRICS: [&str; 2] = ["accuracy", "loss"];

/// Records of the present version.
pub(super) struct Converted {
    pub(super) text: String,
    /// Whether the run has ended.
    pub(super) ended: bool,
}

/// Whether records are of version 1 and not of the present version.
pub(super) fn is_version_1(text: &str, file: &str) -> Result<bool, LabError> {
    let first = text.lines().next().unwrap_or_default();
    let header: Value = serde_json::from_str(first).unwrap_or_default();
    match header["version"].as_u64() {
        Some(1) => Ok(true),
        Some(version) if version == u64::from(VERSION) => Ok(false),
        Some(version) => {
            Err(refused(file, 1, &format!("the records are of version {version}, not 1 or {VERSION}")))
        }
        None => Err(refused(file, 1, "this is no header of records")),
    }
}

/// All whole lines. A last line without its end was still being written, and is left out as readers do.
pub(super) fn converted(text: &str, file: &str) -> Result<Converted, LabError> {
    let mut all = Converted { text: String::with_capacity(text.len()), ended: false };
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let Some(line) = line.strip_suffix('\n') else { break };
        let line = converted_line(line).map_err(|problem| refused(file, index + 1, &problem))?;
        all.ended |= line.starts_with(r#"{"type":"end""#);
        all.text += &line;
        all.text.push('\n');
    }
    Ok(all)
}

fn refused(file: &str, line: usize, problem: &str) -> LabError {
    LabError::Refused(format!("{file}, line {line}: {problem}"))
}

fn converted_line(line: &str) -> Result<String, String> {
    let mut fields: Fields = serde_json::from_str(line).map_err(|error| format!("not a record: {error}"))?;
    match fields.get("type").and_then(Value::as_str) {
        Some("header") => header(&mut fields)?,
        Some("round") => evaluation(&mut fields)?,
        Some("end") => {
            evaluation(&mut fields)?;
            end(&mut fields);
        }
        Some("replan") => {}
        other => return Err(format!("version 1 has no record of the type {other:?}")),
    }
    let wanted = Value::Object(fields);
    let line: Line =
        serde_json::from_value(wanted.clone()).map_err(|error| format!("not a record: {error}"))?;
    let text = serde_json::to_string(&line).map_err(|error| error.to_string())?;
    // Whatever the schema does not know would be lost, and so would digits of numbers.
    let kept: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    if kept != wanted {
        return Err(format!("version {VERSION} would keep only {text}"));
    }
    Ok(text)
}

fn header(fields: &mut Fields) -> Result<(), String> {
    fields.insert("version".to_owned(), json!(VERSION));
    let accuracy = json!({ "name": METRICS[0], "better": "larger", "display": "share" });
    let loss = json!({ "name": METRICS[1], "better": "smaller", "display": "number" });
    add(fields, "metrics", json!([accuracy, loss]))?;
    let [accuracy, loss] = ["target_accuracy", "target_loss"].map(|key| take(fields, key));
    if let Some(loss) = loss {
        add(fields, "stop", json!({ "metric": "loss", "at": loss, "mode": "min" }))?;
        // Nothing but a pilot had a target loss.
        add(fields, "pilot", json!(true))?;
    } else if let Some(accuracy) = accuracy {
        add(fields, "stop", json!({ "metric": "accuracy", "at": accuracy, "mode": "max" }))?;
    }
    Ok(())
}

fn evaluation(fields: &mut Fields) -> Result<(), String> {
    let found: Fields =
        METRICS.iter().filter_map(|name| Some(((*name).to_owned(), take(fields, name)?))).collect();
    if found.is_empty() { Ok(()) } else { add(fields, "metrics", Value::Object(found)) }
}

fn end(fields: &mut Fields) {
    let reason = fields.get_mut("reason");
    if let Some(reason) = reason.filter(|reason| **reason == "target_accuracy" || **reason == "target_loss") {
        *reason = json!("target");
    }
}

/// The value of a key that goes away; null is none.
fn take(fields: &mut Fields, key: &str) -> Option<Value> {
    fields.remove(key).filter(|value| !value.is_null())
}

fn add(fields: &mut Fields, key: &str, value: Value) -> Result<(), String> {
    match fields.insert(key.to_owned(), value) {
        None => Ok(()),
        Some(_) => Err(format!("version 1 has no `{key}`")),
    }
}
