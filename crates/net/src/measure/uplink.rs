//! What the server knows of uploads before it has seen any: their size, the bandwidth, and the signals of a fleet file.

use std::collections::BTreeMap;
use std::sync::Arc;

use fedflip_fleet::{Band, Decibel, Fleet, Link};

use super::link::Upload;
use crate::state::EnrolledDevice;

/// The signal-to-noise ratios of devices by name, which only a band of spectrum needs. The server cannot measure them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signals(Option<Arc<BTreeMap<String, Decibel>>>);

impl Signals {
    /// Those of a fleet file; the same as none if the file has no such column.
    pub fn of_fleet(fleet: &Fleet) -> Self {
        let by_name = |column: &[f64]| {
            let named = column.iter().enumerate();
            let named = named.filter_map(|(n, db)| Some((fleet.name(n).to_owned(), Decibel::new(*db).ok()?)));
            Arc::new(named.collect())
        };
        Self(fleet.snr_db().map(by_name))
    }

    /// Whether the device may enrol: the file names it, or there is no file.
    pub fn allows(&self, device: &str) -> bool {
        self.0.as_ref().is_none_or(|signals| signals.contains_key(device))
    }

    /// The signal of a device; none if there is no file, or it does not name the device.
    pub fn of(&self, device: &str) -> Option<Decibel> {
        self.0.as_ref()?.get(device).copied()
    }
}

/// The uploads of a run.
#[derive(Clone, Debug)]
pub struct Uplink {
    /// The size of an update with its framing.
    pub payload_mbit: f64,
    /// The bandwidth that devices share.
    pub band: Band,
    /// The rate of timed transfers.
    pub probe_mbps: f64,
    pub signals: Signals,
}

impl Uplink {
    /// The rate of a device that has the whole bandwidth for itself.
    pub(super) fn alone_mbps(&self, device: &EnrolledDevice) -> f64 {
        self.band.alone_mbps(Link::new(None, self.signals.of(&device.name)))
    }

    /// The timed transfer of a device, scaled to the size of an update.
    pub(super) fn probe(&self, device: &EnrolledDevice) -> Upload {
        let mbps = self.probe_mbps.min(self.alone_mbps(device));
        let [granted_secs, secs] = [self.payload_mbit / mbps, device.comm_mbit / self.probe_mbps];
        Upload { mbps, granted_secs, secs }
    }
}
