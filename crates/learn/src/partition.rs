//! Which samples lie on which device.
//!
//! A partition is a function of the samples, the recipe and the seed alone. All numbers come from the
//! streams of [`Purpose::Partition`]; below, stream (k, n) is the one with k for the round and n for the
//! device, and "shuffled by (k)" means: by Fisher–Yates from the last place down with stream (k, shared).
//!
//! - [`iid`]: all positions, shuffled by (0), are dealt in N consecutive parts whose sizes differ by at
//!   most one, larger parts first.
//! - [`dirichlet`]: for every class c, in turn: device n draws a gamma variable of shape `concentration`
//!   from stream (c, n); divided by their sum they are the class's shares p₁…p_N, a draw of
//!   Dirichlet(`concentration`). The positions of the class, in the order given, are shuffled by (c) and
//!   cut at round(count · (p₁ + … + p_n)): device n gets the n-th piece. Then the minimum: for each device
//!   with too few samples, in order, one sample at a time is taken from the device that has most at that
//!   moment (the first of equals), drawn uniformly from all it has with stream (number of classes, needy
//!   device). How many were moved is reported.
//! - [`by_role`]: roles, shuffled by (0), are dealt in turn: the r-th goes to device r mod N, whole.
//!
//! In the end every device's positions are sorted.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use fedflip_fleet::{Purpose, StreamKey};
use rand::RngExt;
use rand_distr::{Distribution, Gamma};

/// Positions of samples, by device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    positions: Vec<u32>,
    /// Where each device's positions end.
    ends: Vec<usize>,
    moved: usize,
}

/// Why samples cannot be split as asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PartitionError {
    /// Nobody to give them to.
    #[error("there are no devices to split the samples over")]
    NoDevices,
    /// The minimum cannot be had.
    #[error("{samples} samples cannot give {devices} devices at least {min} each")]
    TooFewSamples {
        /// How many there are.
        samples: usize,
        /// Over how many devices.
        devices: usize,
        /// The minimum.
        min: usize,
    },
    /// Not every device would get a role.
    #[error("{roles} roles cannot be dealt to {devices} devices")]
    TooFewRoles {
        /// How many there are.
        roles: usize,
        /// Over how many devices.
        devices: usize,
    },
    /// Not a concentration.
    #[error("the concentration {0} is out of range")]
    Concentration(f64),
}

impl PartitionError {
    /// What to change.
    pub fn hint(&self) -> String {
        match self {
            Self::NoDevices => "name at least one device".to_owned(),
            Self::TooFewSamples { samples, min, .. } => {
                format!("lower the minimum, or take at most {} devices", samples / min.max(&1))
            }
            Self::TooFewRoles { roles, .. } => {
                format!("take at most {roles} devices, or split by Dirichlet")
            }
            Self::Concentration(_) => "it must be a number from 1e-3 to 1e6; small is skewed".to_owned(),
        }
    }
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

    /// How many samples changed hands to give every device the minimum.
    pub fn moved(&self) -> usize {
        self.moved
    }

    fn of(devices: Vec<Vec<u32>>, moved: usize) -> Self {
        let mut partition = Self { positions: Vec::new(), ends: Vec::with_capacity(devices.len()), moved };
        partition.positions.reserve_exact(devices.iter().map(Vec::len).sum());
        for mut positions in devices {
            positions.sort_unstable();
            partition.positions.append(&mut positions);
            partition.ends.push(partition.positions.len());
        }
        partition
    }
}

/// How [`dirichlet`] splits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dirichlet {
    /// Small is skewed; the paper has 0.8.
    pub concentration: f64,
    /// Every device gets at least so many samples.
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
    shuffle(&mut positions, key(seed, 0));
    let (each, larger) = (positions.len() / devices, positions.len() % devices);
    let mut rest = positions.as_slice();
    let parts = (0..devices).map(|device| {
        let (part, others) = rest.split_at(each + usize::from(device < larger));
        rest = others;
        part.to_vec()
    });
    Ok(Partition::of(parts.collect(), 0))
}

