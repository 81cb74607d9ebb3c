//! Partitions that the data or the fleet give: whose sample it is, or how many samples a device holds.

use super::{Minimum, Partition, PartitionError, draws, key};

/// Every device gets the samples that carry its name. Samples are pairs of position and holder; the holders are numbered
/// from 0. With more holders than devices, holder h goes to device h mod N, whole.
pub fn by_device(
    samples: impl IntoIterator<Item = (u32, u32)>,
    holders: usize,
    devices: usize,
) -> Result<Partition, PartitionError> {
    if devices == 0 {
        return Err(PartitionError::NoDevices);
    }
    if holders < devices {
        return Err(PartitionError::TooFewHolders { holders, devices });
    }
    let mut parts: Vec<Vec<u32>> = vec![Vec::new(); devices];
    for (position, holder) in samples {
        parts[holder as usize % devices].push(position);
    }
    if let Some(device) = parts.iter().position(Vec::is_empty) {
        return Err(PartitionError::EmptyDevice { device });
    }
    let minimum = Minimum::drawn(1, &parts);
    Ok(Partition::of(parts, minimum))
}

/// Device n gets `counts[n]` samples: the positions, shuffled by (0), are dealt in order. Samples that nobody asked for
/// are left out.
pub fn by_counts(
    positions: impl IntoIterator<Item = u32>,
    counts: &[u64],
    seed: u64,
) -> Result<Partition, PartitionError> {
    if counts.is_empty() {
        return Err(PartitionError::NoDevices);
    }
    if let Some(device) = counts.iter().position(|&count| count == 0) {
        return Err(PartitionError::EmptyDevice { device });
    }
    let mut positions: Vec<u32> = positions.into_iter().collect();
    let wanted = counts.iter().fold(0_u64, |sum, count| sum.saturating_add(*count));
    if wanted > positions.len() as u64 {
        return Err(PartitionError::CountsTooLarge { samples: positions.len(), wanted });
    }
    draws::shuffle(&mut positions, &mut key(seed, 0).shared());
    let mut rest = positions.as_slice();
    let parts: Vec<Vec<u32>> = counts
        .iter()
        .map(|&count| {
            // The sum of the counts is at most the number of positions.
            let (part, others) = rest.split_at(count as usize);
            rest = others;
            part.to_vec()
        })
        .collect();
    let left_out = rest.len();
    let drawn = Minimum::drawn(1, &parts);
    Ok(Partition::of(parts, Minimum { left_out, ..drawn }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn samples_go_to_the_device_that_holds_them() {
        let samples = [(5, 1), (6, 0), (7, 2), (8, 1)];
        let three = by_device(samples, 3, 3).unwrap();
        assert_eq!([0, 1, 2].map(|device| three.device(device).to_vec()), [vec![6], vec![5, 8], vec![7]]);
        let two = by_device(samples, 3, 2).unwrap();
        assert_eq!([0, 1].map(|device| two.device(device).to_vec()), [vec![6, 7], vec![5, 8]]);
        let few = by_device(samples, 3, 4).unwrap_err();
        assert_eq!(few, PartitionError::TooFewHolders { holders: 3, devices: 4 });
        assert_eq!(by_device(samples, 4, 4).unwrap_err(), PartitionError::EmptyDevice { device: 3 });
        assert_eq!(by_device(samples, 3, 0).unwrap_err(), PartitionError::NoDevices);
    }

    proptest! {
        #[test]
        fn counts_are_kept_and_no_sample_lies_on_two_devices(
            counts in prop::collection::vec(1_u64..30, 1..20), spare in 0_u32..50, seed: u64,
        ) {
            let wanted: u64 = counts.iter().sum();
            let split = by_counts(0..wanted as u32 + spare, &counts, seed).unwrap();
            let sizes: Vec<u64> = split.sizes().map(|size| size as u64).collect();
            prop_assert_eq!(&sizes, &counts);
            prop_assert_eq!(split.minimum().left_out, spare as usize);
            let mut all: Vec<u32> = (0..counts.len()).flat_map(|n| split.device(n).to_vec()).collect();
            all.sort_unstable();
            all.dedup();
            prop_assert_eq!(all.len() as u64, wanted);
            prop_assert_eq!(&split, &by_counts(0..wanted as u32 + spare, &counts, seed).unwrap());
            prop_assert!(by_counts(0..wanted as u32 - 1, &counts, seed).is_err());
        }
    }
}
