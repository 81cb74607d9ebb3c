//! What a round costs besides computing: the settings, and the model that planner and simulator share.

use fedflip_fleet::{Band, Downlink, Download, Mbit, Mbps, Mhz, RoundCosts, Secs};
use fedflip_learn::Encoding;
use fedflip_record::costs::DownlinkMode;

use super::error::{KeyError, Place, Refusal};
use super::resolve::Keys;
use super::{FleetSource, Scenario, Update, defaults};
use crate::error::ScenarioError;

/// What rounds cost. By default, as in the paper, only uploads over a linear bandwidth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostSettings {
    /// The time that every round takes in addition, empty ones included.
    pub overhead: Secs,
    /// The overhead that plans are made for, if it is not that of the rounds. 0 is the paper as printed.
    pub planned_overhead: Option<Secs>,
    pub radio: Radio,
    /// The spectrum of the radio `shannon`.
    pub spectrum: Option<Mhz>,
    /// How devices get the model; none costs nothing.
    pub downlink: Option<DownlinkMode>,
    /// The bandwidth of downloads. It follows that of uploads unless it is given.
    pub download_bandwidth: Mbps,
    pub download_encoding: Encoding,
    /// The size of a download. It follows from the model and its encoding unless it is given.
    pub download: Mbit,
    /// The size of an upload on a link without losses, which `download` is compared with.
    pub(super) upload: Mbit,
}

impl CostSettings {
    /// The paper's costs, for a model of this size and a bandwidth.
    pub(super) fn paper(model: Mbit, bandwidth: Mbps) -> Result<Self, ScenarioError> {
        Ok(Self {
            overhead: Secs::new(0.0).map_err(ScenarioError::out_of_range("round.overhead_secs"))?,
            planned_overhead: None,
            radio: Radio::Linear,
            spectrum: None,
            downlink: None,
            download_bandwidth: bandwidth,
            download_encoding: Encoding::default(),
            download: model,
            upload: model,
        })
    }
}

/// How the rate of a device depends on its part of the bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Radio {
    /// The part is a rate, as in the paper.
    Linear,
    /// The part is spectrum, and the rate follows from the signal-to-noise ratio.
    Shannon,
}

impl Scenario {
    /// What a round costs.
    pub fn round_costs(&self) -> RoundCosts {
        let costs = &self.costs;
        let band = match (costs.radio, costs.spectrum) {
            (Radio::Shannon, Some(spectrum)) => Band::Shannon(spectrum),
            _ => Band::Linear(self.bandwidth),
        };
        let download = Download {
            bandwidth: costs.download_bandwidth,
            per_upload: costs.download.get() / costs.upload.get().max(f64::MIN_POSITIVE),
        };
        let downlink = costs.downlink.map_or(Downlink::None, |mode| mode.downlink(download));
        RoundCosts { band, downlink, overhead_secs: costs.overhead.get() }
    }

    /// The encoding in which devices get the model. Where downloads cost nothing, nothing is encoded.
    pub fn download_encoding(&self) -> Encoding {
        self.costs.downlink.map_or(Encoding::default(), |_| self.costs.download_encoding)
    }

    /// The costs that plans are made for.
    pub fn planned_costs(&self) -> RoundCosts {
        let costs = self.round_costs();
        self.costs.planned_overhead.map_or(costs, |overhead| costs.with_overhead(overhead))
    }
}

/// Sizes of transfers follow from other values unless they are given.
pub(super) fn follow(scenario: &mut Scenario, given: &Keys<'_>) -> Result<(), ScenarioError> {
    // It was checked before.
    let external = scenario.external().ok().flatten();
    let size = |encoding| defaults::payload(scenario.task, external.as_ref(), Update { encoding });
    let upload = match &scenario.fleet {
        FleetSource::Generated(fleet) => fleet.payload,
        FleetSource::File { .. } => size(scenario.update.encoding)?,
    };
    let model = size(scenario.costs.download_encoding)?;
    scenario.costs.upload = upload;
    if !given.has("downlink", "bandwidth_mbps") {
        scenario.costs.download_bandwidth = scenario.bandwidth;
    }
    if !given.has("downlink", "payload_mbit") {
        scenario.costs.download = model;
    }
    Ok(())
}

/// A band of spectrum needs its width and the signals of the devices.
pub(super) fn check(scenario: &Scenario, given: &Keys<'_>, whole_file: &Place) -> Result<(), KeyError> {
    let refuse = |problem: &str, hint: &str| {
        let refusal = Refusal { problem: problem.to_owned(), hint: hint.to_owned() };
        Err(refusal.at(given.place("fleet", "radio", whole_file), "fleet.radio"))
    };
    if scenario.costs.radio == Radio::Linear {
        return Ok(());
    }
    if scenario.costs.spectrum.is_none() {
        return refuse("\"shannon\" needs the width of the spectrum", "set fleet.spectrum_mhz");
    }
    let has_signals = match &scenario.fleet {
        FleetSource::Generated(_) => false,
        FleetSource::File { fleet, .. } => fleet.snr_db().is_some(),
    };
    if !has_signals {
        return refuse(
            "\"shannon\" needs the signal-to-noise ratio of every device",
            "name a fleet file with a column snr_db in fleet.file",
        );
    }
    Ok(())
}
