//! Which samples lie on which device.
//!
//! A partition is a function of the samples, the recipe and the seed alone. All numbers come from the
//! streams of [`Purpose::Partition`], as `draws` spells out; below, stream (k, n) is the one with k for the
//! round and n for the device, "shuffled by (k)" means: with stream (k, shared), and all arithmetic is in
//! f64. `tests/golden/partition.py` is the same written again in Python, from this text.
//!
//! - [`iid`]: all positions, shuffled by (0), are dealt in N consecutive parts whose sizes differ by at
//!   most one, larger parts first.
//! - [`dirichlet`]: for every class c from 0 up to the largest label: device n draws the logarithm of a
//!   gamma variable of shape `concentration` from stream (c, n). Less the largest of the N and
//!   exponentiated they are weights w₁…w_N, which divided by their sum W are a draw of
//!   Dirichlet(`concentration`). The positions of the class, in the order given, are shuffled by (c) and cut
//!   at count · ((w₁ + … + w_n)/W), rounded to the nearest whole number, halves up: device n gets the n-th
//!   piece, the last one all that is left. A device's samples are in the order of classes. Then the minimum:
//!   for each device with too few samples, in order, one sample at a time is taken from the device that has
//!   most at that moment (the first of equals): the one at a place drawn with stream (number of classes,
//!   needy device), where the donor's last sample moves to.
//! - [`by_role`]: roles with fewer samples than the minimum are left out, as LEAF does; the others, shuffled
//!   by (0), are dealt in turn: the r-th goes to device r mod N, whole. With as many devices as roles, every
//!   role is a device.
//! - [`by_device`] and [`by_counts`]: the data say whose sample it is, or the fleet says how many a device holds.
//! - [`Partition::hold_out`]: takes a share of every device's samples out, for validation.
//!
//! In the end every device's positions are sorted. What the minimum took is reported: [`Minimum`].

mod draws;
mod error;
mod given;
mod holdout;
mod minimum;

pub use error::PartitionError;
pub use given::{by_counts, by_device, places_by_name, places_in_turn};
pub use minimum::Minimum;

use std::ops::Range;

use fedflip_fleet::{Purpose, StreamKey};

/// Positions of samples, by device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    positions: Vec<u32>,
    /// Where each device's positions end.
    ends: Vec<usize>,
    minimum: Minimum,
}

impl Partition {
    /// How many devices there are.
    pub fn devices(&self) -> usize {
        self.ends.len()
    }

    /// The positions of a device's samples, ascending. The device must exist.
    pub fn device(&self, device: usize) -> &[u32] {
        let start = if device == 0 { 0 } else { self.ends[device - 1] };
        &self.positions[start..self.ends[device]]
    }

    /// How many samples each device has.
    pub fn sizes(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.devices()).map(|device| self.device(device).len())
    }

    /// How many samples there are in all.
    pub fn samples(&self) -> usize {
        self.positions.len()
    }

    /// What it took to give every device the minimum.
    pub fn minimum(&self) -> Minimum {
        self.minimum
    }

    fn of(devices: Vec<Vec<u32>>, minimum: Minimum) -> Self {
        let smallest = devices.iter().map(Vec::len).min().unwrap_or(0);
        let minimum = Minimum { smallest, ..minimum };
        let mut partition = Self { positions: Vec::new(), ends: Vec::with_capacity(devices.len()), minimum };
        partition.positions.reserve_exact(devices.iter().map(Vec::len).sum());
        for mut positions in devices {
            positions.sort_unstable();
            partition.positions.append(&mut positions);
            partition.ends.push(partition.positions.len());
        }
        partition
    }
}

/// The settings of a partition by [`dirichlet`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dirichlet {
    /// Small is skewed; the paper has 0.8.
    pub concentration: f64,
    /// The fewest samples of a device; with 0, some devices may get none.
    pub min_samples: usize,
}

/// Everybody gets the same number of samples, at random.
pub fn iid(
    positions: impl IntoIterator<Item = u32>,
    devices: usize,
    seed: u64,
) -> Result<Partition, PartitionError> {
    let mut positions: Vec<u32> = positions.into_iter().collect();
    enough(positions.len(), devices, 1)?;
    draws::shuffle(&mut positions, &mut key(seed, 0).shared());
    let (each, larger) = (positions.len() / devices, positions.len() % devices);
    let mut rest = positions.as_slice();
    let parts = (0..devices).map(|device| {
        let (part, others) = rest.split_at(each + usize::from(device < larger));
        rest = others;
        part.to_vec()
    });
    let parts: Vec<Vec<u32>> = parts.collect();
    let minimum = Minimum::drawn(1, &parts);
    Ok(Partition::of(parts, minimum))
}

