//! The sizes and times of uploads, as far as they are known before any of them.

use fedflip_fleet::Band;

use super::{Offer, Server};
use crate::agent::pace::Pace;
use crate::measure::Uplink;

impl Offer {
    /// The size of one update.
    pub(super) fn update_bytes(&self) -> usize {
        self.encoding.bytes(self.parameters)
    }
}

impl Server {
    /// The time in which a device sends its update at this rate, and the time until its first bytes leave.
    pub(super) fn upload_secs(&self, mbps: f64) -> [f64; 2] {
        let bytes = self.update_bytes as usize;
        let Some(pace) = Pace::new(mbps) else { return [f64::INFINITY, 0.0] };
        [bytes, bytes.min(pace.chunk_bytes())].map(|bytes| pace.leaves_after(bytes).as_secs_f64())
    }

    /// The uploads of all devices before any measurement.
    pub(super) fn uplink(&self, band: Band) -> Uplink {
        let [upload_secs, _] = self.upload_secs(self.probe_mbps);
        let payload_mbit = self.probe_mbps * upload_secs;
        Uplink { payload_mbit, band, probe_mbps: self.probe_mbps, signals: self.signals.clone() }
    }
}
