//! A validated list of devices.

use crate::error::FleetError;
use crate::link::Link;
use crate::names::Names;
use crate::units::{Decibel, Mbps, Probability, Samples, Secs};

/// One device, as it enters a fleet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Device<'a> {
    /// Unique in its fleet.
    pub name: &'a str,
    /// τ_n: the local computation of one round.
    pub compute_secs: Secs,
    /// t_n: the upload of one round at 1 Mbit/s; as a number, the effective payload in Mbit.
    pub comm_secs: Secs,
    /// |D_n|: the training samples that the device holds.
    pub samples: Samples,
    /// The share of rounds in which the device can be reached: a cap on its q_n.
    pub availability: Probability,
    /// The largest rate of its link, if it has a limit of its own.
    pub link_mbps: Option<Mbps>,
    /// The signal-to-noise ratio of its link over the whole band, which a band of spectrum asks for.
    pub snr_db: Option<Decibel>,
}

impl<'a> Device<'a> {
    /// A device that is always available, and whose link has no limits of its own.
    pub fn new(name: &'a str, compute_secs: Secs, comm_secs: Secs, samples: Samples) -> Self {
        let availability = Probability::ONE;
        Self { name, compute_secs, comm_secs, samples, availability, link_mbps: None, snr_db: None }
    }
}

/// The largest fleet: it takes some two gigabytes with everything that is computed from it.
pub const DEVICES_MAX: usize = 20_000_000;

/// The longest device name.
pub const NAME_BYTES_MAX: usize = 256;

/// At least one device, names unique, every number in range, data shares summing to one.
///
/// Columns rather than rows: the planner runs along one quantity of all devices, and a million devices
/// cost 40 bytes each besides their names.
#[derive(Clone, Debug, PartialEq)]
pub struct Fleet {
    names: Names,
    compute_secs: Vec<f64>,
    comm_secs: Vec<f64>,
    samples: Vec<f64>,
    weights: Vec<f64>,
    availability: Vec<f64>,
    links: Links,
}

/// Columns that most fleets lack: a column is empty unless a device has a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Links {
    /// Infinite for a device without a limit.
    pub limit_mbps: Vec<f64>,
    /// In dB; NaN never occurs, because a column of ratios is complete or empty.
    pub snr_db: Vec<f64>,
    /// The same as factors.
    pub snr: Vec<f64>,
}

impl Fleet {
    /// An empty list to push devices to; [`Fleet::from_columns`] takes slices instead.
    pub fn builder() -> FleetBuilder {
        FleetBuilder::default()
    }

    /// The number of devices N.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Always false: a fleet has at least one device.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// τ of all devices.
    pub fn compute_secs(&self) -> &[f64] {
        &self.compute_secs
    }

    /// t of all devices: seconds at 1 Mbit/s.
    pub fn comm_secs(&self) -> &[f64] {
        &self.comm_secs
    }

    /// |D_n| of all devices.
    pub fn samples(&self) -> &[f64] {
        &self.samples
    }

    /// a of all devices: the shares of the data, which sum to one.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The caps on q.
    pub fn availability(&self) -> &[f64] {
        &self.availability
    }

    /// The links' own limits in Mbit/s, infinite for a device without one; none if no device has a limit.
    pub fn link_mbps(&self) -> Option<&[f64]> {
        Some(self.links.limit_mbps.as_slice()).filter(|column| !column.is_empty())
    }

    /// The signal-to-noise ratios in dB; none if they are unknown.
    pub fn snr_db(&self) -> Option<&[f64]> {
        Some(self.links.snr_db.as_slice()).filter(|column| !column.is_empty())
    }

    /// What limits the link of the device at `position`.
    pub fn link(&self, position: usize) -> Link {
        let unlimited = Link::default();
        Link {
            limit_mbps: self.links.limit_mbps.get(position).copied().unwrap_or(unlimited.limit_mbps),
            snr: self.links.snr.get(position).copied().unwrap_or(unlimited.snr),
        }
    }

    /// The same devices with other samples: device n holds `samples[n]`.
    pub fn with_samples(&self, samples: &[Samples]) -> Result<Self, FleetError> {
        if samples.len() != self.len() {
            return Err(FleetError::SampleCounts { given: samples.len(), devices: self.len() });
        }
        let samples: Vec<f64> = samples.iter().map(|samples| samples.get()).collect();
        Ok(Self { weights: shares(&samples), samples, ..self.clone() })
    }

    /// The same devices with the samples of another fleet, device by device.
    pub fn with_samples_of(&self, other: &Self) -> Result<Self, FleetError> {
        if other.len() != self.len() {
            return Err(FleetError::SampleCounts { given: other.len(), devices: self.len() });
        }
        Ok(Self { samples: other.samples.clone(), weights: other.weights.clone(), ..self.clone() })
    }

