//! Samples in memory: features, labels, and whose they are.

use crate::array::{Array, Values};
use crate::devices::Devices;
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
        let devices =
            device.map(|device| Devices::of(one_per_sample(device, "device", samples)?)).transpose()?;
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
            (Features::Bytes(all), Features::Bytes(more)) => move_to(all, more),
            (Features::Floats(all), Features::Floats(more)) => move_to(all, more),
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

/// Appends values while their old place is given back, so that both together never take much more than the result.
fn move_to<T: Copy>(all: &mut Vec<T>, mut more: Vec<T>) {
    let first = all.len();
    all.reserve(more.len());
    let step = more.len().div_ceil(16).max(1 << 16);
    // Only the end of a vector can be given back, so the values arrive in reverse.
    while !more.is_empty() {
        all.extend(more.drain(more.len().saturating_sub(step)..).rev());
        more.shrink_to_fit();
    }
    all[first..].reverse();
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

fn labels(values: Values) -> Result<Labels, Problem> {
    let class = |(sample, value): (usize, i64)| {
        let class = u32::try_from(value).ok().filter(|class| (*class as usize) < CLASSES_MAX);
        class.ok_or_else(|| no_class(sample, value))
    };
    match values {
        Values::Integers(values) => {
            let mut classes: Vec<u32> =
                values.into_iter().enumerate().map(class).collect::<Result<_, _>>()?;
            // They may still lie in the memory of the wider integers.
            classes.shrink_to_fit();
            Ok(Labels::Classes(classes))
        }
        Values::Bytes(values) => Ok(Labels::Classes(values.into_iter().map(u32::from).collect())),
        Values::Floats(values) => numbers(values),
        other @ Values::Texts(_) => Err(wrong_type("y", &other, "integers, or floats for regression")),
    }
}

pub(crate) fn no_class(sample: usize, value: impl std::fmt::Display) -> Problem {
    Problem::Value {
        place: format!("sample {sample}, label"),
        value: value.to_string(),
        wanted: "a class from 0 to 65535",
    }
}

pub(crate) fn numbers(values: Vec<f32>) -> Result<Labels, Problem> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(Labels::Numbers(values)),
        Some(sample) => Err(Problem::Value {
            place: format!("sample {sample}, label"),
            value: values[sample].to_string(),
            wanted: "a finite number",
        }),
    }
}

fn wrong_shape(name: &str, found: Vec<usize>, wanted: &str) -> Problem {
    Problem::Shape { what: format!("array {name}"), found: Shape(found), wanted: wanted.to_owned() }
}

pub(crate) fn wrong_type(name: &str, found: &Values, wanted: &'static str) -> Problem {
    let found = match found {
        Values::Bytes(_) => "uint8",
        Values::Floats(_) => "float",
        Values::Integers(_) => "integer",
        Values::Texts(_) => "text",
    };
    Problem::Type { what: format!("array {name}"), found: found.to_owned(), wanted }
}
