//! Measurements of devices in rounds: compute times, links, downloads, availability, and whether they deliver; and of the
//! server's own part of a round.
//!
//! Nothing here reads a clock: callers pass measured times. Only the server's own measurements count in full; a device's
//! claims, and the times of a single device, are bounded by the times of the others.

mod average;
mod believed;
mod bench;
mod device;
mod downloads;
mod link;
mod server_times;
#[cfg(test)]
mod tests;
mod uplink;

use fedflip_fleet::bandwidth::Job;
use fedflip_fleet::{Device, Fleet, FleetError, Mbps, Probability, Samples, Secs, Weights};
use serde::{Deserialize, Serialize};

use self::device::Measured;
use self::server_times::ServerTimes;
use crate::state::EnrolledDevice;

pub use self::believed::Believed;
pub use self::bench::BenchChange;
pub use self::link::Upload;
pub(crate) use self::link::is_slow;
pub use self::server_times::RoundTimes;
pub use self::uplink::{Signals, Uplink};

/// The least availability: a device that hardly ever attends may come back.
pub const AVAILABILITY_MIN: f64 = 0.05;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// The device delivered an update that counts.
    Reported {
        /// The time from the moment when it had both its grant and the model to the first byte, and what it waited for the
        /// model beyond the modelled download.
        compute_secs: f64,
        /// The earliest time for the first byte: the device may have been done before.
        upload_from_secs: f64,
        upload: Upload,
        /// The measured time of the download in units of the modelled one, where both are known.
        download_ratio: Option<f64>,
    },
    Missed {
        /// The time that the others waited for the device.
        waited_secs: f64,
    },
    /// The division of the bandwidth left the device too little time: it is not to blame.
    CrowdedOut,
}

/// The measurements of all devices, by slot, and of the server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    devices: Vec<Measured>,
    server: ServerTimes,
}

impl Measures {
    /// Notes the measurements of a device's enrolment.
    pub fn calibrated(&mut self, device: &EnrolledDevice, uplink: &Uplink) {
        if device.slot >= self.devices.len() {
            self.devices.resize_with(device.slot + 1, Measured::default);
        }
        self.devices[device.slot].calibrated(device, uplink);
    }

    /// Notes whether the device answered when a round opened, joining or not.
    pub fn opened(&mut self, slot: usize, answered: bool) {
        if let Some(measured) = self.devices.get_mut(slot) {
            measured.reached.count(answered);
        }
    }

    /// Notes the outcome of a device that had joined.
    pub fn granted(&mut self, slot: usize, outcome: Outcome) {
        if let Some(measured) = self.devices.get_mut(slot) {
            measured.granted(outcome);
        }
    }

    /// Notes the server's part of a round, whose overhead counts up to a bound.
    pub fn round(&mut self, times: RoundTimes, secs_max: f64) {
        self.server.observe(times, secs_max);
    }

    /// Lets the limits of links rise a little at the end of a round: a device that is hardly ever asked, because its link
    /// seems slow, would never show that it is not.
    pub fn age_limits(&mut self) {
        self.devices.iter_mut().for_each(|measured| measured.link.age(measured.alone_mbps));
    }

    /// The server's overhead of a mean round, of which the given share is evaluated; none before the first round.
    pub fn overhead_secs(&self, evaluated_share: f64) -> Option<f64> {
        self.server.overhead_secs(evaluated_share)
    }

    /// The time of downloads in units of the modelled time, within bounds: the median over devices, so that no few of them
    /// decide. None before enough devices have downloaded.
    pub fn download_ratio(&self) -> Option<f64> {
        let ratios = self.devices.iter().filter_map(|measured| measured.download_ratio.value());
        downloads::ratio(ratios.collect())
    }

    /// Benches devices that keep failing to deliver, and lets devices return whose pause is over.
    pub fn review(&mut self, now_secs: f64) -> BenchChange {
        bench::review(self.devices.iter_mut().map(|measured| &mut measured.conduct), now_secs)
    }

