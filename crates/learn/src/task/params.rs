//! Parameters of a task: what a row declares, and the values that one task has.

use std::fmt;
use std::ops::RangeInclusive;

use fedflip_fleet::units::plain;

use super::error::TaskError;

/// How many parameters a row may declare: values are stored inline, so that a task is copied like a number.
pub const PARAMS_MAX: usize = 12;

/// How many dimensions a list of sizes may have.
pub const DIMENSIONS_MAX: usize = 4;

/// One parameter that a row declares.
#[derive(Debug, PartialEq)]
pub struct Param {
    /// The key below `[task]`, and the name on the wire.
    pub name: &'static str,
    /// The comment in a new scenario.
    pub about: &'static str,
    /// The values that the parameter takes.
    pub kind: ParamKind,
    /// The value of a task that does not set the parameter.
    pub default: ParamValue<'static>,
}

/// The values that a parameter takes.
#[derive(Debug, PartialEq)]
pub enum ParamKind {
    /// A parameter that is true or false.
    Flag,
    /// A whole number within a range.
    Count(RangeInclusive<usize>),
    /// A number within a range.
    Number(RangeInclusive<f64>),
    /// One of these names.
    Choice(&'static [&'static str]),
    /// One to [`DIMENSIONS_MAX`] whole numbers, each within a range.
    Sizes(RangeInclusive<usize>),
}

/// A list of sizes, such as the dimensions of a sample; stored inline like every value.
#[derive(Clone, Copy, PartialEq)]
pub struct Sizes {
    len: usize,
    /// The rest is 0.
    sizes: [usize; DIMENSIONS_MAX],
}

impl Sizes {
    /// The sizes of a list; none if the list is empty or too long.
    pub const fn new(list: &[usize]) -> Option<Self> {
        let len = list.len();
        if len == 0 || len > DIMENSIONS_MAX {
            return None;
        }
        let mut sizes = [0; DIMENSIONS_MAX];
        let mut at = 0;
        while at < len {
            sizes[at] = list[at];
            at += 1;
        }
        Some(Self { len, sizes })
    }

    /// A list of one size.
    pub const fn one(size: usize) -> Self {
        Self { len: 1, sizes: [size, 0, 0, 0] }
    }

    /// The product of all sizes; the largest number there is if the product is larger.
    pub fn elements(&self) -> usize {
        self.as_slice().iter().fold(1, |product: usize, size| product.saturating_mul(*size))
    }

    /// The sizes in order.
    pub fn as_slice(&self) -> &[usize] {
        &self.sizes[..self.len]
    }
}

impl fmt::Debug for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

/// A value that is given to a parameter, or that a task has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamValue<'a> {
    /// A value that is true or false.
    Flag(bool),
    /// A whole number from 0.
    Count(usize),
    /// A number with a fraction.
    Number(f64),
    /// The name of an alternative.
    Choice(&'a str),
    /// A list of sizes.
    Sizes(Sizes),
}

impl fmt::Display for ParamValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Count(count) => write!(f, "{count}"),
            Self::Number(number) => f.write_str(&plain(*number)),
            Self::Choice(name) => write!(f, "{name:?}"),
            Self::Sizes(sizes) => write!(f, "{sizes:?}"),
        }
    }
}

impl Param {
    /// What a right value is, in words.
    pub fn wanted(&self) -> String {
        match &self.kind {
            ParamKind::Flag => "true or false".to_owned(),
            ParamKind::Count(range) => format!("a whole number from {} to {}", range.start(), range.end()),
            ParamKind::Number(range) => {
                format!("a number from {} to {}", plain(*range.start()), plain(*range.end()))
            }
            ParamKind::Choice(names) => {
                names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(" or ")
            }
            ParamKind::Sizes(range) => {
                let (least, most) = (range.start(), range.end());
                format!("a list of 1 to {DIMENSIONS_MAX} whole numbers from {least} to {most}")
            }
        }
    }

    /// The value as a task stores it, if it is of the right kind and within the range.
    fn checked(&self, value: ParamValue<'_>) -> Option<ParamValue<'static>> {
        match (&self.kind, value) {
            (ParamKind::Flag, ParamValue::Flag(flag)) => Some(ParamValue::Flag(flag)),
            (ParamKind::Count(range), ParamValue::Count(count)) => {
                range.contains(&count).then_some(ParamValue::Count(count))
            }
            // −0 becomes 0, so that equal tasks have equal bytes.
            (ParamKind::Number(range), ParamValue::Number(number)) => {
                range.contains(&number).then_some(ParamValue::Number(number + 0.0))
            }
            (ParamKind::Choice(names), ParamValue::Choice(name)) => {
                names.iter().find(|known| **known == name).map(|name| ParamValue::Choice(name))
            }
            (ParamKind::Sizes(range), ParamValue::Sizes(sizes)) => {
                let all_fit = sizes.as_slice().iter().all(|size| range.contains(size));
                all_fit.then_some(ParamValue::Sizes(sizes))
            }
            _ => None,
        }
    }
}

/// The values of a task's parameters, each within the range that its row declares.
#[derive(Clone, Copy, PartialEq)]
pub struct Params {
    declared: &'static [Param],
    /// In the order of `declared`; the rest is unused.
    values: [ParamValue<'static>; PARAMS_MAX],
}

impl Params {
    /// The defaults of a row. Parameters beyond [`PARAMS_MAX`] do not exist.
    pub fn defaults(declared: &'static [Param]) -> Self {
        let declared = &declared[..declared.len().min(PARAMS_MAX)];
        let mut values = [ParamValue::Flag(false); PARAMS_MAX];
        for (value, param) in values.iter_mut().zip(declared) {
            *value = param.default;
        }
        Self { declared, values }
    }

