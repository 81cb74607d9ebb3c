//! What a server knows of each of its devices: for operators, in a file, in the metrics and on the dashboard.

use std::path::Path;
use std::sync::Arc;

use fedflip_record::atomic;
use serde::{Deserialize, Serialize};

use crate::error::NetError;

/// The file in the folder of a run. The server replaces it every few seconds.
pub const DEVICES: &str = "devices.json";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceStatus {
    pub slot: usize,
    pub name: String,
    pub is_connected: bool,
    pub standing: Standing,
    /// The version of the agent; empty if the agent has not told it.
    pub version: String,
    pub samples: f64,
    pub compute_secs: f64,
    /// The load of one upload.
    pub comm_mbit: f64,
    /// The largest rate of its link, if uploads were slower than granted.
    #[serde(default)]
    pub link_mbps: Option<f64>,
    /// The share of rounds in which the device can be reached and delivers.
    pub availability: f64,
    /// The last second of the certificate of the last connection.
    pub certificate_until_unix_secs: Option<i64>,
    /// None if the device has not connected since the server started.
    pub last_seen_unix_secs: Option<i64>,
}

/// Whether a device is part of the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    #[default]
    Active,
    /// The device keeps failing to deliver, and is not asked for a while.
    Benched,
    /// The operator retired the device for good.
    Retired,
    /// The certificate of the device was revoked.
    Revoked,
}

impl Standing {
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Benched => "benched",
            Self::Retired => "retired",
            Self::Revoked => "revoked",
        }
    }

    /// Whether the device has left the run for good.
    pub fn has_left(self) -> bool {
        matches!(self, Self::Retired | Self::Revoked)
    }
}

/// Asks a server for the status of its devices; none if the server is gone.
pub type FleetSource = Arc<dyn Fn() -> Option<FleetStatus> + Send + Sync>;

/// All devices at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FleetStatus {
    pub unix_secs: i64,
    /// In the order of their slots.
    pub devices: Vec<DeviceStatus>,
}

impl FleetStatus {
    pub fn write(&self, folder: &Path) -> Result<(), NetError> {
        let text = serde_json::to_vec(self).unwrap_or_default();
        Ok(atomic::write(&folder.join(DEVICES), &text)?)
    }

    /// The last status that a server has written; none if there is none that can be read.
    pub fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(folder.join(DEVICES)).ok()?).ok()
    }
}
