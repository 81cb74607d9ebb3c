//! Samples in memory that are split over devices.

use std::sync::Arc;

use crate::partition::Partition;
use crate::shards::{SampleBuffer, Shards};
use fedflip_datasets::Dataset;

/// Samples in memory by position.
pub trait SampleStore: Send + Sync {
    /// How many numbers a sample has.
    fn sample_len(&self) -> usize;
    /// Writes the samples at these positions one after the other, and their labels.
    fn write(&self, positions: &[u32], features: &mut [f32], labels: &mut [f32]);
}

impl SampleStore for Dataset {
    fn sample_len(&self) -> usize {
        self.sample_len()
    }

    fn write(&self, positions: &[u32], features: &mut [f32], labels: &mut [f32]) {
        self.write_batch(positions, features, labels);
    }
}

/// The training samples by device, and the samples on which models are evaluated.
pub struct Partitioned {
    store: Arc<dyn SampleStore>,
    partition: Arc<Partition>,
    /// Positions of the samples for evaluation.
    evaluated: Vec<u32>,
}

impl Partitioned {
    /// Evaluates on as many of the given samples as `most` allows, evenly spaced: each stands for as many others.
    pub fn new(
        store: Arc<dyn SampleStore>,
        partition: Arc<Partition>,
        evaluated: &[u32],
        most: usize,
    ) -> Self {
        let step = evaluated.len().div_ceil(most.max(1)).max(1);
        let evaluated = evaluated.iter().copied().step_by(step).collect();
        Self { store, partition, evaluated }
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
        let rows = features.chunks_exact_mut(self.store.sample_len()).zip(labels.chunks_exact_mut(1));
        // One at a time: the positions need no buffer.
        for (&pick, (row, label)) in picks.iter().zip(rows) {
            self.store.write(&[own[pick as usize]], row, label);
        }
    }

    fn test_samples(&self) -> usize {
        self.evaluated.len()
    }

    fn write_test_batch(&self, first: usize, features: &mut [f32], labels: &mut [f32]) {
        let positions = &self.evaluated[first..][..labels.len()];
        self.store.write(positions, features, labels);
    }
}
