//! Named kinds of fleets: device types with their compute times and their links.
//!
//! The figures of `paper-calibrated` are inferred from the paper's results, not measured
//! (`experiments/calibration`). `docs/reference/device-types.md` has the source of every figure.

use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::nearest::nearest;
use crate::profile::{Block, DeviceType, Hardware, PAPER, in_blocks, too_much};
use crate::radio::{LTE, NB_IOT, Radio, WIFI};
use crate::split::split_samples;
use crate::units::{Gflop, Mbit, Secs};

/// A named kind of fleet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// The name on the command line.
    pub name: &'static str,
    /// One sentence for people.
    pub about: &'static str,
    /// The concentration of the Dirichlet distribution that splits the samples, unless another one is given.
    pub concentration: f64,
    compute: Compute,
    radio: Option<Radio>,
}

/// What compute and upload times follow from.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Compute {
    /// The work of a round, the payload, and the figures of each type.
    Types(&'static [DeviceType]),
    /// For each type the compute time in units of the time that an upload takes at 100 Mbit/s.
    Uploads(&'static [(&'static str, f64)]),
}

/// Every profile; the first one is the default.
pub const PROFILES: &[Profile] = &[
    Profile {
        name: "paper",
        about: "The five device types of the paper, with estimated speeds and link efficiencies",
        concentration: 0.8,
        compute: Compute::Types(&PAPER),
        radio: None,
    },
    Profile {
        name: "paper-calibrated",
        about: "The same types with compute times inferred from the paper's results, not measured",
        // Ten labels, each split by Dirichlet(0.8), give sizes about as even as Dirichlet(8) does.
        concentration: 8.0,
        compute: Compute::Uploads(&CALIBRATED),
        radio: None,
    },
    Profile {
        name: "wifi",
        about: "The same types on Wi-Fi 5: links of 84 to 279 Mbit/s, a spread of 3",
        concentration: 0.8,
        compute: Compute::Types(&PAPER),
        radio: Some(WIFI),
    },
    Profile {
        name: "4g",
        about: "Phones and tablets on LTE: links of 5.4 to 51 Mbit/s, a spread of 9",
        concentration: 0.8,
        compute: Compute::Types(&ON_LTE),
        radio: Some(LTE),
    },
    Profile {
        name: "nb-iot",
        about: "Slow devices on NB-IoT: links of 1.9 to 62.5 kbit/s, a spread of 33",
        concentration: 0.8,
        compute: Compute::Types(&ON_NB_IOT),
        radio: Some(NB_IOT),
    },
];

/// Inferred by `experiments/calibration`. The inference cannot tell types apart: the slowest types of `PAPER` have the
/// longest times here.
const CALIBRATED: [(&str, f64); 5] = [
    ("xiaomi-12s", 0.05),
    ("honor-play-6t", 10.7),
    ("honor-70", 0.05),
    ("macbook-pro-2018", 0.05),
    ("teclast-m40", 54.0),
];
const CALIBRATED_AT_MBPS: f64 = 100.0;

const ON_LTE: [DeviceType; 4] =
    [cellular(PAPER[0]), cellular(PAPER[1]), cellular(PAPER[2]), cellular(PAPER[4])];
const ON_NB_IOT: [DeviceType; 2] = [cellular(PAPER[1]), cellular(PAPER[4])];

/// A first transmission in ten is lost, and framing takes 4.5 % of the rest.
const fn cellular(kind: DeviceType) -> DeviceType {
    DeviceType { link_efficiency: 0.86, ..kind }
}

/// 10 batches of 32 images through the CNN.
const WORK_GFLOP: f64 = 0.92;

/// The settings of a fleet that is made from a profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProfileSettings {
    /// N: the number of devices.
    pub devices: usize,
    /// The payload that a device uploads in a round.
    pub payload: Mbit,
    /// The work of a round; without it, that of the CNN on MNIST. A profile with fixed compute times refuses it.
    pub work: Option<Gflop>,
    /// |D|: the number of samples of all devices together.
    pub samples_total: u64,
    /// The concentration of the split; without it, that of the profile.
    pub concentration: Option<f64>,
    /// The seed of samples and links.
    pub seed: u64,
}

