//! Fleets of device types, as CSV: the text of `fedflip fleet new`.

use fedflip_fleet::profiles::{Profile, ProfileSettings};
use fedflip_fleet::{Mbit, csv_file};
use serde::Serialize;

use crate::question::FleetQuestion;
use crate::refusal::Refusal;

/// The payload of the paper's CNN on MNIST: 21,840 parameters of 32 bit.
const PAYLOAD_MBIT: f64 = 0.7;
/// The samples of a device, on average.
const SAMPLES_PER_DEVICE: u64 = 600;
/// More devices than this are no text to edit.
const DEVICES_MAX: usize = 100_000;

/// The text of a fleet file, which a person may edit in the page.
#[derive(Serialize)]
pub(crate) struct MadeFleet {
    csv: String,
}

impl MadeFleet {
    pub(crate) fn new(question: &FleetQuestion) -> Result<Self, Refusal> {
        let FleetQuestion { devices, seed, .. } = *question;
        if !(1..=DEVICES_MAX).contains(&devices) {
            let problem = format!("{devices} is out of range");
            return Err(Refusal::new("devices", problem, format!("it must be from 1 to {DEVICES_MAX}")));
        }
        let settings = ProfileSettings {
            devices,
            payload: Mbit::new(PAYLOAD_MBIT).map_err(|error| Refusal::of_range("profile", &error))?,
            work: None,
            samples_total: devices as u64 * SAMPLES_PER_DEVICE,
            concentration: None,
            seed,
        };
        let made = Profile::named(&question.profile).and_then(|profile| profile.fleet(&settings));
        let fleet = made.map_err(|error| Refusal::new("profile", error.to_string(), error.hint()))?;
        let mut csv = Vec::new();
        // Writing to memory cannot fail.
        let _ = csv_file::write(&fleet, &mut csv);
        Ok(Self { csv: String::from_utf8_lossy(&csv).into_owned() })
    }
}
