//! The status of all devices, for operators.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls_pki_types::UnixTime;
use tokio::time::Instant;
use tracing::debug;

use super::Server;
use super::hub::{Hub, ServerState};
use super::member::Condition;
use crate::measure::Measures;
use crate::status::{DeviceStatus, FleetSource, FleetStatus};

/// The file of a small fleet is written this often; one of a thousand devices half as often.
const WRITE_EVERY: Duration = Duration::from_secs(5);

impl Hub {
    /// Asks for the status of all devices, as long as the server runs.
    pub(crate) fn fleet_source(self: &Arc<Self>) -> FleetSource {
        let hub = Arc::downgrade(self);
        Arc::new(move || hub.upgrade().map(|hub| hub.fleet_status()))
    }

    pub(crate) fn fleet_status(&self) -> FleetStatus {
        let unix_secs = i64::try_from(UnixTime::now().as_secs()).unwrap_or(i64::MAX);
        let state = self.state();
        let devices = (0..state.members.len()).map(|slot| status(&state, slot, unix_secs)).collect();
        FleetStatus { unix_secs, devices }
    }
}

fn status(state: &ServerState, slot: usize, now_unix_secs: i64) -> DeviceStatus {
    let member = &state.members[slot];
    let Condition { availability, compute_secs, comm_mbit, link_mbps, is_benched } = member.condition;
    let away_secs = i64::try_from(member.absent_since.elapsed().as_secs()).unwrap_or(0);
    let last_seen_unix_secs = match member.link {
        Some(_) => now_unix_secs,
        None => now_unix_secs.saturating_sub(away_secs),
    };
    DeviceStatus {
        slot,
        name: member.device.name.clone(),
        is_connected: member.link.is_some(),
        standing: state.standing(slot, is_benched),
        version: member.about.version.clone(),
        samples: member.device.samples,
        compute_secs,
        comm_mbit,
        link_mbps,
        availability,
        certificate_until_unix_secs: member.about.certificate_until_unix_secs,
        last_seen_unix_secs: member.has_attended.then_some(last_seen_unix_secs),
    }
}

fn write(status: &FleetStatus, folder: &Path) {
    if let Err(error) = status.write(folder) {
        // The run does not depend on this file.
        debug!(%error, "the status of the devices cannot be written");
    }
}

impl Server {
    /// Asks for the status of all devices, as long as the server runs.
    pub fn fleet_source(&self) -> FleetSource {
        self.hub.fleet_source()
    }

    /// Takes over the measurements of a round.
    pub(super) fn note_conditions(&self, measures: &Measures) {
        let believed = measures.believed();
        let mut state = self.hub.state();
        for (slot, member) in state.members.iter_mut().enumerate().take(measures.len()) {
            let job = measures.job(slot, believed);
            member.condition = Condition {
                availability: measures.availability(slot),
                compute_secs: job.compute_secs,
                comm_mbit: job.load_mbit,
                link_mbps: Some(job.link.limit_mbps).filter(|limit_mbps| limit_mbps.is_finite()),
                is_benched: measures.is_benched(slot),
            };
        }
    }

    /// Writes the status of all devices into the folder of the run, every few seconds.
    pub(super) fn write_device_status(&self, folder: &Path) {
        let devices = {
            let mut state = self.hub.state();
            let every = WRITE_EVERY.mul_f64(1.0 + state.members.len() as f64 / 1000.0);
            if state.shown.is_some_and(|shown| shown.elapsed() < every) {
                return;
            }
            state.shown = Some(Instant::now());
            state.members.len()
        };
        if devices > 0 {
            write(&self.hub.fleet_status(), folder);
        }
    }

    /// Writes the status once more when the server ends: no device is connected any longer.
    pub fn write_last_device_status(&self, folder: &Path) {
        let mut status = self.hub.fleet_status();
        status.devices.iter_mut().for_each(|device| device.is_connected = false);
        if !status.devices.is_empty() {
            write(&status, folder);
        }
    }
}
