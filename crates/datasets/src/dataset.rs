//! A data set in memory: held once, as bytes, and shared by all who train on it.
//!
//! A sample has a position, and training and test samples have different ones. Of images it is their
//! number: first those for training, then those for testing. Of a text it is where the window starts:
//! the [`WINDOW`] symbols from there are the features, the one after them is the label.
//!
//! A role of the text with L symbols has L − 80 windows. The last tenth of them (rounded down) is for
//! testing, the others are for training; so no symbol is a label in both. A role of 80 symbols or fewer
//! has no window and is left out.

use std::ops::Range;

use fedflip_fleet::names::Names;

use super::alphabet::{self, SYMBOLS};
use super::error::DataError;

/// Symbols in a window of text.
pub const WINDOW: usize = 80;

/// Which part of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// The samples that models are trained on.
    Train,
    /// The samples that models are tested on.
    Test,
}

/// A data set, read-only.
#[derive(Clone, Debug)]
pub struct Dataset {
    content: Content,
    classes: usize,
    train: Vec<Range<u32>>,
    test: Vec<Range<u32>>,
    roles: Names,
}

#[derive(Clone, Debug)]
enum Content {
    Images {
        bytes: Vec<u8>,
        labels: Vec<u8>,
        sample_len: usize,
        /// A byte b becomes (b/255 − mean)/std in f32, which is what PyTorch's transforms compute, to the
        /// last bit. Spelled out for every feature of a sample, not for every channel, so that the loop over
        /// them is one of vectors.
        means: Vec<f32>,
        stds: Vec<f32>,
    },
    Text {
        symbols: Vec<u8>,
    },
}

/// Mean and standard deviation of one channel, on the scale 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Channel {
    /// Mean over all training images.
    pub mean: f32,
    /// The standard deviation of the values.
    pub std: f32,
}

/// Images as they come out of files: `labels.len()` of them, the first `train` for training.
#[derive(Clone, Debug)]
pub struct Images {
    /// All pixels, channels last.
    pub bytes: Vec<u8>,
    /// One for each image.
    pub labels: Vec<u8>,
    /// How many of the images are for training.
    pub train: usize,
    /// How many labels there may be.
    pub classes: usize,
}

impl Dataset {
    /// A set of images, normalised per channel. `file` is the name for refusals.
    pub fn images(images: Images, channels: &[Channel], file: &str) -> Result<Self, DataError> {
        let Images { bytes, labels, train, classes } = images;
        let refuse = |problem: String| Err(DataError::malformed(file, problem));
        let sample_len = bytes.len().checked_div(labels.len()).unwrap_or(0);
        let divisible = sample_len != 0
            && sample_len * labels.len() == bytes.len()
            && sample_len.checked_rem(channels.len()) == Some(0);
        if !divisible {
            return refuse(format!("{} bytes do not divide over {} images", bytes.len(), labels.len()));
        }
        if let Some(number) = labels.iter().position(|&label| usize::from(label) >= classes) {
            return refuse(format!("image {number} has the label {}, of {classes}", labels[number]));
        }
        let (Ok(total), Ok(first_test)) =
            (u32::try_from(labels.len()), u32::try_from(train.min(labels.len())))
        else {
            return refuse("more images than can be numbered".to_owned());
        };
        let per_feature = || channels.iter().cycle().take(sample_len);
        let means = per_feature().map(|channel| channel.mean).collect();
        let stds = per_feature().map(|channel| channel.std).collect();
        Ok(Self {
            content: Content::Images { bytes, labels, sample_len, means, stds },
            classes,
            train: std::iter::once(0..first_test).collect(),
            test: std::iter::once(first_test..total).collect(),
            roles: Names::default(),
        })
    }