    /// The same devices with other names.
    pub fn renamed(&self, names: &[&str]) -> Result<Self, FleetError> {
        if names.len() != self.len() {
            return Err(FleetError::ColumnLength { column: "names", len: names.len(), samples: self.len() });
        }
        let mut renamed = Names::default();
        for (position, name) in names.iter().enumerate() {
            if !is_name(name) {
                return Err(FleetError::BadName { name: (*name).to_owned(), position });
            }
            renamed.push(name);
        }
        if let Some((first, second)) = renamed.first_duplicate() {
            return Err(FleetError::RepeatedName { name: names[second].to_owned(), first, second });
        }
        Ok(Self { names: renamed, ..self.clone() })
    }

    /// Only the devices at these positions, in this order; their shares of the data sum to one again.
    pub fn subset(&self, positions: &[usize]) -> Result<Self, FleetError> {
        if positions.is_empty() {
            return Err(FleetError::NoDevices);
        }
        if let Some(&position) = positions.iter().find(|position| **position >= self.len()) {
            return Err(FleetError::BadPosition { position, devices: self.len() });
        }
        let column = |of: &[f64]| positions.iter().map(|&position| of[position]).collect::<Vec<f64>>();
        let samples = column(&self.samples);
        let mut names = Names::default();
        positions.iter().for_each(|&position| names.push(self.name(position)));
        Ok(Self {
            names,
            compute_secs: column(&self.compute_secs),
            comm_secs: column(&self.comm_secs),
            weights: shares(&samples),
            samples,
            availability: column(&self.availability),
            links: self.links.subset(positions),
        })
    }

    /// The name of the device at `position`; empty outside the fleet.
    pub fn name(&self, position: usize) -> &str {
        self.names.get(position)
    }
}

impl Links {
    /// Appends the link of the device at `position`.
    fn push(&mut self, position: usize, device: &Device<'_>) -> Result<(), FleetError> {
        match device.snr_db {
            Some(ratio) if self.snr_db.len() == position => {
                self.snr_db.push(ratio.get());
                self.snr.push(ratio.factor());
            }
            None if self.snr_db.is_empty() => {}
            _ => return Err(FleetError::PartOfSignals { position }),
        }
        if device.link_mbps.is_some() || !self.limit_mbps.is_empty() {
            // The devices before the first one with a limit have none.
            self.limit_mbps.resize(position, f64::INFINITY);
            self.limit_mbps.push(device.link_mbps.map_or(f64::INFINITY, Mbps::get));
        }
        Ok(())
    }

    fn subset(&self, positions: &[usize]) -> Self {
        let column = |of: &[f64]| positions.iter().filter_map(|&n| of.get(n).copied()).collect();
        let Self { limit_mbps, snr_db, snr } = self;
        Self { limit_mbps: column(limit_mbps), snr_db: column(snr_db), snr: column(snr) }
    }
}

/// Each device's part of the sum.
fn shares(samples: &[f64]) -> Vec<f64> {
    let total: f64 = samples.iter().sum();
    samples.iter().map(|samples| samples / total).collect()
}

/// Names are printed in tables: short, not empty, and without control characters.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.chars().any(char::is_control)
}

/// Collects devices, and checks the whole list in [`FleetBuilder::build`].
#[derive(Clone, Debug, Default)]
pub struct FleetBuilder {
    pub(crate) names: Names,
    pub(crate) compute_secs: Vec<f64>,
    pub(crate) comm_secs: Vec<f64>,
    pub(crate) samples: Vec<f64>,
    pub(crate) availability: Vec<f64>,
    pub(crate) links: Links,
}

impl FleetBuilder {
    /// Appends a device, unless its name is not a device name or the fleet is full.
    pub fn push(&mut self, device: Device<'_>) -> Result<(), FleetError> {
        if !is_name(device.name) {
            return Err(FleetError::BadName { name: device.name.to_owned(), position: self.len() });
        }
        if self.len() == DEVICES_MAX {
            return Err(FleetError::TooManyDevices);
        }
        self.links.push(self.len(), &device)?;
        self.names.push(device.name);
        self.compute_secs.push(device.compute_secs.get());
        self.comm_secs.push(device.comm_secs.get());
        self.samples.push(device.samples.get());
        self.availability.push(device.availability.get());
        Ok(())
    }

    /// The number of devices so far.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether no device was pushed yet.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The fleet, unless it is empty or two devices have the same name.
    pub fn build(self) -> Result<Fleet, FleetError> {
        if self.is_empty() {
            return Err(FleetError::NoDevices);
        }
        if let Some((first, second)) = self.names.first_duplicate() {
            return Err(FleetError::RepeatedName { name: self.names.get(second).to_owned(), first, second });
        }
        Ok(self.into_fleet())
    }

