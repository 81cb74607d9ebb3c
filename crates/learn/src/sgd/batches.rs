//! Which samples are in a batch: passes through a device's samples, each in an order of its own, cut into batches.

use fedflip_fleet::{Purpose, StreamKey};
use rand::{Rng, RngExt};

use super::settings::SgdSettings;
use crate::learner::TrainKey;

/// The batches of one training, in their order.
pub(super) struct Batches<'a, R> {
    stream: R,
    /// The device's samples in the order of this pass through them.
    order: &'a mut Vec<u32>,
    next: usize,
}

/// The batches of a training on a device with this number of samples. `order` is memory.
pub(super) fn of(key: TrainKey, samples: usize, order: &mut Vec<u32>) -> Batches<'_, impl Rng> {
    let TrainKey { seed, round, device, .. } = key;
    order.clear();
    order.extend(0..samples as u32);
    let stream = StreamKey { seed, purpose: Purpose::Batches, round }.device(device as u64);
    Batches { stream, order, next: 0 }
}

impl<R: Rng> Batches<'_, R> {
    /// Fills a batch. The order of a pass is drawn as far as it is used: a step's cost does not grow with the device's
    /// data.
    pub(super) fn fill(&mut self, picks: &mut [u32]) {
        let samples = self.order.len();
        for pick in picks {
            let chosen = self.stream.random_range(self.next..samples);
            self.order.swap(self.next, chosen);
            *pick = self.order[self.next];
            self.next = (self.next + 1) % samples;
        }
    }
}

/// The samples of every batch of a training by the native kernels, one batch after the other: for learners of other
/// programs that are to see the same samples. Empty if the device holds no samples.
pub fn picks(key: TrainKey, samples: usize, picks: usize) -> Vec<u32> {
    let mut all = vec![0; if samples == 0 { 0 } else { picks }];
    of(key, samples, &mut Vec::new()).fill(&mut all);
    all
}

impl SgdSettings {
    /// The batches of a training on a device with this number of samples, as positions among them.
    pub fn batches(&self, key: TrainKey, samples: usize) -> Vec<Vec<u32>> {
        let (steps, last_batch) = self.steps.of(samples, self.batch);
        let all = steps.saturating_sub(1) * self.batch + last_batch;
        picks(key, samples, if steps == 0 { 0 } else { all })
            .chunks(self.batch.max(1))
            .map(<[u32]>::to_vec)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pass_has_every_sample_once_and_cuts_do_not_matter() {
        let key = TrainKey::new(1, 2, 3);
        let all = picks(key, 5, 20);
        for pass in all.chunks(5) {
            let mut pass = pass.to_vec();
            pass.sort_unstable();
            assert_eq!(pass, [0, 1, 2, 3, 4]);
        }
        let (mut order, mut cut) = (Vec::new(), vec![0; 20]);
        let mut batches = of(key, 5, &mut order);
        cut.chunks_mut(3).for_each(|batch| batches.fill(batch));
        assert_eq!(cut, all);
        assert_ne!(picks(TrainKey::new(1, 3, 3), 5, 20), all);
        assert!(picks(key, 0, 20).is_empty());
    }
}