impl Profile {
    /// The profile with this name.
    pub fn named(name: &str) -> Result<&'static Self, FleetError> {
        PROFILES.iter().find(|profile| profile.name == name).ok_or_else(|| {
            let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
            FleetError::Recipe {
                what: "profile",
                problem: format!("{name:?} is not a profile"),
                hint: match nearest(name, &names) {
                    Some(meant) => format!("did you mean {meant}?"),
                    None => format!("it must be one of {}", names.join(", ")),
                },
            }
        })
    }

    /// The links of the devices, if they have limits of their own.
    pub fn radio(&self) -> Option<&Radio> {
        self.radio.as_ref()
    }

    /// Makes a fleet. Equal settings give equal fleets.
    pub fn fleet(&self, settings: &ProfileSettings) -> Result<Fleet, FleetError> {
        let ProfileSettings { devices, samples_total, seed, .. } = *settings;
        let concentration = settings.concentration.unwrap_or(self.concentration);
        let blocks = self.blocks(settings)?;
        let samples = split_samples(devices, samples_total, concentration, seed)?;
        in_blocks(&blocks, &samples, |position| match &self.radio {
            Some(radio) => radio.draw(seed, position),
            None => Ok((None, None)),
        })
    }

    fn blocks(&self, settings: &ProfileSettings) -> Result<Vec<Block>, FleetError> {
        let payload = settings.payload;
        match self.compute {
            Compute::Types(types) => {
                let work = match settings.work {
                    Some(work) => work,
                    None => Gflop::new(WORK_GFLOP)
                        .map_err(|error| too_much("compute_gflop", self.name, &error))?,
                };
                Hardware { types, payload, work, sample_work: Gflop::ZERO }.blocks()
            }
            Compute::Uploads(_) if settings.work.is_some() => Err(FleetError::Recipe {
                what: "compute_gflop",
                problem: format!("the profile {} fixes the compute times by the payload", self.name),
                hint: "leave it out, or choose the profile paper".to_owned(),
            }),
            Compute::Uploads(types) => {
                let secs = |slug: &str, secs: f64| {
                    Secs::new(secs).map_err(|error| too_much("payload_mbit", slug, &error))
                };
                let block = |&(slug, uploads): &(&'static str, f64)| {
                    let compute_secs = secs(slug, uploads * payload.get() / CALIBRATED_AT_MBPS)?;
                    Ok(Block { slug, compute_secs, sample_secs: 0.0, comm_secs: secs(slug, payload.get())? })
                };
                types.iter().map(block).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::type_of;
    use crate::profile::Recipe;

    fn settings(devices: usize) -> ProfileSettings {
        ProfileSettings {
            devices,
            payload: Mbit::new(0.7).unwrap(),
            work: None,
            samples_total: 600 * devices as u64,
            concentration: None,
            seed: 7,
        }
    }

    fn profile(name: &str) -> &'static Profile {
        Profile::named(name).unwrap()
    }

    #[test]
    fn the_default_profile_is_the_papers_recipe() {
        let hardware = Hardware {
            types: &PAPER,
            payload: settings(1).payload,
            work: Gflop::new(0.92).unwrap(),
            sample_work: Gflop::ZERO,
        };
        let recipe = Recipe { hardware, devices: 100, samples_total: 60_000, concentration: 0.8, seed: 7 };
        assert_eq!(PROFILES[0].name, "paper");
        assert_eq!(PROFILES[0].fleet(&settings(100)), recipe.build());
    }

    #[test]
    fn equal_settings_give_equal_fleets_and_other_seeds_others() {
        for profile in PROFILES {
            let fleet = profile.fleet(&settings(50)).unwrap();
            assert_eq!(fleet, profile.fleet(&settings(50)).unwrap(), "{}", profile.name);
            let other = profile.fleet(&ProfileSettings { seed: 8, ..settings(50) }).unwrap();
            assert_ne!(fleet.samples(), other.samples(), "{}", profile.name);
            assert_eq!(fleet.snr_db() == other.snr_db(), profile.radio().is_none(), "{}", profile.name);
            for devices in [1, 2, 3, 7] {
                assert_eq!(profile.fleet(&settings(devices)).unwrap().len(), devices, "{}", profile.name);
            }
        }
    }

    #[test]
    fn links_do_not_depend_on_the_size_of_the_fleet() {
        for profile in PROFILES.iter().filter(|profile| profile.radio().is_some()) {
            let (small, large) =
                (profile.fleet(&settings(30)).unwrap(), profile.fleet(&settings(300)).unwrap());
            assert_eq!(small.snr_db().unwrap(), &large.snr_db().unwrap()[..30], "{}", profile.name);
            assert_eq!(small.link_mbps().unwrap(), &large.link_mbps().unwrap()[..30], "{}", profile.name);
        }
    }

    #[test]
    fn links_spread_as_documented() {
        for (name, spread) in [("wifi", 3.3), ("4g", 9.4), ("nb-iot", 32.8)] {
            let fleet = profile(name).fleet(&settings(1000)).unwrap();
            let limits = fleet.link_mbps().unwrap();
            let (least, most) =
                limits.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), &x| (least.min(x), most.max(x)));
            assert!((most / least - spread).abs() < 0.05, "{name}: {}", most / least);
        }
        assert!(profile("paper").fleet(&settings(5)).unwrap().link_mbps().is_none());
    }

    #[test]
    fn calibrated_compute_times_are_in_units_of_the_upload() {
        let fleet = profile("paper-calibrated").fleet(&settings(100)).unwrap();
        for n in 0..100 {
            let ratio = fleet.compute_secs()[n] / (fleet.comm_secs()[n] / 100.0);
            let expected = match type_of(fleet.name(n)) {
                "teclast-m40" => 54.0,
                "honor-play-6t" => 10.7,
                _ => 0.05,
            };
            assert!((ratio / expected - 1.0).abs() < 1e-12, "{}: {ratio}", fleet.name(n));
        }
        let names = |types: &[(&'static str, f64)]| types.iter().map(|kind| kind.0).collect::<Vec<_>>();
        assert_eq!(names(&CALIBRATED), PAPER.map(|kind| kind.slug), "the same types in the same order");
    }

    #[test]
    fn contradictions_and_unknown_names_are_refused() {
        let work = Gflop::new(0.92).ok();
        let error = profile("paper-calibrated").fleet(&ProfileSettings { work, ..settings(5) }).unwrap_err();
        assert!(error.to_string().contains("paper-calibrated fixes the compute times"), "{error}");
        assert_eq!(Profile::named("nbiot").unwrap_err().hint(), "did you mean nb-iot?");
        assert!(Profile::named("zzz").unwrap_err().hint().contains("wifi, 4g, nb-iot"));
    }
}
