//! Samples in memory: features, labels, and whose they are.

use std::collections::{BTreeMap, BTreeSet};

use crate::array::{Array, Values};
use crate::error::{Problem, Shape};

/// The most classes: labels above are taken for a mistake.
pub const CLASSES_MAX: usize = 65_536;

/// Samples of one kind, in the order of their files.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The dimensions of one sample; empty if a sample is a single number.
    pub shape: Vec<usize>,
    /// The features of all samples, one after the other.
    pub features: Features,
    /// What a model is to predict.
    pub labels: Labels,
    /// The device that holds each sample, if the files say so.
    pub devices: Option<Devices>,
}

/// The values of features, in the type of the file: bytes stay bytes in memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Features {
    /// Values from 0 to 255, as in most images.
    Bytes(Vec<u8>),
    /// Any finite numbers.
    Floats(Vec<f32>),
}

/// One label per sample.
#[derive(Clone, Debug, PartialEq)]
pub enum Labels {
    /// Classes, counted from 0.
    Classes(Vec<u32>),
    /// Numbers, for regression.
    Numbers(Vec<f32>),
}

/// Whose the samples are.
#[derive(Clone, Debug, PartialEq)]
pub struct Devices {
    /// The names of the devices: numbers in ascending order, texts in that of the alphabet.
    pub names: Vec<String>,
    /// For each sample the position of its device among the names.
    pub of_samples: Vec<u32>,
}

/// The arrays of a file by their names, and the names of all arrays that it has.
pub(crate) struct Arrays {
    pub(crate) x: Option<Array>,
    pub(crate) y: Option<Array>,
    pub(crate) device: Option<Array>,
    pub(crate) names: Vec<String>,
}

impl Table {
    /// The number of samples.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The dimensions of one sample, where a single number has one dimension, too.
    pub fn sample_shape(&self) -> Vec<usize> {
        if self.shape.is_empty() { vec![1] } else { self.shape.clone() }
    }

    /// The bytes of memory that features and labels take.
    pub fn bytes(&self) -> u64 {
        let features = match &self.features {
            Features::Bytes(values) => values.len(),
            Features::Floats(values) => 4 * values.len(),
        };
        let devices = self.devices.as_ref().map_or(0, |devices| 4 * devices.of_samples.len());
        (features + 4 * self.len() + devices) as u64
    }

    /// The first feature that is NaN or infinite: its sample, counted from 0, and its value.
    pub fn not_finite(&self) -> Option<(usize, f32)> {
        let Features::Floats(values) = &self.features else { return None };
        let at = values.iter().position(|value| !value.is_finite())?;
        Some((at / (values.len() / self.len().max(1)).max(1), values[at]))
    }

    pub(crate) fn from_arrays(arrays: Arrays) -> Result<Self, Problem> {
        let Arrays { x, y, device, names } = arrays;
        let missing = |name: &str| Problem::Missing { wanted: format!("array {name}"), found: names.clone() };
        let (x, y) = (x.ok_or_else(|| missing("x"))?, y.ok_or_else(|| missing("y"))?);
        let Some((&samples, shape)) = x.shape.split_first() else {
            return Err(wrong_shape("x", x.shape, "its first dimension counts the samples"));
        };
        let features = match x.values {
            Values::Bytes(values) => Features::Bytes(values),
            Values::Floats(values) => Features::Floats(values),
            other => return Err(wrong_type("x", &other, "float32 or uint8")),
        };
        if samples == 0 || shape.contains(&0) {
            return Err(Problem::Empty);
        }
        let labels = labels(one_per_sample(y, "y", samples)?)?;
        let devices = device.map(|device| devices(one_per_sample(device, "device", samples)?)).transpose()?;
        Ok(Self { shape: shape.to_vec(), features, labels, devices })
    }

    /// Appends the samples of another file, which must be of the same kind.
    pub(crate) fn append(&mut self, other: Self) -> Result<(), Difference> {
        let differ = |what, expected, found| Err(Difference { what, expected, found });
        if self.shape != other.shape {
            let [expected, found] = [&self.shape, &other.shape].map(|shape| Shape(shape.clone()).to_string());
            return differ("the shape of a sample", expected, found);
        }
        match (&mut self.features, other.features) {
            (Features::Bytes(all), Features::Bytes(more)) => all.extend(more),
            (Features::Floats(all), Features::Floats(more)) => all.extend(more),
            (Features::Bytes(_), _) => return differ("the type of x", "bytes".into(), "floats".into()),
            (Features::Floats(_), _) => return differ("the type of x", "floats".into(), "bytes".into()),
        }
        match (&mut self.labels, other.labels) {
            (Labels::Classes(all), Labels::Classes(more)) => all.extend(more),
            (Labels::Numbers(all), Labels::Numbers(more)) => all.extend(more),
            (Labels::Classes(_), _) => {
                return differ("the type of labels", "integers".into(), "floats".into());
            }
            (Labels::Numbers(_), _) => {
                return differ("the type of labels", "floats".into(), "integers".into());
            }
        }
        match (&mut self.devices, other.devices) {
            (None, None) => Ok(()),
            (Some(all), Some(more)) => {
                all.append(&more);
                Ok(())
            }
            (Some(_), None) => differ("who holds the samples", "devices".into(), "none".into()),
            (None, Some(_)) => differ("who holds the samples", "none".into(), "devices".into()),
        }
    }
}

