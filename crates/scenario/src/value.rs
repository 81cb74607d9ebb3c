//! Values as they are given and printed, and the checks that turn them into what a scenario holds.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;

use fedflip_fleet::units::plain;
use fedflip_fleet::{OutOfRange, nearest};
use serde::{Serialize, Serializer};

use super::error::Refusal;
use super::in_memory::InMemory;

/// What stands behind a key. Prints as TOML, floats with as few digits as read back to the same number.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Flag(bool),
    Whole(i128),
    Number(f64),
    Text(String),
    List(Vec<Value>),
    /// The keys of a table and their values as TOML text, as they were written.
    Table(BTreeMap<String, String>),
    /// What no key takes: a date.
    Foreign(&'static str),
}

impl Value {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub fn count(count: usize) -> Self {
        Self::Whole(count as i128)
    }

    pub fn seed(seed: u64) -> Self {
        Self::Whole(seed.into())
    }

    /// As shown in a sentence: no longer than a line.
    fn shown(&self) -> String {
        const SHOWN_CHARS: usize = 40;
        let text = if let Self::Table(_) = self { "a table".to_owned() } else { self.to_string() };
        match text.char_indices().nth(SHOWN_CHARS) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Whole(whole) => write!(f, "{whole}"),
            Self::Number(number) => f.write_str(&plain(*number)),
            Self::Text(text) => write_quoted(text, f),
            Self::List(values) => {
                let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", texts.join(", "))
            }
            Self::Table(table) => {
                let entries: Vec<String> =
                    table.iter().map(|(key, text)| format!("{key} = {text}")).collect();
                write!(f, "{{ {} }}", entries.join(", "))
            }
            Self::Foreign(kind) => f.write_str(kind),
        }
    }
}

/// A basic string of TOML.
fn write_quoted(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\t' => f.write_str("\\t")?,
            c if c.is_control() => write!(f, "\\u{:04X}", u32::from(c))?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Whole(whole) => serializer.serialize_i128(*whole),
            Self::Number(number) => serializer.serialize_f64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(values) => serializer.collect_seq(values),
            Self::Table(table) => serializer.collect_map(table),
            Self::Foreign(kind) => serializer.serialize_str(kind),
        }
    }
}

/// Below it there is a float for every whole number: 2⁵³.
const FLOATS_WHOLE: f64 = 9_007_199_254_740_992.0;

/// A value that a key was given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given<'a> {
    pub value: &'a Value,
    /// Where relative paths start.
    pub folder: &'a Path,
    /// What takes the place of files.
    pub memory: &'a InMemory,
}

impl<'a> Given<'a> {
    /// A value that names no file.
    pub(crate) fn plain(value: &'a Value) -> Self {
        Self { value, folder: Path::new(""), memory: InMemory::NOTHING }
    }
}

impl<'a> Given<'a> {
    pub(crate) fn flag(&self) -> Result<bool, Refusal> {
        match self.value {
            Value::Flag(flag) => Ok(*flag),
            _ => Err(self.wrong_type("true or false")),
        }
    }

    /// A whole number within `range`.
    pub(crate) fn whole(&self, range: RangeInclusive<u64>) -> Result<u64, Refusal> {
        let wanted = format!("a whole number from {} to {}", range.start(), range.end());
        let whole = match self.value {
            Value::Whole(whole) => *whole,
            // 1e3 is as good as 1000, as far as floats tell whole numbers apart.
            Value::Number(number) if number.fract() == 0.0 && number.abs() < FLOATS_WHOLE => *number as i128,
            Value::Number(number) if number.fract() == 0.0 => {
                return Err(self.refuse("is too large to be written as a float", &wanted));
            }
            Value::Number(_) => return Err(self.refuse("is not a whole number", &wanted)),
            _ => return Err(self.wrong_type(&wanted)),
        };
        let within = u64::try_from(whole).ok().filter(|whole| range.contains(whole));
        within.ok_or_else(|| self.refuse("is out of range", &wanted))
    }

    /// The same for what fits an index.
    pub(crate) fn count(&self, range: RangeInclusive<usize>) -> Result<usize, Refusal> {
        let whole = self.whole(*range.start() as u64..=*range.end() as u64)?;
        Ok(usize::try_from(whole).unwrap_or(usize::MAX))
    }

    /// What a generator can be started with and TOML can hold.
    pub(crate) fn seed(&self) -> Result<u64, Refusal> {
        self.whole(0..=i64::MAX as u64)
    }

    /// A number within `range`; where that starts just above 0, `wanted` says so more simply.
    pub(crate) fn number(&self, range: RangeInclusive<f64>, wanted: &str) -> Result<f64, Refusal> {
        let number = self.any_number(wanted)?;
        // −0 becomes 0, so that equal scenarios have equal bytes.
        let inside = range.contains(&number).then_some(number + 0.0);
        inside.ok_or_else(|| self.refuse("is out of range", wanted))
    }

