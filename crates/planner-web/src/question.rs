//! What a page can ask.

use serde::Deserialize;

/// A question of the page, by its key `ask`.
#[derive(Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Question {
    /// What can be chosen: schemes, profiles, limits.
    Catalogue,
    /// A fleet of device types.
    Fleet(FleetQuestion),
    /// A plan for a fleet.
    Plan(PlanQuestion),
}

/// The settings of `fedflip fleet new`; those left out have the same defaults.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FleetQuestion {
    pub(crate) profile: String,
    pub(crate) devices: usize,
    #[serde(default)]
    pub(crate) seed: u64,
}

/// The settings of `fedflip plan`. A number that the page has no value for is null.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanQuestion {
    /// The text of a fleet file.
    pub(crate) fleet: String,
    pub(crate) bandwidth_mbps: Option<f64>,
    pub(crate) overhead_secs: Option<f64>,
    pub(crate) scheme: String,
    pub(crate) variance: Option<f64>,
    pub(crate) alpha: Option<f64>,
    pub(crate) beta: Option<f64>,
    #[serde(default)]
    pub(crate) seed: u64,
    /// Cohorts drawn for the mean round time; by default as many as `fedflip plan` draws.
    #[serde(default)]
    pub(crate) draws: Option<u64>,
    /// Whether the answer lists every device; a comparison of schemes does not need them.
    #[serde(default)]
    pub(crate) with_devices: bool,
}