/// Every class is split by shares of its own. Samples are pairs of position and label.
pub fn dirichlet(
    samples: impl IntoIterator<Item = (u32, u32)>,
    devices: usize,
    recipe: Dirichlet,
    seed: u64,
) -> Result<Partition, PartitionError> {
    let Dirichlet { concentration, min_samples } = recipe;
    if !(1e-3..=1e6).contains(&concentration) {
        return Err(PartitionError::Concentration(concentration));
    }
    let mut classes: Vec<Vec<u32>> = Vec::new();
    for (position, label) in samples {
        let label = label as usize;
        if label >= classes.len() {
            classes.resize(label + 1, Vec::new());
        }
        classes[label].push(position);
    }
    let total: usize = classes.iter().map(Vec::len).sum();
    // However low the minimum, somebody would be left with nothing.
    enough(total, devices, min_samples.max(1))?;

    let mut parts: Vec<Vec<u32>> = vec![Vec::new(); devices];
    let labels = classes.len() as u64;
    for (class, mut positions) in classes.into_iter().enumerate() {
        let key = key(seed, class as u64);
        draws::shuffle(&mut positions, &mut key.shared());
        let mut shares: Vec<f64> = (0..devices)
            .map(|device| draws::log_gamma(&mut key.device(device as u64), concentration))
            .collect();
        // Relative to the largest, so that at least one share is not zero however small they all are.
        let largest = shares.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        shares.iter_mut().for_each(|share| *share = (*share - largest).exp());
        let sum: f64 = shares.iter().sum();
        let (mut before, mut start) = (0.0, 0);
        for (device, share) in shares.iter().enumerate() {
            before += share;
            let cut = (positions.len() as f64 * (before / sum)).round() as usize;
            let end = if device + 1 == devices { positions.len() } else { cut.clamp(start, positions.len()) };
            parts[device].extend_from_slice(&positions[start..end]);
            start = end;
        }
    }
    let drawn = Minimum::drawn(min_samples, &parts);
    let moved = minimum::raise(&mut parts, min_samples, key(seed, labels));
    Ok(Partition::of(parts, Minimum { moved, ..drawn }))
}

/// Every device gets whole roles of at least `min_samples` each; `roles` are ranges of positions.
pub fn by_role(
    roles: &[Range<u32>],
    devices: usize,
    min_samples: usize,
    seed: u64,
) -> Result<Partition, PartitionError> {
    if devices == 0 {
        return Err(PartitionError::NoDevices);
    }
    // A role without samples is nobody.
    let min = min_samples.max(1);
    let (mut kept, small): (Vec<Range<u32>>, Vec<Range<u32>>) =
        roles.iter().cloned().partition(|role| role.len() >= min);
    if kept.len() < devices {
        return Err(PartitionError::TooFewRoles { roles: kept.len(), devices, min });
    }
    draws::shuffle(&mut kept, &mut key(seed, 0).shared());
    let mut parts: Vec<Vec<u32>> = vec![Vec::new(); devices];
    for (rank, role) in kept.into_iter().enumerate() {
        parts[rank % devices].extend(role);
    }
    let left_out = small.iter().map(ExactSizeIterator::len).sum();
    let drawn = Minimum::drawn(min_samples, &parts);
    Ok(Partition::of(parts, Minimum { left_out, ..drawn }))
}

fn key(seed: u64, round: u64) -> StreamKey {
    StreamKey { seed, purpose: Purpose::Partition, round }
}

