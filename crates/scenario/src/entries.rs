//! A file and its overrides as a list of keys, values and places. Other modules check them.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::error::{KeyError, Place, short};
use super::value::Value;

/// The longest file: many times what a scenario can need.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Stands for a section that is named and has no keys.
pub(super) const HEADING: Value = Value::Foreign("a heading");

const EXAMPLE: &str = "`fedflip scenario new TASK` prints a whole one to start from";

/// One key and its value, or a heading with nothing below it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub place: Place,
    /// Empty for what stands above all sections.
    pub section: String,
    pub key: String,
    pub value: Value,
}

/// The text at `path`, or on standard input for `-`, and its name in error messages.
pub(super) fn read(path: &Path) -> Result<(String, String), KeyError> {
    let is_stdin = path.as_os_str() == "-";
    let file = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
    let refuse = |line: Option<usize>, problem: String, hint: &str| KeyError {
        place: Place::File { file: file.clone(), line },
        key: String::new(),
        problem,
        hint: hint.to_owned(),
    };
    let too_long = || {
        refuse(
            None,
            format!("longer than {FILE_BYTES_MAX} bytes"),
            "this is not a scenario, which is a short TOML file",
        )
    };
    let unreadable = |error: std::io::Error| {
        refuse(None, format!("cannot be read: {error}"), "name a scenario file, or - for standard input")
    };
    let mut bytes = Vec::new();
    let mut take = |input: &mut dyn Read| input.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
    if is_stdin {
        take(&mut std::io::stdin().lock()).map_err(unreadable)?;
    } else {
        let mut input = File::open(path).map_err(unreadable)?;
        if input.metadata().is_ok_and(|about| about.len() > FILE_BYTES_MAX) {
            return Err(too_long());
        }
        take(&mut input).map_err(unreadable)?;
    }
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(too_long());
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok((text, file)),
        Err(error) => {
            let good = error.utf8_error().valid_up_to();
            let line = 1 + error.as_bytes()[..good].iter().filter(|&&byte| byte == b'\n').count();
            Err(refuse(Some(line), "not UTF-8 text".to_owned(), "save the file as UTF-8"))
        }
    }
}

/// All keys of a TOML text, in their order.
pub(super) fn from_toml(text: &str, file: &str) -> Result<Vec<Entry>, KeyError> {
    let line_ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    let place = |offset: usize| {
        let line = 1 + line_ends.partition_point(|&end| end < offset);
        Place::File { file: file.to_owned(), line: Some(line) }
    };
    let root = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        let (problem, hint) = not_toml(text, span.clone(), error.message());
        KeyError { place: place(span.start), key: String::new(), problem, hint }
    })?;
    let mut found: Vec<(usize, Entry)> = Vec::new();
    let mut push = |offset: usize, section: &str, key: &str, value: Value| {
        let entry = Entry { place: place(offset), section: section.to_owned(), key: key.to_owned(), value };
        found.push((offset, entry));
    };
    for (name, value) in root.get_ref() {
        let at = name.span().start;
        match value.get_ref() {
            // A heading alone is no entry, unless nobody knows it.
            DeValue::Table(section) if section.is_empty() => push(at, name.get_ref(), "", HEADING),
            DeValue::Table(section) => {
                for (key, value) in section {
                    push(key.span().start, name.get_ref(), key.get_ref(), of_toml(value.get_ref()));
                }
            }
            value => push(at, "", name.get_ref(), of_toml(value)),
        }
    }
    found.sort_by_key(|(offset, _)| *offset);
    Ok(found.into_iter().map(|(_, entry)| entry).collect())
}

/// The parser's message, with the line that it is about.
fn not_toml(text: &str, span: Range<usize>, message: &str) -> (String, String) {
    if message == "duplicate key" {
        let key = text.get(span).unwrap_or_default();
        return (format!("{} is given twice", short(key)), "keep one of the two".to_owned());
    }
    let before = text.get(..span.start).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    (
        format!("{} is not TOML: {message}", short(line.trim())),
        format!("write `key = value`, text in quotes, below headings like [train]; {EXAMPLE}"),
    )
}

/// `train.batch=32`; what is not a TOML value is text, so that names need no quotes.
pub(super) fn from_override(text: &str) -> Result<Entry, KeyError> {
    let Some((path, value)) = text.split_once('=') else {
        return Err(KeyError {
            place: Place::Override,
            key: String::new(),
            problem: format!("{} has no equals sign", short(text)),
            hint: "write SECTION.KEY=VALUE, such as train.learning_rate=0.05".to_owned(),
        });
    };
    let (section, key) = path.trim().split_once('.').unwrap_or(("", path.trim()));
    let value = of_text(value.trim());
    Ok(Entry { place: Place::Override, section: section.to_owned(), key: key.to_owned(), value })
}

/// What is not a TOML value is text.
pub(super) fn of_text(text: &str) -> Value {
    DeValue::parse(text).map_or_else(|_| Value::text(text), |value| of_toml(value.get_ref()))
}

fn of_toml(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::text(text.as_ref()),
        DeValue::Integer(whole) => match i128::from_str_radix(whole.as_str(), whole.radix()) {
            Ok(whole) => Value::Whole(whole),
            Err(_) => Value::Foreign("a number of more than 38 digits"),
        },
        // TOML's floats are a subset of Rust's.
        DeValue::Float(number) => Value::Number(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Array(values) => Value::List(values.iter().map(|value| of_toml(value.get_ref())).collect()),
        DeValue::Datetime(_) => Value::Foreign("a date"),
        DeValue::Table(table) => {
            let entry = |(key, value): (&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)| {
                (bare_or_quoted(key.get_ref()), as_text(value.get_ref()))
            };
            Value::Table(table.iter().map(entry).collect())
        }
    }
}

/// A value as TOML on one line; a number stays as it was written, because 1 and 1.0 are not the same to all readers.
fn as_text(value: &DeValue<'_>) -> String {
    match value {
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Integer(whole) => {
            let prefix = match whole.radix() {
                2 => "0b",
                8 => "0o",
                16 => "0x",
                _ => "",
            };
            format!("{prefix}{}", whole.as_str())
        }
        DeValue::Datetime(date) => date.to_string(),
        DeValue::Array(values) => {
            let texts: Vec<String> = values.iter().map(|value| as_text(value.get_ref())).collect();
            format!("[{}]", texts.join(", "))
        }
        value => of_toml(value).to_string(),
    }
}

fn bare_or_quoted(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(is_bare) { key.to_owned() } else { Value::text(key).to_string() }
}
