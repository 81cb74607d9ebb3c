//! Fleets made from device types.
//!
//! The paper names five types with 20 devices each, and prints no times for them. The speeds and link
//! efficiencies here are estimates; `docs/reference/device-types.md` derives them.

use crate::error::FleetError;
use crate::fleet::{DEVICES_MAX, Device, Fleet};
use crate::split::split_samples;
use crate::units::{Decibel, Gflop, GflopPerSec, Mbit, Mbps, OutOfRange, Samples, Secs, plain};

/// A type of device: its training speed, and the part of its bandwidth that carries payload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceType {
    /// The beginning of device names, such as `xiaomi-12s` in `xiaomi-12s-07`.
    pub slug: &'static str,
    /// The sustained training speed in 10⁹ floating-point operations per second.
    pub sustained_gflops: f64,
    /// The payload bits per bit of granted bandwidth.
    pub link_efficiency: f64,
}

/// The five types of the paper's prototype. `docs/reference/device-types.md` gives the source of each number.
pub const PAPER: [DeviceType; 5] = [
    DeviceType { slug: "xiaomi-12s", sustained_gflops: 16.4, link_efficiency: 0.88 },
    DeviceType { slug: "honor-play-6t", sustained_gflops: 7.2, link_efficiency: 0.81 },
    DeviceType { slug: "honor-70", sustained_gflops: 10.2, link_efficiency: 0.88 },
    DeviceType { slug: "macbook-pro-2018", sustained_gflops: 41.3, link_efficiency: 0.91 },
    DeviceType { slug: "teclast-m40", sustained_gflops: 4.3, link_efficiency: 0.81 },
];

impl DeviceType {
    fn compute_secs(&self, work: Gflop) -> Result<Secs, OutOfRange> {
        work.compute_secs(GflopPerSec::new(self.sustained_gflops)?)
    }

    /// Seconds at 1 Mbit/s.
    fn comm_secs(&self, payload: Mbit) -> Result<Secs, OutOfRange> {
        Secs::new(payload.get() / self.link_efficiency)
    }
}

/// Device types, and the payload and work of a round: everything about a fleet except its samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hardware<'a> {
    /// The types. Devices are in blocks by type, all of one size; the first blocks take the remainder.
    pub types: &'a [DeviceType],
    /// The payload that a device uploads in a round.
    pub payload: Mbit,
    /// The work that a device computes in a round, whatever it holds.
    pub work: Gflop,
    /// The work in addition for each sample that the device holds.
    pub sample_work: Gflop,
}

impl Hardware<'_> {
    /// The fleet in which device n holds `samples[n]` samples.
    pub fn fleet(&self, samples: &[u64]) -> Result<Fleet, FleetError> {
        in_blocks(&self.blocks()?, samples, |_| Ok((None, None)))
    }

    pub(crate) fn blocks(&self) -> Result<Vec<Block>, FleetError> {
        let block = |kind: &DeviceType| {
            let (compute_secs, comm_secs) = self.times(kind)?;
            let sample_secs = self.sample_work.get() / kind.sustained_gflops;
            Ok(Block { slug: kind.slug, compute_secs, sample_secs, comm_secs })
        };
        self.types.iter().map(block).collect()
    }

    /// Checks that the times of every type are within range.
    pub fn checked(self) -> Result<Self, FleetError> {
        self.types.iter().try_for_each(|kind| self.times(kind).map(|_| ()))?;
        Ok(self)
    }

    fn times(&self, kind: &DeviceType) -> Result<(Secs, Secs), FleetError> {
        let compute_secs =
            kind.compute_secs(self.work).map_err(|error| too_much("compute_gflop", kind.slug, &error))?;
        let comm_secs =
            kind.comm_secs(self.payload).map_err(|error| too_much("payload_mbit", kind.slug, &error))?;
        Ok((compute_secs, comm_secs))
    }
}

/// Devices of one type: what they have in common.
pub(crate) struct Block {
    pub slug: &'static str,
    pub compute_secs: Secs,
    /// The compute time in addition for each sample of a device.
    pub sample_secs: f64,
    pub comm_secs: Secs,
}

impl Block {
    /// How long a device with these samples computes.
    fn compute_secs_with(&self, samples: Samples) -> Result<Secs, FleetError> {
        Secs::new(self.compute_secs.get() + self.sample_secs * samples.get())
            .map_err(|error| too_much("compute_gflop", self.slug, &error))
    }
}

/// The limit and the signal of a link, as far as they are known.
pub(crate) type LinkColumns = (Option<Mbps>, Option<Decibel>);

/// Devices in blocks of one size; the first blocks take the remainder. `link` has the link of the device at a position.
pub(crate) fn in_blocks(
    blocks: &[Block],
    samples: &[u64],
    link: impl Fn(usize) -> Result<LinkColumns, FleetError>,
) -> Result<Fleet, FleetError> {
    let devices = samples.len();
    if blocks.is_empty() || devices == 0 {
        return Err(FleetError::NoDevices);
    }
    if devices > DEVICES_MAX {
        return Err(FleetError::TooManyDevices);
    }
    let width = (devices.div_ceil(blocks.len()) - 1).to_string().len().max(2);
    let mut builder = Fleet::builder();
    let mut samples = samples.iter();
    for (position, block) in blocks.iter().enumerate() {
        let count = (devices + blocks.len() - 1 - position) / blocks.len();
        for (number, &samples) in (0..count).zip(&mut samples) {
            let name = format!("{}-{number:0width$}", block.slug);
            let samples = Samples::new(samples as f64)
                .map_err(|error| too_much("samples_total", block.slug, &error))?;
            let (link_mbps, snr_db) = link(builder.len())?;
            let compute_secs = block.compute_secs_with(samples)?;
            let device = Device::new(&name, compute_secs, block.comm_secs, samples);
            builder.push(Device { link_mbps, snr_db, ..device })?;
        }
    }
    builder.build()
}

