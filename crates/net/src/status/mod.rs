//! How a server is doing, for those who run it: numbers and health over HTTP.
//!
//! # Layout
//!
//! - [`instrument`]: what a number is kept in: counters, gauges, histograms.
//! - [`reason`]: why something was refused, as closed lists: no peer's text ever becomes a label.
//! - [`metrics`]: every number of a server, and its text for Prometheus.
//! - [`devices`]: the status of each device; [`device_metrics`]: their metrics.
//! - [`health`]: whether it takes part in rounds, and if not, why.
//! - [`server`]: both over HTTP.

pub mod device_metrics;
pub mod devices;
pub mod health;
pub mod instrument;
pub mod metrics;
pub mod reason;
pub mod server;

pub use devices::{DEVICES, DeviceStatus, FleetSource, FleetStatus, Standing};
pub use health::{Health, Readiness};
pub use metrics::Metrics;
pub use reason::ConnectionRefusal;
pub use server::{Reach, StatusServer};