    /// The fleet of at least one device, all of whose names are known to differ.
    pub(crate) fn into_fleet(self) -> Fleet {
        Fleet {
            weights: shares(&self.samples),
            names: self.names,
            compute_secs: self.compute_secs,
            comm_secs: self.comm_secs,
            samples: self.samples,
            availability: self.availability,
            links: self.links,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, samples: f64) -> Device<'_> {
        let secs = |secs| Secs::new(secs).unwrap();
        Device::new(name, secs(1.5), secs(0.7), Samples::new(samples).unwrap())
    }

    #[test]
    fn weights_are_shares_of_the_samples() {
        let mut builder = Fleet::builder();
        builder.push(device("a", 30.0)).unwrap();
        builder.push(device("b", 10.0)).unwrap();
        let fleet = builder.build().unwrap();
        assert_eq!(fleet.weights(), [0.75, 0.25]);
        assert_eq!(fleet.name(1), "b");
    }

    #[test]
    fn samples_can_be_replaced_and_nothing_else_changes() {
        let mut builder = Fleet::builder();
        builder.push(device("a", 30.0)).unwrap();
        builder.push(device("b", 10.0)).unwrap();
        let fleet = builder.build().unwrap();
        let counts = [Samples::new(1.0).unwrap(), Samples::new(3.0).unwrap()];
        let other = fleet.with_samples(&counts).unwrap();
        assert_eq!((other.samples(), other.weights()), (&[1.0, 3.0][..], &[0.25, 0.75][..]));
        assert_eq!((other.name(0), other.compute_secs()), (fleet.name(0), fleet.compute_secs()));
        assert_eq!(fleet.with_samples(&counts[..1]), Err(FleetError::SampleCounts { given: 1, devices: 2 }));
    }

    #[test]
    fn a_subset_has_all_of_the_data() {
        let mut builder = Fleet::builder();
        [("a", 30.0), ("b", 10.0), ("c", 10.0)]
            .into_iter()
            .for_each(|(name, samples)| builder.push(device(name, samples)).unwrap());
        let fleet = builder.build().unwrap();
        let two = fleet.subset(&[0, 2]).unwrap();
        assert_eq!((two.weights(), two.name(1)), (&[0.75, 0.25][..], "c"));
        assert_eq!(fleet.subset(&[0, 1, 2]).unwrap(), fleet);
        assert!(fleet.subset(&[]).is_err() && fleet.subset(&[3]).is_err());
    }

    #[test]
    fn other_names_are_names_too() {
        let mut builder = Fleet::builder();
        ["a", "b"].iter().for_each(|name| builder.push(device(name, 1.0)).unwrap());
        let fleet = builder.build().unwrap();
        let renamed = fleet.renamed(&["north", "south"]).unwrap();
        assert_eq!((renamed.name(1), renamed.samples()), ("south", fleet.samples()));
        assert!(fleet.renamed(&["north"]).is_err() && fleet.renamed(&["north", "north"]).is_err());
        assert!(matches!(fleet.renamed(&["north", ""]), Err(FleetError::BadName { position: 1, .. })));
    }

    #[test]
    fn links_are_kept_where_devices_have_them() {
        let mut builder = Fleet::builder();
        builder.push(device("a", 1.0)).unwrap();
        builder.push(Device { link_mbps: Mbps::new(5.0).ok(), ..device("b", 1.0) }).unwrap();
        builder.push(device("c", 1.0)).unwrap();
        let signal = Device { snr_db: Decibel::new(10.0).ok(), ..device("d", 1.0) };
        assert_eq!(builder.push(signal), Err(FleetError::PartOfSignals { position: 3 }));
        let fleet = builder.build().unwrap();
        assert_eq!(fleet.link_mbps(), Some(&[f64::INFINITY, 5.0, f64::INFINITY][..]));
        assert_eq!((fleet.snr_db(), fleet.link(1)), (None, Link { limit_mbps: 5.0, ..Link::default() }));
        let two = fleet.subset(&[2, 1]).unwrap();
        assert_eq!(two.link_mbps(), Some(&[f64::INFINITY, 5.0][..]));

        let mut builder = Fleet::builder();
        builder.push(signal).unwrap();
        assert_eq!(builder.push(device("e", 1.0)), Err(FleetError::PartOfSignals { position: 1 }));
        let fleet = builder.build().unwrap();
        assert_eq!((fleet.link(0).snr, fleet.link_mbps()), (10.0, None));
    }

    #[test]
    fn empty_and_repeated_are_refused() {
        assert!(matches!(Fleet::builder().build(), Err(FleetError::NoDevices)));
        let mut builder = Fleet::builder();
        ["a", "b", "a"].iter().for_each(|name| builder.push(device(name, 1.0)).unwrap());
        for wrong in ["", "a\nb", "\0", "\u{1b}[31m", &"x".repeat(257)] {
            assert!(matches!(builder.push(device(wrong, 1.0)), Err(FleetError::BadName { .. })), "{wrong:?}");
        }
        let Err(FleetError::RepeatedName { name, first, second }) = builder.build() else {
            panic!("accepted")
        };
        assert_eq!((name.as_str(), first, second), ("a", 0, 2));
    }
}