    /// A text of roles: name and what it says.
    pub fn text<'a>(
        roles: impl IntoIterator<Item = (&'a str, &'a str)>,
        file: &str,
    ) -> Result<Self, DataError> {
        let mut set = Self {
            content: Content::Text { symbols: Vec::new() },
            classes: SYMBOLS,
            train: Vec::new(),
            test: Vec::new(),
            roles: Names::default(),
        };
        let mut symbols: Vec<u8> = Vec::new();
        for (name, text) in roles {
            let start = symbols.len();
            symbols.extend(text.chars().filter(|&c| c != '\r').map(alphabet::encode));
            let windows = (symbols.len() - start).saturating_sub(WINDOW);
            if windows == 0 {
                symbols.truncate(start);
                continue;
            }
            let first_test = start + windows - windows / 10;
            let number = |position: usize| {
                u32::try_from(position)
                    .map_err(|_| DataError::malformed(file, "more text than can be numbered"))
            };
            let (start, first_test, end) = (number(start)?, number(first_test)?, number(start + windows)?);
            set.train.push(start..first_test);
            set.test.push(first_test..end);
            set.roles.push(name);
        }
        set.content = Content::Text { symbols };
        Ok(set)
    }

    /// How many numbers a sample has: pixels times channels, or the symbols of a window.
    pub fn sample_len(&self) -> usize {
        match &self.content {
            Content::Images { sample_len, .. } => *sample_len,
            Content::Text { .. } => WINDOW,
        }
    }

    /// Labels are below this.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Positions of the samples of a part: one range for images, one for each role of a text.
    pub fn ranges(&self, split: Split) -> &[Range<u32>] {
        match split {
            Split::Train => &self.train,
            Split::Test => &self.test,
        }
    }

    /// The same, one by one.
    pub fn positions(&self, split: Split) -> impl Iterator<Item = u32> + '_ {
        self.ranges(split).iter().cloned().flatten()
    }

    /// How many samples a part has.
    pub fn len(&self, split: Split) -> usize {
        self.ranges(split).iter().map(ExactSizeIterator::len).sum()
    }

    /// Whether a part has none.
    pub fn is_empty(&self, split: Split) -> bool {
        self.len(split) == 0
    }

    /// Names of the roles, in the order of [`Dataset::ranges`]; none for images.
    pub fn roles(&self) -> &Names {
        &self.roles
    }

    /// Bytes that it takes in memory, but for small change.
    pub fn bytes(&self) -> usize {
        match &self.content {
            Content::Images { bytes, labels, .. } => bytes.len() + labels.len(),
            Content::Text { symbols } => symbols.len(),
        }
    }

    /// The label of a sample, which must exist.
    pub fn label(&self, position: u32) -> u8 {
        match &self.content {
            Content::Images { labels, .. } => labels[position as usize],
            Content::Text { symbols } => symbols[position as usize + WINDOW],
        }
    }

    /// Writes the samples at `positions` one after another: features normalised (symbols of a text: their
    /// codes), and labels. The slices must have room for exactly that, and the samples must exist.
    pub fn write_batch(&self, positions: &[u32], features: &mut [f32], labels: &mut [f32]) {
        let sample_len = self.sample_len();
        assert_eq!((features.len(), labels.len()), (positions.len() * sample_len, positions.len()));
        for ((&position, row), label) in
            positions.iter().zip(features.chunks_exact_mut(sample_len)).zip(labels)
        {
            *label = f32::from(self.label(position));
            let start = position as usize;
            match &self.content {
                Content::Images { bytes, means, stds, .. } => {
                    let pixels = &bytes[start * sample_len..][..sample_len];
                    normalise(pixels, means, stds, row);
                }
                Content::Text { symbols } => {
                    for (feature, &symbol) in row.iter_mut().zip(&symbols[start..start + WINDOW]) {
                        *feature = f32::from(symbol);
                    }
                }
            }
        }
    }
}

fn normalise(pixels: &[u8], means: &[f32], stds: &[f32], row: &mut [f32]) {
    for (((feature, &byte), mean), std) in row.iter_mut().zip(pixels).zip(means).zip(stds) {
        *feature = (f32::from(byte) / 255.0 - mean) / std;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_normalised_per_channel() {
        let images =
            Images { bytes: vec![0, 255, 51, 0, 0, 255, 102, 51], labels: vec![1, 0], train: 1, classes: 2 };
        let channels = [Channel { mean: 0.5, std: 0.5 }, Channel { mean: 0.0, std: 2.0 }];
        let set = Dataset::images(images, &channels, "x").unwrap();
        assert_eq!((set.sample_len(), set.len(Split::Train), set.len(Split::Test)), (4, 1, 1));
        let (mut features, mut labels) = (vec![0.0; 8], vec![0.0; 2]);
        set.write_batch(&[1, 0], &mut features, &mut labels);
        assert_eq!(labels, [0.0, 1.0]);
        let wanted = [-1.0, 0.5, -0.2, 0.1, -1.0, 0.5, -0.6, 0.0];
        assert!(features.iter().zip(wanted).all(|(a, b): (&f32, f32)| (a - b).abs() < 1e-6), "{features:?}");
    }

    #[test]
    fn images_that_do_not_fit_are_refused() {
        let channel = [Channel { mean: 0.0, std: 1.0 }];
        let images = |bytes, labels| Images { bytes, labels, train: 1, classes: 2 };
        for (bytes, labels, channels) in [
            (vec![1, 2, 3], vec![0, 1], &channel[..]),
            (vec![], vec![], &channel),
            (vec![1, 2], vec![0, 2], &channel),
            (vec![1, 2], vec![0, 1], &[]),
        ] {
            assert!(Dataset::images(images(bytes, labels), channels, "x").is_err());
        }
    }

    #[test]
    fn windows_predict_the_symbol_after_them_and_the_last_tenth_is_for_testing() {
        let long: String = ('a'..='z').cycle().take(WINDOW + 20).collect();
        let set = Dataset::text([("SHORT", "too short"), ("A", &long), ("B", &long)], "x").unwrap();
        assert_eq!(set.ranges(Split::Train), [0..18, 100..118]);
        assert_eq!(set.ranges(Split::Test), [18..20, 118..120]);
        assert_eq!((set.roles().len(), set.roles().get(1), set.len(Split::Train)), (2, "B", 36));
        let (mut features, mut labels) = (vec![0.0; WINDOW], vec![0.0]);
        set.write_batch(&[119], &mut features, &mut labels);
        assert_eq!(features[0], f32::from(alphabet::encode('t')));
        assert_eq!(labels[0], f32::from(alphabet::encode(long.chars().last().unwrap())));
    }
}
