//! What is in a table: shape, range, classes, devices, and the numbers that normalise it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::labels::Labels;
use crate::moments::{self, Moments};
use crate::table::{Features, Table};

/// The most channels of an image, of which a guess looks for one dimension: red, green, blue and opacity.
const CHANNELS_MAX: usize = 4;

/// A table in a few numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Inspection {
    /// The number of samples.
    pub samples: usize,
    /// The dimensions of one sample.
    pub shape: Vec<usize>,
    /// Which of three dimensions is probably that of the channels of an image; none if neither end is small.
    pub channels: Option<Channels>,
    /// The names of the features, if the files have them.
    pub columns: Vec<String>,
    /// The type of the values: `uint8` or `float32`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The memory that the samples take.
    pub bytes: u64,
    /// The smallest and the largest feature.
    pub range: [f64; 2],
    /// The mean of each channel, of each feature of a table, or of everything; bytes count as shares of 255.
    pub mean: Vec<f64>,
    /// The standard deviations beside the means. A constant feature has 1, so that dividing by it changes nothing.
    pub std: Vec<f64>,
    /// What the labels are.
    pub labels: LabelSummary,
    /// The samples of each device, if the files name devices.
    pub devices: Option<Vec<DeviceSummary>>,
}

/// Which of three dimensions is that of the channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Channels {
    /// As PyTorch has images.
    First,
    /// As most files of images, and the networks here.
    Last,
}

impl Channels {
    /// An image has few channels and many pixels. Where both ends are small, channels come last.
    pub fn guess(shape: &[usize]) -> Option<Self> {
        match *shape {
            [_, _, last] if last <= CHANNELS_MAX => Some(Self::Last),
            [first, _, _] if first <= CHANNELS_MAX => Some(Self::First),
            _ => None,
        }
    }
}

/// What the labels of a table are.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LabelSummary {
    /// The number of samples of each class that occurs.
    Classes(BTreeMap<u32, usize>),
    /// Numbers, for a regression.
    Numbers {
        /// The smallest and the largest number.
        range: [f64; 2],
        /// The mean of the values.
        mean: f64,
        /// The standard deviation of the values.
        std: f64,
    },
}

/// The samples of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeviceSummary {
    /// The name of the device.
    pub name: String,
    /// The number of its samples.
    pub samples: usize,
}

impl Inspection {
    /// A remark on classes that are probably numbers: there are many of them, with few samples each.
    pub fn many_classes(&self) -> Option<String> {
        let LabelSummary::Classes(counts) = &self.labels else { return None };
        let classes = counts.len();
        (classes > 100 && self.samples < 10 * classes)
            .then(|| format!("the labels are {classes} classes with fewer than 10 samples each on average"))
    }
}

