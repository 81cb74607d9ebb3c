//! Lists that a key may be given.

use std::ops::RangeInclusive;

use fedflip_fleet::units::plain;

use super::error::Refusal;
use super::value::{Given, Value};

impl Given<'_> {
    /// A text, or a list of at least one text.
    pub(crate) fn texts(&self, wanted: &str) -> Result<Vec<String>, Refusal> {
        let Value::List(values) = self.value else { return Ok(vec![self.text(wanted)?.to_owned()]) };
        if values.is_empty() {
            return Err(self.refuse("is empty", wanted));
        }
        values.iter().map(|value| Given { value, ..*self }.text(wanted).map(str::to_owned)).collect()
    }

    /// A number, or a list of at most `most` numbers, each within `range`.
    pub(crate) fn numbers(&self, range: RangeInclusive<f64>, most: usize) -> Result<Vec<f64>, Refusal> {
        let (from, to) = (plain(*range.start()), plain(*range.end()));
        let wanted = format!("a list of numbers from {from} to {to}");
        let one = |value| Given { value, ..*self }.number(range.clone(), &wanted);
        match self.value {
            Value::List(values) if values.len() > most => {
                Err(self.refuse(&format!("has {} numbers", values.len()), &format!("at most {most} numbers")))
            }
            Value::List(values) => values.iter().map(one).collect(),
            value => one(value).map(|number| vec![number]),
        }
    }

    /// A list of whole numbers, or a single one.
    pub(crate) fn counts(&self, range: &RangeInclusive<usize>, wanted: &str) -> Result<Vec<usize>, Refusal> {
        match self.value {
            Value::List(values) => {
                values.iter().map(|value| Given { value, ..*self }.count(range.clone())).collect()
            }
            Value::Whole(_) | Value::Number(_) => self.count(range.clone()).map(|count| vec![count]),
            _ => Err(self.wrong_type(wanted)),
        }
    }
}
