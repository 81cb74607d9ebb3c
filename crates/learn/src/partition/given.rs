//! Partitions that the data or the fleet give: whose sample it is, or how many samples a device holds.

use std::collections::BTreeMap;

use fedflip_fleet::nearest;

use super::{Minimum, Partition, PartitionError, draws, key};

/// The device of each holder in a fleet without names: holder h goes to device h mod N, whole.
pub fn places_in_turn(holders: usize, devices: usize) -> Result<Vec<usize>, PartitionError> {
    if devices == 0 {
        return Err(PartitionError::NoDevices);
    }
    if holders < devices {
        return Err(PartitionError::TooFewHolders { holders, devices });
    }
    Ok((0..holders).map(|holder| holder % devices).collect())
}

/// The device of each holder in a fleet with names: the device of the same name. Every holder must be a device, and every
/// device a holder.
pub fn places_by_name(holders: &[String], fleet: &[String]) -> Result<Vec<usize>, PartitionError> {
    let devices: BTreeMap<&str, usize> = fleet.iter().map(String::as_str).zip(0..).collect();
    let place = |holder: &String| {
        let unknown = || {
            let near = nearest(holder, fleet).cloned();
            PartitionError::UnknownHolder { holder: holder.clone(), near }
        };
        devices.get(holder.as_str()).copied().ok_or_else(unknown)
    };
    let places: Vec<usize> = holders.iter().map(place).collect::<Result<_, _>>()?;
    let mut has_samples = vec![false; fleet.len()];
    places.iter().for_each(|place| has_samples[*place] = true);
    match has_samples.iter().position(|has| !has) {
        None => Ok(places),
        Some(device) => {
            let near = nearest(&fleet[device], holders).cloned();
            Err(PartitionError::NotAmongHolders { device: fleet[device].clone(), near })
        }
    }
}

/// Every device gets the samples of its holders. Samples are pairs of position and holder; `places` has the device of each
/// holder.
pub fn by_device(
    samples: impl IntoIterator<Item = (u32, u32)>,
    places: &[usize],
    devices: usize,
) -> Result<Partition, PartitionError> {
    let mut parts: Vec<Vec<u32>> = vec![Vec::new(); devices];
    for (position, holder) in samples {
        parts[places[holder as usize]].push(position);
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
        let in_turn = |holders, devices| by_device(samples, &places_in_turn(holders, devices)?, devices);
        let three = in_turn(3, 3).unwrap();
        assert_eq!([0, 1, 2].map(|device| three.device(device).to_vec()), [vec![6], vec![5, 8], vec![7]]);
        let two = in_turn(3, 2).unwrap();
        assert_eq!([0, 1].map(|device| two.device(device).to_vec()), [vec![6, 7], vec![5, 8]]);
        let few = in_turn(3, 4).unwrap_err();
        assert_eq!(few, PartitionError::TooFewHolders { holders: 3, devices: 4 });
        assert_eq!(in_turn(4, 4).unwrap_err(), PartitionError::EmptyDevice { device: 3 });
        assert_eq!(in_turn(3, 0).unwrap_err(), PartitionError::NoDevices);
    }

    #[test]
    fn holders_are_matched_by_name() {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let holders = list(&["north", "south", "west"]);
        assert_eq!(places_by_name(&holders, &list(&["west", "north", "south"])).unwrap(), [1, 2, 0]);
        let refused = places_by_name(&holders, &list(&["nort", "south", "west"])).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the samples name the device \"north\", which the fleet does not have"
        );
        assert!(refused.hint().starts_with("did you mean nort?"), "{}", refused.hint());
        let refused = places_by_name(&holders, &list(&["north", "south", "west", "wast"])).unwrap_err();
        assert_eq!(refused.to_string(), "no sample names the device \"wast\" of the fleet");
        assert!(refused.hint().contains("west"), "{}", refused.hint());
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