fn enough(samples: usize, devices: usize, min: usize) -> Result<(), PartitionError> {
    if devices == 0 {
        return Err(PartitionError::NoDevices);
    }
    if devices.checked_mul(min).is_none_or(|wanted| wanted > samples) {
        return Err(PartitionError::TooFewSamples { samples, devices, min });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(partition: &Partition) -> Vec<u32> {
        let mut all = partition.positions.clone();
        all.sort_unstable();
        all
    }

    fn samples(count: u32) -> Vec<(u32, u32)> {
        (0..count).map(|n| (n * 3, n * n % 7)).collect()
    }

    proptest! {
        #[test]
        fn every_sample_lies_on_exactly_one_device(
            count in 1_u32..600, devices in 1_usize..40, min in 0_usize..20,
            log_concentration in -3.0..4.0_f64, seed: u64,
        ) {
            let recipe = Dirichlet { concentration: 10_f64.powf(log_concentration), min_samples: min };
            let split = dirichlet(samples(count), devices, recipe, seed);
            if devices * min.max(1) > count as usize {
                prop_assert!(split.is_err());
                return Ok(());
            }
            let split = split.unwrap();
            prop_assert_eq!(all(&split), (0..count).map(|n| n * 3).collect::<Vec<_>>());
            prop_assert!(split.devices() == devices && split.sizes().all(|size| size >= min));
            prop_assert_eq!(&split, &dirichlet(samples(count), devices, recipe, seed).unwrap());
        }

        #[test]
        fn iid_parts_differ_by_one_at_most(count in 1_u32..600, devices in 1_usize..40, seed: u64) {
            let split = iid(0..count, devices, seed);
            if devices > count as usize {
                prop_assert!(split.is_err());
                return Ok(());
            }
            let split = split.unwrap();
            prop_assert_eq!(all(&split), (0..count).collect::<Vec<_>>());
            prop_assert!(split.sizes().max().unwrap() - split.sizes().min().unwrap() <= 1);
            prop_assert_eq!(&split, &iid(0..count, devices, seed).unwrap());
        }

        #[test]
        fn roles_stay_whole(
            lengths in prop::collection::vec(0_u32..50, 1..40), devices in 1_usize..20, min in 0_usize..20, seed: u64,
        ) {
            let min = min.max(1);
            let mut end = 0;
            let roles: Vec<Range<u32>> =
                lengths.iter().map(|length| { end += length + 5; end - length..end }).collect();
            let split = by_role(&roles, devices, min, seed);
            let kept: Vec<Range<u32>> = roles.iter().filter(|role| role.len() >= min).cloned().collect();
            if kept.len() < devices {
                prop_assert!(split.is_err());
                return Ok(());
            }
            let split = split.unwrap();
            prop_assert_eq!(all(&split), kept.iter().cloned().flatten().collect::<Vec<_>>());
            prop_assert!(split.sizes().all(|size| size >= min));
            let given: usize = roles.iter().map(ExactSizeIterator::len).sum();
            prop_assert_eq!(split.minimum().left_out, given - split.samples());
            for role in &kept {
                let holders = (0..devices).filter(|&n| split.device(n).contains(&role.start));
                let whole = holders.filter(|&n| role.clone().all(|p| split.device(n).contains(&p)));
                prop_assert_eq!(whole.count(), 1);
            }
        }
    }

    #[test]
    fn a_small_concentration_is_skewed_and_a_large_one_is_not() {
        let spread = |concentration| {
            let recipe = Dirichlet { concentration, min_samples: 0 };
            let split = dirichlet((0..10_000).map(|n| (n, n % 10)), 10, recipe, 7).unwrap();
            split.sizes().max().unwrap() - split.sizes().min().unwrap()
        };
        assert!(spread(1e5) < 50 && spread(0.05) > 1000, "{} {}", spread(1e5), spread(0.05));
    }

    #[test]
    fn what_the_minimum_took_is_reported_and_no_more_than_needed() {
        let recipe = Dirichlet { concentration: 0.01, min_samples: 10 };
        let raised = dirichlet(samples(500), 20, recipe, 7).unwrap();
        let free = dirichlet(samples(500), 20, Dirichlet { min_samples: 0, ..recipe }, 7).unwrap();
        let too_few = || free.sizes().filter(|&size| size < 10);
        let report = Minimum {
            asked: 10,
            smallest: 10,
            smallest_drawn: free.sizes().min().unwrap(),
            raised: too_few().count(),
            moved: too_few().map(|size| 10 - size).sum(),
            left_out: 0,
        };
        assert_eq!(raised.minimum(), report);
        assert_eq!((free.minimum().moved, free.minimum().raised), (0, 0));
        let Minimum { raised, moved, .. } = report;
        assert!(raised > 0 && moved > 0);
        assert_eq!(
            report.to_string(),
            format!(
                "at least 10 samples per device: the smallest has 10; {raised} had fewer (down to 0), \
                 so {moved} samples were moved"
            )
        );
        let one = Minimum { moved: 1, left_out: 1, ..report }.to_string();
        assert!(one.ends_with("so 1 sample was moved; 1 sample was left out"), "{one}");
        let roles = by_role(&[0..5, 5..7, 10..20], 2, 3, 7).unwrap().minimum();
        assert_eq!(
            roles.to_string(),
            "at least 3 samples per device: the smallest has 5; 2 samples were left out"
        );
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let recipe = |concentration| Dirichlet { concentration, min_samples: 1 };
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-9] {
            assert!(matches!(
                dirichlet(samples(9), 2, recipe(bad), 0),
                Err(PartitionError::Concentration(_))
            ));
        }
        assert_eq!(dirichlet(samples(9), 0, recipe(1.0), 0), Err(PartitionError::NoDevices));
        assert_eq!(iid(0..3, 0, 0), Err(PartitionError::NoDevices));
        assert!(dirichlet(samples(9), usize::MAX, recipe(1.0), 0).is_err());
        assert_eq!(by_role(&[0..3, 3..5], 0, 0, 0), Err(PartitionError::NoDevices));
        let few = by_role(&[0..3, 5..5], 2, 0, 0).unwrap_err();
        assert_eq!(few, PartitionError::TooFewRoles { roles: 1, devices: 2, min: 1 });
        let many = iid(0..3, 4, 0).unwrap_err();
        assert_eq!(many.to_string(), "3 samples cannot give 4 devices at least 1 each");
        assert_eq!(many.hint(), "lower the minimum (data.min_samples), or take at most 3 devices");
        assert!(by_role(&[0..3, 5..7], 2, 3, 0).unwrap_err().hint().contains("at most 1 devices"));
    }
}