    /// Every parameter with its value, in the row's order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Param, ParamValue<'static>)> + use<> {
        self.declared.iter().zip(self.values)
    }

    /// The value of a parameter; none if the row does not declare it.
    pub fn get(&self, name: &str) -> Option<ParamValue<'static>> {
        self.iter().find(|(param, _)| param.name == name).map(|(_, value)| value)
    }

    /// Sets a parameter to a value within its range.
    pub fn set(&mut self, name: &str, value: ParamValue<'_>) -> Result<(), TaskError> {
        let Some(position) = self.declared.iter().position(|param| param.name == name) else {
            let known = self.declared.iter().map(|param| param.name).collect();
            return Err(TaskError::UnknownParam { name: name.to_owned(), known });
        };
        let param = &self.declared[position];
        let refusal =
            || TaskError::BadParam { name: param.name, value: value.to_string(), wanted: param.wanted() };
        self.values[position] = param.checked(value).ok_or_else(refusal)?;
        Ok(())
    }

    /// The value of a flag; false if the row declares no such flag.
    pub fn flag(&self, name: &str) -> bool {
        self.get(name) == Some(ParamValue::Flag(true))
    }

    /// The value of a count; 0 if the row declares no such count.
    pub fn count(&self, name: &str) -> usize {
        if let Some(ParamValue::Count(count)) = self.get(name) { count } else { 0 }
    }

    /// The value of a number; 0 if the row declares no such number.
    pub fn number(&self, name: &str) -> f64 {
        if let Some(ParamValue::Number(number)) = self.get(name) { number } else { 0.0 }
    }

    /// The value of a list of sizes; 1 if the row declares no such list.
    pub fn sizes(&self, name: &str) -> Sizes {
        if let Some(ParamValue::Sizes(sizes)) = self.get(name) { sizes } else { Sizes::one(1) }
    }

    /// The value of a choice; empty if the row declares no such choice.
    pub fn choice(&self, name: &str) -> &'static str {
        if let Some(ParamValue::Choice(name)) = self.get(name) { name } else { "" }
    }
}

impl fmt::Debug for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|(param, value)| (param.name, value))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static DECLARED: [Param; 3] = [
        Param {
            name: "units",
            about: "units of the hidden layer",
            kind: ParamKind::Count(0..=9),
            default: ParamValue::Count(3),
        },
        Param {
            name: "scale",
            about: "scale of the inputs",
            kind: ParamKind::Number(-1.0..=1.0),
            default: ParamValue::Number(0.5),
        },
        Param {
            name: "norm",
            about: "normalisation",
            kind: ParamKind::Choice(&["group", "batch"]),
            default: ParamValue::Choice("group"),
        },
    ];

    #[test]
    fn values_are_stored_by_name() {
        let mut params = Params::defaults(&DECLARED);
        assert_eq!((params.count("units"), params.number("scale"), params.choice("norm")), (3, 0.5, "group"));
        params.set("norm", ParamValue::Choice(&String::from("batch"))).unwrap();
        params.set("scale", ParamValue::Number(-0.0)).unwrap();
        assert_eq!(params.choice("norm"), "batch");
        assert_eq!(params.number("scale").to_bits(), 0.0_f64.to_bits());
        assert_eq!(
            format!("{params:?}"),
            r#"{"units": Count(3), "scale": Number(0.0), "norm": Choice("batch")}"#
        );
    }

    #[test]
    fn wrong_values_are_refused_with_the_right_ones() {
        let mut params = Params::defaults(&DECLARED);
        let before = params;
        for (name, value, words) in [
            ("units", ParamValue::Count(10), "units is 10; it must be a whole number from 0 to 9"),
            ("units", ParamValue::Flag(true), "units is true"),
            ("scale", ParamValue::Number(f64::NAN), "scale is NaN; it must be a number from -1 to 1"),
            ("norm", ParamValue::Choice("layer"), r#"norm is "layer"; it must be "group" or "batch""#),
            ("width", ParamValue::Count(1), "no parameter \"width\"; the parameters are units, scale, norm"),
        ] {
            let error = params.set(name, value).unwrap_err();
            let text = format!("{error}; {}", error.hint());
            assert!(text.contains(words), "{text}");
        }
        assert_eq!(params, before);
    }
}
