//! The file of `join`'s settings as a list of keys, values and lines. [`crate::config`] checks them.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use crate::error::SettingError;

/// The longest file: many times what the settings of a device can need.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// One setting of the file or of the environment.
#[derive(Debug)]
pub(crate) struct Setting {
    /// The file and the line, or the environment variable.
    pub place: String,
    pub key: String,
    pub value: Value,
}

/// A value, before anything is known of its key.
#[derive(Debug)]
pub(crate) enum Value {
    Flag(bool),
    Number(String),
    Text(OsString),
    List(Vec<Value>),
    /// A table or a date, which no key takes.
    Foreign(&'static str),
}

impl Value {
    /// The value as a person wrote it, more or less.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Flag(flag) => flag.to_string(),
            Self::Number(number) => number.clone(),
            Self::Text(text) => format!("{:?}", text.to_string_lossy()),
            Self::List(values) => {
                format!("[{}]", values.iter().map(Self::shown).collect::<Vec<_>>().join(", "))
            }
            Self::Foreign(what) => (*what).to_owned(),
        }
    }
}

/// All settings of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<Setting>, SettingError> {
    let file = path.display().to_string();
    let refuse = |place: &str, problem: String, hint: &str| SettingError {
        place: place.to_owned(),
        problem,
        hint: hint.to_owned(),
    };
    let mut text = String::new();
    File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)).map_err(
        |error| refuse(&file, format!("cannot be read: {error}"), "name a TOML file that this user may read"),
    )?;
    if text.len() as u64 > FILE_BYTES_MAX {
        let hint = "name a TOML file with the settings of this device";
        return Err(refuse(&file, format!("longer than {FILE_BYTES_MAX} bytes"), hint));
    }
    let place = |offset: usize| {
        let line = 1 + text.bytes().take(offset).filter(|&byte| byte == b'\n').count();
        format!("{file}, line {line}")
    };
    let table = DeTable::parse(&text).map_err(|error| {
        let at = place(error.span().map_or(0, |span| span.start));
        refuse(&at, format!("not TOML: {}", error.message()), "write `key = value`, with text in quotes")
    })?;
    let settings = table.get_ref().iter().map(|(key, value)| Setting {
        place: place(key.span().start),
        key: key.get_ref().to_string(),
        value: of_toml(value.get_ref()),
    });
    Ok(settings.collect())
}

fn of_toml(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string().into()),
        DeValue::Integer(whole) => match i128::from_str_radix(whole.as_str(), whole.radix()) {
            Ok(whole) => Value::Number(whole.to_string()),
            Err(_) => Value::Foreign("a number of more than 38 digits"),
        },
        DeValue::Float(number) => Value::Number(number.as_str().to_owned()),
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Array(values) => Value::List(values.iter().map(|value| of_toml(value.get_ref())).collect()),
        DeValue::Datetime(_) => Value::Foreign("a date"),
        DeValue::Table(_) => Value::Foreign("a table"),
    }
}
