//! Samples in memory: features, labels, and whose they are.

use crate::arrange::OtherColumns;
use crate::array::{Array, Values};
use crate::devices::Devices;
use crate::error::{Problem, Shape};
use crate::labels::Labels;

/// The most dimensions of a sample.
pub const DIMENSIONS_MAX: usize = 4;

/// Samples of one kind, in the order of their files.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The dimensions of one sample; empty if a sample is a single number.
    pub shape: Vec<usize>,
    /// The names of the features, in their order; empty if the file has none, as arrays do.
    pub columns: Vec<String>,
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
    /// Finite numbers of any size.
    Floats(Vec<f32>),
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
        Problem::of_capitals(&names, "device")?;
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
        if shape.len() > DIMENSIONS_MAX {
            let wanted = format!(
                "a sample has at most {DIMENSIONS_MAX} dimensions, and the first dimension of x counts samples"
            );
            return Err(wrong_shape("x", x.shape, &wanted));
        }
        let labels = Labels::of(one_per_sample(y, "y", samples)?)?;
        let devices =
            device.map(|device| Devices::of(one_per_sample(device, "device", samples)?)).transpose()?;
        Ok(Self { shape: shape.to_vec(), columns: Vec::new(), features, labels, devices })
    }

    /// Appends the samples of another file, which must be of the same kind.
    pub(crate) fn append(&mut self, mut other: Self) -> Result<(), Difference> {
        let differ = |what, expected, found| Err(Difference::Of { what, expected, found });
        other.arrange(&self.columns).map_err(Difference::Columns)?;
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
        self.labels.append(other.labels);
        match (&mut self.devices, other.devices) {
            (None, None) => Ok(()),
            (Some(all), Some(more)) => {
                all.append(&more);
                Ok(())
            }
            (Some(_), None) => differ("the array or column device", "present".into(), "missing".into()),
            (None, Some(_)) => differ("the array or column device", "missing".into(), "present".into()),
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
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    Columns(OtherColumns),
    /// `what` is such as `the shape of a sample`; as in the first file, and as in the other one.
    Of {
        what: &'static str,
        expected: String,
        found: String,
    },
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

fn wrong_shape(name: &str, found: Vec<usize>, wanted: &str) -> Problem {
    Problem::Shape { what: format!("array {name}"), found: Shape(found), wanted: wanted.to_owned() }
}

pub(crate) fn wrong_type(name: &str, found: &Values, wanted: &'static str) -> Problem {
    let found = match found {
        Values::Bytes(_) => "uint8",
        Values::Floats(_) => "float",
        Values::Integers(_) | Values::Unsigned(_) => "integer",
        Values::Texts(_) => "text",
    };
    Problem::Type { what: format!("array {name}"), found: found.to_owned(), wanted }
}
