//! The measurements of one device.

use fedflip_fleet::{Decibel, Link};
use serde::{Deserialize, Serialize};

use super::average::{Average, Frequency};
use super::believed::Believed;
use super::bench::Conduct;
use super::link::{LinkEstimate, Upload};
use super::uplink::Uplink;
use super::{AVAILABILITY_MIN, Outcome};
use crate::state::EnrolledDevice;

/// A device's coin makes up for failures to deliver down to this share; a device that delivers less is benched instead.
pub(super) const DELIVERED_MIN: f64 = 0.5;
/// The number of consecutive missed deadlines after which a device counts as too slow.
const MISSES_TO_BELIEVE: u32 = 2;

/// What is known of one device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Measured {
    /// The compute time that the device claimed when it enrolled; it counts only until the first report.
    pub(super) claimed_secs: f64,
    pub(super) compute_secs: Average,
    /// The size of an update with its framing.
    pub(super) payload_mbit: f64,
    /// The rate of the whole bandwidth, if the device had it for itself and its link had no limit.
    pub(super) alone_mbps: f64,
    /// The signal-to-noise ratio of a fleet file, where the band is spectrum.
    snr_db: Option<f64>,
    pub(super) link: LinkEstimate,
    pub(super) download_ratio: Average,
    /// Misses in a row, and the least compute time that follows from them.
    misses: u32,
    overdue_secs: f64,
    pub(super) reached: Frequency,
    reported: Frequency,
    pub(super) conduct: Conduct,
}

impl Measured {
    pub(super) fn compute_secs(&self, claimed_secs_max: f64) -> f64 {
        let secs = self.compute_secs.value().unwrap_or(self.claimed_secs.min(claimed_secs_max));
        if self.misses >= MISSES_TO_BELIEVE { secs.max(self.overdue_secs) } else { secs }
    }

    /// The upload of the device with the whole bandwidth for itself.
    pub(super) fn upload_alone_secs(&self) -> f64 {
        self.payload_mbit / self.link.limit_mbps().unwrap_or(f64::INFINITY).min(self.alone_mbps)
    }

    /// The link as plans, grants and deadlines count it: not slower than the links of others by more than is believed.
    pub(super) fn link(&self, believed: Believed) -> Link {
        let limit_mbps = self.link.limit_mbps().unwrap_or(f64::INFINITY);
        let limit_mbps = limit_mbps.max(self.payload_mbit / believed.upload_secs_max);
        Link { limit_mbps, snr: self.signal().map_or(Link::default().snr, Decibel::factor) }
    }

    pub(super) fn signal(&self) -> Option<Decibel> {
        self.snr_db.and_then(|snr_db| Decibel::new(snr_db).ok())
    }

    pub(super) fn calibrated(&mut self, device: &EnrolledDevice, uplink: &Uplink) {
        self.claimed_secs = device.compute_secs;
        self.payload_mbit = uplink.payload_mbit;
        self.alone_mbps = uplink.alone_mbps(device);
        self.snr_db = uplink.signals.of(&device.name).map(Decibel::get);
        self.link.probed(uplink.probe(device));
    }

    /// Notes the outcome of a grant.
    pub(super) fn granted(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Reported { compute_secs, upload_from_secs, upload, download_ratio } => {
                self.reported.count(true);
                self.report(compute_secs, upload_from_secs, upload);
                if let Some(ratio) = download_ratio {
                    self.download_ratio.observe(ratio);
                }
            }
            Outcome::Missed { waited_secs } => {
                self.reported.count(false);
                self.miss(waited_secs);
            }
            Outcome::CrowdedOut => {}
        }
    }

    /// The share of rounds in which the device can be reached and delivers after it has joined.
    pub(super) fn availability(&self) -> f64 {
        let share = self.reached.share() * self.reported.share().max(DELIVERED_MIN);
        share.clamp(AVAILABILITY_MIN, 1.0)
    }

    fn report(&mut self, took_secs: f64, upload_from_secs: f64, upload: Upload) {
        (self.misses, self.overdue_secs) = (0, 0.0);
        self.conduct.delivered();
        // A device that had to wait was done before it began to send.
        let waited = took_secs <= 1.1 * upload_from_secs + 0.1;
        let compute_secs = match self.compute_secs.value() {
            Some(known) if waited && upload_from_secs > 0.0 => took_secs.min(known),
            None if waited && upload_from_secs > 0.0 => took_secs.min(self.claimed_secs),
            _ => took_secs,
        };
        self.compute_secs.observe(compute_secs);
        self.link.observe(upload, self.alone_mbps);
    }

    fn miss(&mut self, waited_secs: f64) {
        self.misses = self.misses.saturating_add(1);
        if waited_secs.is_finite() {
            self.overdue_secs = self.overdue_secs.max(waited_secs);
        }
        self.conduct.failed(waited_secs);
    }
}
