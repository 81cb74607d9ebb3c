//! A data set that is split over devices.

use std::sync::Arc;

use crate::partition::Partition;
use crate::shards::{SampleBuffer, Shards};
use fedflip_datasets::{Dataset, Split};

/// The training samples of a data set by device, and its test samples for everybody.
#[derive(Clone, Debug)]
pub struct Partitioned {
    dataset: Arc<Dataset>,
    partition: Partition,
    /// Positions of the test samples in the data set.
    test: Vec<u32>,
}

impl Partitioned {
    /// Tests on as many of the test samples as `test_samples_max` allows, evenly spaced: each stands for as
    /// many others.
    pub fn new(dataset: Arc<Dataset>, partition: Partition, test_samples_max: usize) -> Self {
        let step = dataset.len(Split::Test).div_ceil(test_samples_max.max(1)).max(1);
        let test = dataset.positions(Split::Test).step_by(step).collect();
        Self { dataset, partition, test }
    }

    /// Which samples lie where.
    pub fn partition(&self) -> &Partition {
        &self.partition
    }
}

impl Shards for Partitioned {
    fn devices(&self) -> usize {
        self.partition.devices()
    }

    fn samples(&self, device: usize) -> usize {
        if device < self.devices() { self.partition.device(device).len() } else { 0 }
    }

    fn write_batch(
        &self,
        device: usize,
        _made: &SampleBuffer,
        picks: &[u32],
        features: &mut [f32],
        labels: &mut [f32],
    ) {
        let own = self.partition.device(device);
        let rows = features.chunks_exact_mut(self.dataset.sample_len()).zip(labels.chunks_exact_mut(1));
        // One at a time: the positions need no buffer.
        for (&pick, (row, label)) in picks.iter().zip(rows) {
            self.dataset.write_batch(&[own[pick as usize]], row, label);
        }
    }

    fn test_samples(&self) -> usize {
        self.test.len()
    }

    fn write_test_batch(&self, first: usize, features: &mut [f32], labels: &mut [f32]) {
        let positions = &self.test[first..][..labels.len()];
        self.dataset.write_batch(positions, features, labels);
    }
}