/// The settings of a generated fleet whose samples are drawn at random.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recipe<'a> {
    /// The types, and the payload and work of a round.
    pub hardware: Hardware<'a>,
    /// N: the number of devices.
    pub devices: usize,
    /// |D|: the number of samples of all devices together. Every device gets at least one.
    pub samples_total: u64,
    /// The concentration of the symmetric Dirichlet distribution that splits the samples. Small values give skewed
    /// fleets.
    pub concentration: f64,
    /// The seed of the split.
    pub seed: u64,
}

impl Recipe<'_> {
    /// Generates the fleet. Equal settings give equal fleets.
    pub fn build(&self) -> Result<Fleet, FleetError> {
        let samples = split_samples(self.devices, self.samples_total, self.concentration, self.seed)?;
        self.hardware.fleet(&samples)
    }
}

pub(crate) fn too_much(what: &'static str, slug: &str, error: &OutOfRange) -> FleetError {
    FleetError::Recipe {
        what,
        problem: format!("a {slug} would have {}, which is out of range", plain(error.value)),
        hint: format!("it must be {}", error.wanted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(devices: usize) -> Recipe<'static> {
        let (payload, work) = (Mbit::new(0.7).unwrap(), Gflop::new(0.92).unwrap());
        Recipe {
            hardware: Hardware { types: &PAPER, payload, work, sample_work: Gflop::ZERO },
            devices,
            samples_total: 600 * devices as u64,
            concentration: 0.8,
            seed: 7,
        }
    }

    #[test]
    fn the_papers_fleet_has_twenty_of_each() {
        let fleet = recipe(100).build().unwrap();
        for kind in PAPER {
            assert_eq!(
                (0..100).filter(|&n| fleet.name(n).starts_with(kind.slug)).count(),
                20,
                "{}",
                kind.slug
            );
        }
        assert_eq!(fleet.name(20), "honor-play-6t-00");
        assert_eq!(fleet.samples().iter().sum::<f64>(), 60_000.0);
        assert_eq!(fleet, recipe(100).build().unwrap(), "the same recipe gives the same fleet");
        assert_ne!(fleet, Recipe { seed: 8, ..recipe(100) }.build().unwrap());
    }

    #[test]
    fn any_number_of_devices_is_shared_out() {
        for devices in [1, 2, 4, 5, 6, 7, 99, 1003] {
            assert_eq!(recipe(devices).build().unwrap().len(), devices);
        }
    }

    #[test]
    fn given_samples_stay_where_they_are() {
        let hardware = recipe(7).hardware;
        let counts = [5, 1, 900, 33, 4, 2, 8];
        let fleet = hardware.fleet(&counts).unwrap();
        assert_eq!(fleet.samples(), counts.map(|count| count as f64));
        assert_eq!(fleet.name(2), "honor-play-6t-00");
        assert_eq!(fleet.compute_secs(), recipe(7).build().unwrap().compute_secs());
        assert!(hardware.fleet(&[5, 0]).is_err(), "a device without samples");
        let slow = Hardware { work: Gflop::new(1e9).unwrap(), ..hardware };
        assert!(slow.checked().is_ok(), "the slowest needs 2e8 s");
        let snail = [DeviceType { sustained_gflops: 0.5, ..PAPER[0] }];
        assert!(Hardware { types: &snail, ..slow }.checked().is_err());
    }

    #[test]
    fn work_for_each_sample_makes_compute_times_proportional_to_the_data() {
        let plain = recipe(7).hardware;
        let hardware = Hardware { work: Gflop::ZERO, sample_work: Gflop::new(0.01).unwrap(), ..plain };
        let counts = [5, 1, 900, 33, 4, 2, 8];
        let fleet = hardware.fleet(&counts).unwrap();
        for (n, &count) in counts.iter().enumerate() {
            let kind = PAPER.iter().find(|kind| fleet.name(n).starts_with(kind.slug)).unwrap();
            let secs = 0.01 * count as f64 / kind.sustained_gflops;
            assert!((fleet.compute_secs()[n] / secs - 1.0).abs() < 1e-12);
        }
        let both = Hardware { sample_work: Gflop::new(0.01).unwrap(), ..plain }.fleet(&counts).unwrap();
        let only = plain.fleet(&counts).unwrap();
        for n in 0..counts.len() {
            let sum = fleet.compute_secs()[n] + only.compute_secs()[n];
            assert!((both.compute_secs()[n] / sum - 1.0).abs() < 1e-12);
        }
        let endless = Hardware { sample_work: Gflop::new(1e9).unwrap(), ..plain };
        assert!(endless.fleet(&counts).is_err(), "900 samples take longer than a time can be");
    }

    #[test]
    fn impossible_recipes_are_refused() {
        assert!(Recipe { devices: 0, ..recipe(1) }.build().is_err());
        assert!(Recipe { samples_total: 4, ..recipe(5) }.build().is_err());
        for concentration in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Recipe { concentration, ..recipe(5) }.build().is_err(), "{concentration}");
        }
    }
}