/// In what two files differ.
pub(crate) struct Difference {
    pub(crate) what: &'static str,
    pub(crate) expected: String,
    pub(crate) found: String,
}

impl Labels {
    /// The number of labels.
    pub fn len(&self) -> usize {
        match self {
            Self::Classes(classes) => classes.len(),
            Self::Numbers(numbers) => numbers.len(),
        }
    }

    /// Whether there are no labels.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Devices {
    /// Names in order, so that the partition does not depend on the order of samples.
    fn of(names: &[Name]) -> Self {
        let known: BTreeSet<&Name> = names.iter().collect();
        let places: BTreeMap<&Name, u32> = known.into_iter().zip(0..).collect();
        Self {
            names: places.keys().map(ToString::to_string).collect(),
            of_samples: names.iter().map(|name| places[name]).collect(),
        }
    }

    fn append(&mut self, more: &Self) {
        let parsed = |devices: &Self| devices.names.iter().map(|name| Name::parse(name)).collect::<Vec<_>>();
        let (old, new) = (parsed(self), parsed(more));
        let known: BTreeSet<&Name> = old.iter().chain(&new).collect();
        let places: BTreeMap<&Name, u32> = known.into_iter().zip(0..).collect();
        self.names = places.keys().map(ToString::to_string).collect();
        self.of_samples.iter_mut().for_each(|at| *at = places[&old[*at as usize]]);
        self.of_samples.extend(more.of_samples.iter().map(|at| places[&new[*at as usize]]));
    }
}

/// The name of a device: numbers come before texts, and 2 before 10.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Name {
    Number(i64),
    Text(String),
}

impl Name {
    fn parse(text: &str) -> Self {
        text.parse().map_or_else(|_| Self::Text(text.to_owned()), Self::Number)
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

fn one_per_sample(array: Array, name: &str, samples: usize) -> Result<Values, Problem> {
    if array.shape != [samples] {
        return Err(wrong_shape(
            name,
            array.shape,
            &format!("it must be ({samples}), one value for each sample of x"),
        ));
    }
    Ok(array.values)
}

pub(crate) fn labels(values: Values) -> Result<Labels, Problem> {
    let class = |(sample, value): (usize, i64)| {
        let class = u32::try_from(value).ok().filter(|class| (*class as usize) < CLASSES_MAX);
        class.ok_or_else(|| Problem::Value {
            place: format!("sample {sample}, label"),
            value: value.to_string(),
            wanted: "a class from 0 to 65535",
        })
    };
    match values {
        Values::Integers(values) => {
            Ok(Labels::Classes(values.into_iter().enumerate().map(class).collect::<Result<_, _>>()?))
        }
        Values::Bytes(values) => Ok(Labels::Classes(values.into_iter().map(u32::from).collect())),
        Values::Floats(values) => match values.iter().position(|value| !value.is_finite()) {
            None => Ok(Labels::Numbers(values)),
            Some(sample) => Err(Problem::Value {
                place: format!("sample {sample}, label"),
                value: values[sample].to_string(),
                wanted: "a finite number",
            }),
        },
        other @ Values::Texts(_) => Err(wrong_type("y", &other, "integers, or floats for regression")),
    }
}

pub(crate) fn devices(values: Values) -> Result<Devices, Problem> {
    let names: Vec<Name> = match values {
        Values::Integers(values) => values.into_iter().map(Name::Number).collect(),
        Values::Bytes(values) => values.into_iter().map(|value| Name::Number(value.into())).collect(),
        Values::Texts(values) => values.iter().map(|text| Name::parse(text.trim())).collect(),
        other @ Values::Floats(_) => return Err(wrong_type("device", &other, "integers or strings")),
    };
    let unnamed = names.iter().position(|name| matches!(name, Name::Text(text) if text.is_empty()));
    match unnamed {
        None => Ok(Devices::of(&names)),
        Some(sample) => Err(Problem::Value {
            place: format!("sample {sample}, device"),
            value: "\"\"".to_owned(),
            wanted: "a name",
        }),
    }
}

fn wrong_shape(name: &str, found: Vec<usize>, wanted: &str) -> Problem {
    Problem::Shape { what: format!("array {name}"), found: Shape(found), wanted: wanted.to_owned() }
}

fn wrong_type(name: &str, found: &Values, wanted: &'static str) -> Problem {
    let found = match found {
        Values::Bytes(_) => "uint8",
        Values::Floats(_) => "float",
        Values::Integers(_) => "integer",
        Values::Texts(_) => "text",
    };
    Problem::Type { what: format!("array {name}"), found: found.to_owned(), wanted }
}
