//! Part of the training samples, held out to look at while a run is in progress.

use fedflip_fleet::{Purpose, StreamKey};
use rand::RngExt;

use super::Partition;

impl Partition {
    /// Takes a share of every device's samples out. The stream of (seed, validation, position) decides for each sample
    /// whether it is held out, with the probability `share`: what was held out stays so when a device appends samples, and
    /// is never trained on. The number of held-out samples is therefore random around the share. A device keeps one sample
    /// at least. Returns what is left, and the positions that were taken, in the order of devices.
    #[must_use]
    pub fn hold_out(&self, share: f64, seed: u64) -> (Self, Vec<u32>) {
        let key = StreamKey { seed, purpose: Purpose::Validation, round: 0 };
        let draw = |position: u32| key.device(u64::from(position)).random::<f64>();
        let mut taken = Vec::new();
        let parts = (0..self.devices()).map(|device| {
            let all = self.device(device);
            let (mut held, mut own): (Vec<u32>, Vec<u32>) =
                all.iter().partition(|&&position| draw(position) < share);
            if own.is_empty() && !held.is_empty() {
                // The last one that a smaller share would hold out.
                let last =
                    (0..held.len()).max_by(|one, other| draw(held[*one]).total_cmp(&draw(held[*other])));
                own.push(held.swap_remove(last.unwrap_or(0)));
            }
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
    use std::collections::BTreeSet;

    use super::super::iid;

    #[test]
    fn every_device_gives_its_share_and_keeps_the_rest() {
        let all = iid(0..10_030, 10, 1).unwrap();
        let (left, taken) = all.hold_out(0.1, 5);
        // Five standard deviations of 100 out of 1,003 are 48.
        assert!((900..1_100).contains(&taken.len()), "{}", taken.len());
        for device in 0..10 {
            let (had, has) = (all.device(device), left.device(device));
            assert!((52..=148).contains(&(had.len() - has.len())));
            assert!(has.iter().all(|position| had.contains(position) && !taken.contains(position)));
        }
        assert_eq!(all.hold_out(0.1, 5), (left, taken.clone()));
        assert_ne!(all.hold_out(0.1, 6).1, taken);
        assert_eq!(all.hold_out(0.0, 5), (all.clone(), Vec::new()));
        let (left, taken) = iid(0..10, 10, 1).unwrap().hold_out(0.9, 5);
        assert!(left.sizes().all(|size| size == 1) && taken.is_empty(), "a device keeps a sample");
    }

    #[test]
    fn samples_that_are_held_out_stay_so_when_data_grow() {
        let held = |samples: u32| -> BTreeSet<u32> {
            iid(0..samples, 1, 9).unwrap().hold_out(0.2, 9).1.into_iter().collect()
        };
        let (before, after) = (held(300), held(2_000));
        assert!(before.len() > 30);
        let known: BTreeSet<u32> = after.iter().copied().filter(|position| *position < 300).collect();
        assert_eq!(known, before, "no sample changes sides");
    }
}