    /// A number with a unit that checks its own range.
    pub(crate) fn quantity<Q>(
        &self,
        check: fn(f64) -> Result<Q, OutOfRange>,
        wanted: &str,
    ) -> Result<Q, Refusal> {
        check(self.any_number(wanted)?).map_err(|error| self.refuse("is out of range", error.wanted))
    }

    /// Of what may be absent: "none" takes back what a file says.
    pub(crate) fn unless_none<T>(
        &self,
        take: impl FnOnce(&Self) -> Result<T, Refusal>,
    ) -> Result<Option<T>, Refusal> {
        self.unless("none", take)
    }

    /// Of what a word may stand for instead; none if it does.
    pub(crate) fn unless<T>(
        &self,
        word: &str,
        take: impl FnOnce(&Self) -> Result<T, Refusal>,
    ) -> Result<Option<T>, Refusal> {
        match self.value {
            Value::Text(text) if text == word => Ok(None),
            _ => take(self)
                .map(Some)
                .map_err(|refusal| Refusal { hint: format!("{}, or \"{word}\"", refusal.hint), ..refusal }),
        }
    }

    pub(crate) fn text(&self, wanted: &str) -> Result<&'a str, Refusal> {
        match self.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.wrong_type(wanted)),
        }
    }

    /// One of some names, and what it stands for.
    pub(crate) fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Result<T, Refusal> {
        let names = || choices.iter().map(|&(name, _)| name);
        let wanted = either(names());
        let text = self.text(&wanted)?;
        match choices.iter().find(|(name, _)| *name == text) {
            Some(&(_, choice)) => Ok(choice),
            None => Err(self.unknown_name(text, names(), &wanted)),
        }
    }

    /// At least one of some names, none of them twice, and what they stand for.
    pub(crate) fn choices<T: Copy>(&self, choices: &[(&str, T)]) -> Result<Vec<T>, Refusal> {
        let names = || choices.iter().map(|&(name, _)| name);
        let wanted = format!("a list of some of {}", names().map(quoted).collect::<Vec<_>>().join(", "));
        let Value::List(values) = self.value else { return Err(self.wrong_type(&wanted)) };
        if values.is_empty() {
            return Err(self.refuse("is empty", &wanted));
        }
        let mut chosen = Vec::with_capacity(values.len());
        for (position, value) in values.iter().enumerate() {
            let given = Given { value, ..*self };
            let text = given.text(&wanted)?;
            if values[..position].contains(value) {
                return Err(given.refuse("is given twice", &wanted));
            }
            match choices.iter().find(|(name, _)| *name == text) {
                Some(&(_, choice)) => chosen.push(choice),
                None => return Err(given.unknown_name(text, names(), &wanted)),
            }
        }
        Ok(chosen)
    }

    pub(crate) fn refuse(&self, problem: &str, wanted: &str) -> Refusal {
        Refusal { problem: format!("{} {problem}", self.value.shown()), hint: format!("it must be {wanted}") }
    }

    fn any_number(&self, wanted: &str) -> Result<f64, Refusal> {
        match self.value {
            Value::Whole(whole) => Ok(*whole as f64),
            Value::Number(number) => Ok(*number),
            _ => Err(self.wrong_type(wanted)),
        }
    }

    fn unknown_name<'n>(&self, text: &str, names: impl Iterator<Item = &'n str>, wanted: &str) -> Refusal {
        let refusal = self.refuse("is not known", wanted);
        match nearest(text, names) {
            Some(name) => {
                Refusal { hint: format!("did you mean {}? It must be {wanted}", quoted(name)), ..refusal }
            }
            None => refusal,
        }
    }

    pub(super) fn wrong_type(&self, wanted: &str) -> Refusal {
        let kind = match self.value {
            Value::Flag(_) => "is a boolean",
            Value::Whole(_) | Value::Number(_) => "is a number",
            Value::Text(_) => "is text",
            Value::List(_) => "is a list",
            Value::Table(_) | Value::Foreign(_) => "does not belong here",
        };
        self.refuse(kind, wanted)
    }
}

fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

/// `"a", "b" or "c"`.
pub(crate) fn either<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<String> = names.map(quoted).collect();
    let last = names.pop().unwrap_or_default();
    if names.is_empty() { last } else { format!("{} or {last}", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_may_be_written_as_floats() {
        let whole = |number: f64| {
            let value = Value::Number(number);
            let given = Given::plain(&value);
            given.whole(0..=u64::MAX).map_err(|refusal| refusal.problem)
        };
        assert_eq!([1e3, -0.0].map(whole), [Ok(1000), Ok(0)]);
        assert_eq!(whole(FLOATS_WHOLE - 1.0), Ok((1 << 53) - 1));
        for (number, why) in [
            (FLOATS_WHOLE, "is too large to be written as a float"),
            (1e300, "is too large to be written as a float"),
            (-3.0, "is out of range"),
            (2.5, "is not a whole number"),
            (f64::NAN, "is not a whole number"),
            (f64::INFINITY, "is not a whole number"),
        ] {
            let refusal = whole(number).unwrap_err();
            assert!(refusal.ends_with(why), "{refusal}");
        }
    }
}
