//! Whose the samples are. Names repeat, so each is held once.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

use crate::array::Values;
use crate::error::Problem;
use crate::table::wrong_type;

/// Whose the samples are.
#[derive(Clone, Debug, PartialEq)]
pub struct Devices {
    /// The names of the devices: numbers in ascending order, texts in that of the alphabet.
    pub names: Vec<String>,
    /// For each sample the position of its device among the names.
    pub of_samples: Vec<u32>,
}

/// Values that repeat: a value is held once, and each of its places takes four bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Distinct<T> {
    known: BTreeMap<T, u32>,
    places: Vec<u32>,
}

impl<T: Ord> Distinct<T> {
    pub(crate) fn new() -> Self {
        Self { known: BTreeMap::new(), places: Vec::new() }
    }

    pub(crate) fn push<V: Ord + ToOwned<Owned = T> + ?Sized>(&mut self, value: &V)
    where
        T: Borrow<V>,
    {
        let next = self.known.len() as u32;
        let at = self.known.get(value).copied().unwrap_or_else(|| {
            self.known.insert(value.to_owned(), next);
            next
        });
        self.places.push(at);
    }

    fn devices(self, name: impl Fn(T) -> Name) -> Devices {
        let mut known: Vec<(u32, T)> = self.known.into_iter().map(|(value, at)| (at, value)).collect();
        known.sort_unstable_by_key(|(at, _)| *at);
        let names: Vec<Name> = known.into_iter().map(|(_, value)| name(value)).collect();
        Devices::in_order(&names, self.places)
    }
}

impl Devices {
    pub(crate) fn of(values: Values) -> Result<Self, Problem> {
        match values {
            Values::Integers(values) => Ok(Self::of_numbers(values)),
            Values::Unsigned(values) => Ok(Self::of_numbers(values)),
            Values::Bytes(values) => Ok(Self::of_numbers(values)),
            Values::Texts(texts) => match texts.known.get("") {
                None => Ok(texts.devices(|text| Name::parse(&text))),
                Some(unnamed) => {
                    let sample = texts.places.iter().position(|at| at == unnamed).unwrap_or(0);
                    let place = format!("sample {sample}, device");
                    Err(Problem::Value { place, value: "\"\"".to_owned(), wanted: "a name" })
                }
            },
            other @ Values::Floats(_) => Err(wrong_type("device", &other, "integers or strings")),
        }
    }

    fn of_numbers<T: Ord + Clone + Into<i128>>(numbers: Vec<T>) -> Self {
        let mut distinct = Distinct::new();
        numbers.into_iter().for_each(|number| distinct.push(&number));
        distinct.devices(|number: T| Name::Number(number.into()))
    }

    /// Names in order, so that the partition does not depend on the order of samples.
    fn in_order(names: &[Name], mut of_samples: Vec<u32>) -> Self {
        let known: BTreeSet<&Name> = names.iter().collect();
        let places: BTreeMap<&Name, u32> = known.into_iter().zip(0..).collect();
        let ordered: Vec<u32> = names.iter().map(|name| places[name]).collect();
        of_samples.iter_mut().for_each(|at| *at = ordered[*at as usize]);
        Self { names: places.keys().map(ToString::to_string).collect(), of_samples }
    }

    pub(crate) fn append(&mut self, more: &Self) {
        let names: Vec<Name> = self.names.iter().chain(&more.names).map(|name| Name::parse(name)).collect();
        let first = self.names.len() as u32;
        let mut of_samples = std::mem::take(&mut self.of_samples);
        of_samples.extend(more.of_samples.iter().map(|at| at + first));
        *self = Self::in_order(&names, of_samples);
    }
}

/// The name of a device: numbers come before texts, and 2 before 10.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Name {
    Number(i128),
    Text(String),
}

impl Name {
    /// A text is a number only if the number is written like it: 1, 01 and +1 are three devices.
    fn parse(text: &str) -> Self {
        match text.parse::<i128>() {
            Ok(number) if number.to_string() == text => Self::Number(number),
            _ => Self::Text(text.to_owned()),
        }
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_texts(texts: &[&str]) -> Devices {
        let mut distinct = Distinct::new();
        texts.iter().for_each(|text| distinct.push(*text));
        Devices::of(Values::Texts(distinct)).unwrap()
    }

    #[test]
    fn names_that_are_written_differently_are_different_devices() {
        let found = of_texts(&["01", "1", "001", "1", "+1", "10", "2"]);
        assert_eq!(found.names, ["1", "2", "10", "+1", "001", "01"]);
        assert_eq!(found.of_samples, [5, 0, 4, 0, 3, 2, 1]);
    }

    #[test]
    fn large_numbers_stay_apart() {
        let found = Devices::of(Values::Unsigned(vec![u64::MAX, u64::MAX - 1, 7])).unwrap();
        assert_eq!(found.names, ["7", "18446744073709551614", "18446744073709551615"]);
        let found = Devices::of(Values::Integers(vec![(1 << 53) + 1, 1 << 53, -3])).unwrap();
        assert_eq!(found.names, ["-3", "9007199254740992", "9007199254740993"]);
    }
}
