//! The data of all devices as local SGD sees it: numbered samples per device, and a test set for everybody.

/// What a federation trains and tests on. Held once and read by all workers.
///
/// A device's samples are numbered from 0. Data that lie in memory are copied out batch by batch; data that
/// are made from a seed are made when their device's turn comes, into the buffer that every worker has.
pub trait Shards: Send + Sync {
    /// How many devices hold data.
    fn devices(&self) -> usize;
    /// How many samples a device holds: none if it does not exist.
    fn samples(&self, device: usize) -> usize;
    /// The most that a device holds.
    fn samples_max(&self) -> usize {
        (0..self.devices()).map(|device| self.samples(device)).max().unwrap_or(0)
    }
    /// Makes what the batches of this device are taken from; nothing, where they lie in memory.
    fn open(&self, _device: usize, _made: &mut SampleBuffer) {}
    /// How much work [`Shards::open`] is, relative to other devices.
    fn cost_of_opening(&self, _device: usize) -> u64 {
        1
    }
    /// Writes some of a device's samples one after the other, and their labels: a class as a whole number, or the
    /// value of a regression. `made` is as [`Shards::open`] left it for this device.
    fn write_batch(
        &self,
        device: usize,
        made: &SampleBuffer,
        picks: &[u32],
        features: &mut [f32],
        labels: &mut [f32],
    );
    /// How many test samples there are.
    fn test_samples(&self) -> usize;
    /// Writes `labels.len()` test samples, from number `first` on.
    fn write_test_batch(&self, first: usize, features: &mut [f32], labels: &mut [f32]);
}

/// Samples in memory, one after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SampleBuffer {
    /// The numbers of all samples.
    pub features: Vec<f32>,
    /// A label per sample: a class as a whole number, or the value of a regression.
    pub labels: Vec<f32>,
}

impl SampleBuffer {
    /// Forgets all samples, and keeps the memory.
    pub fn clear(&mut self) {
        self.features.clear();
        self.labels.clear();
    }

    /// Copies the samples at `picks`, of `features.len() / picks.len()` numbers each.
    pub fn write(&self, picks: impl IntoIterator<Item = usize>, features: &mut [f32], labels: &mut [f32]) {
        let sample_len = features.len() / labels.len().max(1);
        let places = features.chunks_exact_mut(sample_len.max(1)).zip(labels);
        for (pick, (row, label)) in picks.into_iter().zip(places) {
            row.copy_from_slice(&self.features[pick * sample_len..][..sample_len]);
            *label = self.labels[pick];
        }
    }
}
