//! Part of the training samples, held out to look at while a run goes on.

use fedflip_fleet::{Purpose, StreamKey};

use super::{Partition, draws};

impl Partition {
    /// Takes a share of every device's samples out, rounded down, so that no device is left with none. The samples are
    /// drawn with the stream of (seed, validation, device). Returns what is left, and the positions that were taken, in
    /// the order of devices.
    #[must_use]
    pub fn hold_out(&self, share: f64, seed: u64) -> (Self, Vec<u32>) {
        let key = StreamKey { seed, purpose: Purpose::Validation, round: 0 };
        let mut taken = Vec::new();
        let parts = (0..self.devices()).map(|device| {
            let mut own = self.device(device).to_vec();
            let count = ((own.len() as f64 * share) as usize).min(own.len().saturating_sub(1));
            draws::shuffle(&mut own, &mut key.device(device as u64));
            let mut held = own.split_off(own.len() - count);
            held.sort_unstable();
            taken.append(&mut held);
            own
        });
        let left = Self::of(parts.collect(), self.minimum);
        (left, taken)
    }
}

#[cfg(test)]
mod tests {
    use super::super::iid;

    #[test]
    fn every_device_gives_its_share_and_keeps_the_rest() {
        let all = iid(0..1_003, 10, 1).unwrap();
        let (left, taken) = all.hold_out(0.1, 5);
        assert_eq!(taken.len(), 100);
        for device in 0..10 {
            let (had, has) = (all.device(device), left.device(device));
            assert_eq!(had.len() - has.len(), 10);
            assert!(has.iter().all(|position| had.contains(position) && !taken.contains(position)));
        }
        assert_eq!(all.hold_out(0.1, 5), (left, taken.clone()));
        assert_ne!(all.hold_out(0.1, 6).1, taken);
        assert_eq!(all.hold_out(0.0, 5), (all.clone(), Vec::new()));
        let (left, taken) = iid(0..10, 10, 1).unwrap().hold_out(0.9, 5);
        assert!(left.sizes().all(|size| size == 1) && taken.is_empty(), "a device keeps a sample");
    }
}
