//! The task and the fleet as devices are told.

use std::sync::Arc;

use fedflip_fleet::Band;
use fedflip_net::agent::OfferedTask;
use fedflip_net::measure::Signals;
use fedflip_net::server::{FleetCapacity, NormBound, Offer};
use fedflip_scenario::{FleetSource, Scenario, Where};

use super::host::Host;
use crate::error::RunError;

/// The task as devices are told.
pub fn offered(scenario: &Scenario) -> Result<OfferedTask, RunError> {
    Ok(match scenario.external()? {
        Some(task) => OfferedTask::External(task),
        None => OfferedTask::BuiltIn(scenario.task_settings()),
    })
}

/// The rate of timed transfers, and the signals that a fleet file gives devices where the band is spectrum. One device has
/// the whole band for its transfer, at the rate of the best signal.
pub fn band(scenario: &Scenario) -> (f64, Signals) {
    let band = scenario.round_costs().band;
    match (&scenario.fleet, band) {
        (FleetSource::File { fleet, .. }, Band::Shannon(_)) => {
            let rates = (0..fleet.len()).map(|device| band.alone_mbps(fleet.link(device)));
            (rates.fold(f64::MIN_POSITIVE, f64::max), Signals::of_fleet(fleet))
        }
        _ => (scenario.bandwidth.get(), Signals::default()),
    }
}

/// The number of shares of the data set; none where devices have data of their own.
pub(super) fn shares(scenario: &Scenario) -> Option<usize> {
    let bring_data = scenario.task.is_external() || scenario.data.own.place == Where::Devices;
    (!bring_data).then(|| scenario.devices())
}

/// An offer for a rehearsal: no update is small enough, and no device has few enough samples.
pub(super) fn rehearsed(scenario: &Scenario) -> Result<Offer, RunError> {
    let (task, devices) = (offered(scenario)?, scenario.devices());
    let (bandwidth_mbps, signals) = band(scenario);
    Ok(Offer {
        task,
        seed: scenario.seed,
        parameters: 0,
        samples: Arc::default(),
        samples_max: 0,
        weights: scenario.data.weights.clone(),
        bandwidth_mbps,
        encoding: scenario.update.encoding,
        download_encoding: scenario.download_encoding(),
        signals,
        update_norm: NormBound::Configured(0.0),
        capacity: FleetCapacity { devices_max: devices, slots_max: shares(scenario) },
    })
}

/// What devices are told, with the server's part of the task.
pub(super) fn offer(
    scenario: &Scenario,
    host: &Host,
    update_norm: NormBound,
    (samples_max, capacity): (u64, FleetCapacity),
) -> Result<Offer, RunError> {
    let (parameters, samples) = (host.parameters(), host.samples());
    Ok(Offer { parameters, samples, samples_max, update_norm, capacity, ..rehearsed(scenario)? })
}