    /// Ends the pause of a benched device at once, because too few others attend. Returns whether it was benched.
    pub fn recall(&mut self, slot: usize) -> bool {
        self.devices.get_mut(slot).is_some_and(|measured| measured.conduct.recall())
    }

    /// Whether a device is not asked at the moment.
    pub fn is_benched(&self, slot: usize) -> bool {
        self.devices.get(slot).is_some_and(|measured| measured.conduct.is_benched())
    }

    /// The share of rounds in which the device can be reached and delivers after it has joined: exactly 1 while it has missed
    /// nothing, and never 0.
    pub fn availability(&self, slot: usize) -> f64 {
        self.devices.get(slot).map_or(1.0, Measured::availability)
    }

    /// The number of devices with measurements.
    pub fn len(&self) -> usize {
        self.devices.len()
    }

    pub fn is_empty(&self) -> bool {
        self.devices.is_empty()
    }

    /// The bounds on the numbers of a single device, by the measurements of the others.
    pub fn believed(&self) -> Believed {
        let reported = self.devices.iter().filter_map(|measured| measured.compute_secs.value());
        let claimed = self.devices.iter().map(|measured| measured.claimed_secs);
        let uploads = self.devices.iter().map(Measured::upload_alone_secs).filter(|secs| secs.is_finite());
        Believed::beside(reported.collect(), claimed.collect(), uploads.collect())
    }

    /// A device's job as the automatic deadline counts it: by reports only, once there are any.
    pub fn deadline_job(&self, slot: usize, believed: Believed) -> Job {
        let measured = self.devices.get(slot);
        let reported_secs = measured.and_then(|measured| measured.compute_secs.value());
        let claimed_secs = measured.map_or(0.0, |measured| measured.claimed_secs);
        let compute_secs = believed.deadline_secs(reported_secs, claimed_secs);
        Job { compute_secs, ..self.job(slot, believed) }
    }

    /// A device's expected job in a round.
    pub fn job(&self, slot: usize, believed: Believed) -> Job {
        let Some(measured) = self.devices.get(slot) else { return Job::new(0.0, 0.0) };
        let compute_secs = measured.compute_secs(believed.compute_secs_max);
        Job { compute_secs, load_mbit: measured.payload_mbit, link: measured.link(believed) }
    }

    /// The measured fleet, for the planner; `devices` are in the order of their slots, and all of them are calibrated. The
    /// weights stand where a fleet has sample counts.
    pub fn fleet(&self, devices: &[EnrolledDevice], weights: &Weights) -> Result<Fleet, FleetError> {
        let believed = self.believed();
        let mut builder = Fleet::builder();
        for device in devices {
            let job = self.job(device.slot, believed);
            let refuse = |what, wanted: &str| FleetError::Recipe {
                what,
                problem: format!("{} has no value that a plan can use", device.name),
                hint: format!("it must be {wanted}"),
            };
            let weight = weights.of(&device.name, device.samples);
            let weight = weight.ok_or_else(|| weights.without(&device.name))?;
            builder.push(Device {
                name: &device.name,
                compute_secs: time(job.compute_secs).ok_or_else(|| refuse("compute_secs", Secs::WANTED))?,
                comm_secs: time(job.load_mbit).ok_or_else(|| refuse("comm_secs", Secs::WANTED))?,
                samples: Samples::new(weight).map_err(|_| refuse("samples", Samples::WANTED))?,
                availability: Probability::new(self.availability(device.slot))
                    .map_err(|_| refuse("availability", Probability::WANTED))?,
                link_mbps: Mbps::new(job.link.limit_mbps).ok(),
                snr_db: self.devices.get(device.slot).and_then(Measured::signal),
            })?;
        }
        builder.build()
    }
}

/// A time that a fleet can hold; a time below a nanosecond is 0.
fn time(secs: f64) -> Option<Secs> {
    Secs::new(if secs < 1e-9 { 0.0 } else { secs }).ok().filter(|_| secs >= 0.0)
}