impl Table {
    /// The table in a few numbers.
    pub fn inspect(&self) -> Inspection {
        let channels = Channels::guess(&self.shape);
        let moments = Moments::of(self, channels);
        let labels = match &self.labels {
            Labels::Classes(classes) => {
                let mut counts = BTreeMap::new();
                classes.iter().for_each(|class| *counts.entry(*class).or_default() += 1);
                LabelSummary::Classes(counts)
            }
            Labels::Numbers(numbers) => {
                let all = || numbers.iter().map(|number| f64::from(*number));
                let mean = all().sum::<f64>() / numbers.len() as f64;
                let variance =
                    all().map(|number| (number - mean).powi(2)).sum::<f64>() / numbers.len() as f64;
                LabelSummary::Numbers { range: moments::range_of_floats(numbers), mean, std: variance.sqrt() }
            }
        };
        let devices = self.devices.as_ref().map(|devices| {
            let mut counts = vec![0; devices.names.len()];
            devices.of_samples.iter().for_each(|at| counts[*at as usize] += 1);
            let summary = |(name, samples): (&String, usize)| DeviceSummary { name: name.clone(), samples };
            devices.names.iter().zip(counts).map(summary).collect()
        });
        Inspection {
            samples: self.len(),
            shape: self.shape.clone(),
            channels,
            columns: self.columns.clone(),
            kind: match self.features {
                Features::Bytes(_) => "uint8",
                Features::Floats(_) => "float32",
            },
            bytes: self.bytes(),
            range: moments::range(&self.features),
            mean: moments.means,
            std: moments.deviations,
            labels,
            devices,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::Devices;

    fn table(shape: &[usize], values: &[f32]) -> Table {
        let samples = values.len() / shape.iter().product::<usize>();
        Table {
            shape: shape.to_vec(),
            columns: Vec::new(),
            features: Features::Floats(values.to_vec()),
            labels: Labels::Classes(vec![3; samples]),
            devices: None,
        }
    }

    #[test]
    fn features_of_a_table_have_moments_of_their_own() {
        let found = table(&[2], &[1.0, 100.0, 3.0, 100.0]).inspect();
        assert_eq!((found.mean, found.std, found.range), (vec![2.0, 100.0], vec![1.0, 1.0], [1.0, 100.0]));
    }

    #[test]
    fn channels_may_come_first_or_last() {
        let first = table(&[2, 1, 5], &[1.0, 3.0, 1.0, 3.0, 2.0, 10.0, 10.0, 10.0, 10.0, 10.0]).inspect();
        assert_eq!((&first.mean, first.channels), (&vec![2.0, 10.0], Some(Channels::First)));
        let last = table(&[5, 1, 2], &[1.0, 10.0, 3.0, 10.0, 1.0, 10.0, 3.0, 10.0, 2.0, 10.0]).inspect();
        assert_eq!((&last.mean, last.channels), (&first.mean, Some(Channels::Last)));
        assert_eq!(last.std, first.std);
        // With both ends small, channels come last, as a scenario has them by default.
        assert_eq!(table(&[1, 2, 2], &[0.0; 4]).inspect().channels, Some(Channels::Last));
        assert_eq!(table(&[8, 8, 8], &[0.0; 512]).inspect().channels, None);
        let images = table(&[5, 6, 1], &[2.0; 30]).inspect();
        assert_eq!((images.mean, images.std), (vec![2.0], vec![1.0]));
    }

    #[test]
    fn bytes_have_the_moments_of_their_shares_of_255() {
        // Numbers that no lane, block or run divides.
        for (shape, samples) in [
            (&[7][..], 1031),
            (&[1], 1031),
            (&[4095], 1031),
            (&[3, 5, 7], 103),
            (&[5, 7, 3], 103),
            (&[9, 9], 103),
            (&[2, 70, 71], 11),
        ] {
            let size: usize = shape.iter().product();
            let bytes: Vec<u8> = (0..size * samples).map(|at| (at * at % 251) as u8).collect();
            let shares: Vec<f32> = bytes.iter().map(|byte| f32::from(*byte) / 255.0).collect();
            let expected = table(shape, &shares).inspect();
            let found = Table { features: Features::Bytes(bytes), ..table(shape, &shares) }.inspect();
            let near = |a: &[f64], b: &[f64]| {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6)
            };
            assert!(near(&found.mean, &expected.mean) && near(&found.std, &expected.std), "{shape:?}");
            assert_eq!(
                found.range.map(|value| (value / 255.0) as f32),
                expected.range.map(|value| value as f32)
            );
        }
        let constant = Table { features: Features::Bytes(vec![51; 4]), ..table(&[2], &[0.0; 4]) }.inspect();
        assert_eq!((constant.mean, constant.std, constant.range), (vec![0.2; 2], vec![1.0; 2], [51.0; 2]));
    }

    #[test]
    fn classes_and_devices_are_counted() {
        let devices = Devices { names: vec!["a".into(), "b".into()], of_samples: vec![1, 0, 1] };
        let labels = Labels::Classes(vec![0, 7, 7]);
        let table = Table { labels, devices: Some(devices), ..table(&[1], &[0.0, 0.5, 1.0]) };
        let found = table.inspect();
        assert_eq!(found.labels, LabelSummary::Classes([(0, 1), (7, 2)].into()));
        let counts: Vec<(String, usize)> = found
            .devices
            .unwrap_or_default()
            .into_iter()
            .map(|device| (device.name, device.samples))
            .collect();
        assert_eq!(counts, [("a".to_owned(), 1), ("b".to_owned(), 2)]);
    }
}
