//! A part of a data set as numbered samples: what local SGD takes.

use std::sync::Arc;

use crate::data::dataset::{Dataset, Split};
use crate::sgd::Samples;

/// Some samples of a data set that many may hold at once.
#[derive(Clone, Debug)]
pub struct View {
    dataset: Arc<Dataset>,
    /// Where sample n of the view is in the data set; none if they have the same numbers.
    positions: Option<Vec<u32>>,
}

impl View {
    /// The whole set under its own numbers, which is how a partition names samples.
    pub fn whole(dataset: Arc<Dataset>) -> Self {
        Self { dataset, positions: None }
    }

    /// One split, or as many of its samples as `samples_max` allows, evenly spaced.
    pub fn split(dataset: Arc<Dataset>, split: Split, samples_max: usize) -> Self {
        let step = dataset.len(split).div_ceil(samples_max.max(1)).max(1);
        let positions = dataset.positions(split).step_by(step).collect();
        Self { dataset, positions: Some(positions) }
    }
}

impl Samples for View {
    fn len(&self) -> usize {
        match &self.positions {
            Some(positions) => positions.len(),
            None => self.dataset.len(Split::Train) + self.dataset.len(Split::Test),
        }
    }

    fn write_batch(&self, positions: &[u32], features: &mut [f32], labels: &mut [u8]) {
        match &self.positions {
            None => self.dataset.write_batch(positions, features, labels),
            Some(own) => {
                // One at a time: the translated numbers need no buffer.
                let rows =
                    features.chunks_exact_mut(self.dataset.sample_len()).zip(labels.chunks_exact_mut(1));
                for (&position, (row, label)) in positions.iter().zip(rows) {
                    self.dataset.write_batch(&[own[position as usize]], row, label);
                }
            }
        }
    }
}