/// Every class is split by shares of its own. Samples are pairs of position and label.
pub fn dirichlet(
    samples: impl IntoIterator<Item = (u32, u8)>,
    devices: usize,
    recipe: Dirichlet,
    seed: u64,
) -> Result<Partition, PartitionError> {
    let Dirichlet { concentration, min_samples } = recipe;
    let bad = PartitionError::Concentration(concentration);
    if !(1e-3..=1e6).contains(&concentration) {
        return Err(bad);
    }
    // Of shape + 1, see `log_gamma_draw`.
    let gamma = Gamma::new(concentration + 1.0, 1.0).map_err(|_| bad)?;
    let mut classes: Vec<Vec<u32>> = Vec::new();
    for (position, label) in samples {
        let label = usize::from(label);
        if label >= classes.len() {
            classes.resize(label + 1, Vec::new());
        }
        classes[label].push(position);
    }
    enough(classes.iter().map(Vec::len).sum(), devices, min_samples)?;

    let mut parts: Vec<Vec<u32>> = vec![Vec::new(); devices];
    let labels = classes.len() as u64;
    for (class, mut positions) in classes.into_iter().enumerate() {
        let key = key(seed, class as u64);
        shuffle(&mut positions, key);
        let mut shares: Vec<f64> =
            (0..devices).map(|device| log_gamma_draw(&gamma, concentration, key, device as u64)).collect();
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
    let moved = raise_to_minimum(&mut parts, min_samples, key(seed, labels));
    Ok(Partition::of(parts, moved))
}

/// Every device gets whole roles; `roles` are ranges of positions.
pub fn by_role(roles: &[Range<u32>], devices: usize, seed: u64) -> Result<Partition, PartitionError> {
    if devices == 0 {
        return Err(PartitionError::NoDevices);
    }
    let mut roles: Vec<Range<u32>> = roles.iter().filter(|role| !role.is_empty()).cloned().collect();
    if roles.len() < devices {
        return Err(PartitionError::TooFewRoles { roles: roles.len(), devices });
    }
    shuffle(&mut roles, key(seed, 0));
    let mut parts: Vec<Vec<u32>> = vec![Vec::new(); devices];
    for (rank, role) in roles.into_iter().enumerate() {
        parts[rank % devices].extend(role);
    }
    Ok(Partition::of(parts, 0))
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

fn shuffle<T>(items: &mut [T], key: StreamKey) {
    let mut stream = key.shared();
    for last in (1..items.len()).rev() {
        items.swap(last, stream.random_range(0..=last));
    }
}

/// The logarithm of a gamma variable: Γ(a) is Γ(a + 1) · U^(1/a), which underflows for small a unless
/// one stays with logarithms.
fn log_gamma_draw(above: &Gamma<f64>, shape: f64, key: StreamKey, device: u64) -> f64 {
    let mut stream = key.device(device);
    let larger: f64 = above.sample(&mut stream);
    let uniform: f64 = 1.0 - stream.random::<f64>();
    larger.ln() + uniform.ln() / shape
}

fn raise_to_minimum(parts: &mut [Vec<u32>], min: usize, key: StreamKey) -> usize {
    let mut largest: BinaryHeap<(usize, Reverse<usize>)> =
        parts.iter().enumerate().map(|(device, part)| (part.len(), Reverse(device))).collect();
    let mut moved = 0;
    for needy in 0..parts.len() {
        let mut stream = key.device(needy as u64);
        while parts[needy].len() < min {
            // The needy device's own entry is stale, but with less than the minimum it is never on top:
            // by the pigeonhole principle somebody has more.
            let Some((_, Reverse(donor))) = largest.pop() else { return moved };
            let taken = stream.random_range(0..parts[donor].len());
            let sample = parts[donor].swap_remove(taken);
            parts[needy].push(sample);
            largest.push((parts[donor].len(), Reverse(donor)));
            moved += 1;
        }
    }
    moved
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

    fn samples(count: u32) -> Vec<(u32, u8)> {
        (0..count).map(|n| (n * 3, (n * n % 7) as u8)).collect()
    }

    proptest! {
        #[test]
        fn every_sample_lies_on_exactly_one_device(
            count in 1_u32..600, devices in 1_usize..40, min in 0_usize..20,
            log_concentration in -3.0..4.0_f64, seed: u64,
        ) {
            let recipe = Dirichlet { concentration: 10_f64.powf(log_concentration), min_samples: min };
            let split = dirichlet(samples(count), devices, recipe, seed);
            if devices * min > count as usize {
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
        fn roles_stay_whole(lengths in prop::collection::vec(1_u32..50, 1..40), devices in 1_usize..20, seed: u64) {
            let mut end = 0;
            let roles: Vec<Range<u32>> =
                lengths.iter().map(|length| { end += length + 5; end - length..end }).collect();
            let split = by_role(&roles, devices, seed);
            if roles.len() < devices {
                prop_assert!(split.is_err());
                return Ok(());
            }
            let split = split.unwrap();
            prop_assert_eq!(all(&split), roles.iter().cloned().flatten().collect::<Vec<_>>());
            for role in &roles {
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
            let split = dirichlet((0..10_000).map(|n| (n, (n % 10) as u8)), 10, recipe, 7).unwrap();
            split.sizes().max().unwrap() - split.sizes().min().unwrap()
        };
        assert!(spread(1e5) < 50 && spread(0.05) > 1000, "{} {}", spread(1e5), spread(0.05));
    }

    #[test]
    fn moving_is_reported_and_only_what_is_needed() {
        let recipe = Dirichlet { concentration: 0.01, min_samples: 10 };
        let raised = dirichlet(samples(500), 20, recipe, 7).unwrap();
        let free = dirichlet(samples(500), 20, Dirichlet { min_samples: 0, ..recipe }, 7).unwrap();
        let needed: usize = free.sizes().map(|size| 10_usize.saturating_sub(size)).sum();
        assert_eq!((raised.moved(), free.moved()), (needed, 0));
        assert!(needed > 0);
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
        assert_eq!(by_role(&[0..3, 5..5], 2, 0), Err(PartitionError::TooFewRoles { roles: 1, devices: 2 }));
    }

    /// A changed value here changes every run ever recorded.
    #[test]
    fn the_split_is_pinned() {
        let recipe = Dirichlet { concentration: 0.8, min_samples: 2 };
        let split = dirichlet(samples(40), 5, recipe, 7).unwrap();
        assert_eq!(split.sizes().collect::<Vec<_>>(), [2, 10, 5, 11, 12]);
        assert_eq!(split.device(0), [0, 105]);
    }
}
