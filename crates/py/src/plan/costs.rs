//! What a round costs, from arguments.

use fedflip_fleet::{
    Band, Downlink, Download, Fleet, Mbps, Mhz, OutOfRange, RoundCosts, Secs, did_you_mean, units::plain,
};
use fedflip_record::costs::DownlinkMode;
use pyo3::prelude::*;

use crate::error::Failure;

/// The arguments about the costs of a round.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct CostArguments {
    bandwidth_mbps: Option<f64>,
    spectrum_mhz: Option<f64>,
    overhead_secs: f64,
    downlink: String,
    downlink_bandwidth_mbps: Option<f64>,
    downlink_ratio: f64,
}

impl CostArguments {
    /// The costs of a round; none if neither a bandwidth nor a spectrum is given, which only some callers allow.
    pub(crate) fn costs(&self, py: Python<'_>, fleet: &Fleet) -> Result<Option<RoundCosts>, Failure> {
        let overhead = Secs::new(self.overhead_secs).map_err(out_of_range(py, "overhead_secs"))?;
        let Some(band) = band(py, self.bandwidth_mbps, self.spectrum_mhz, fleet)? else { return Ok(None) };
        let downlink = self.downlink(py, band)?;
        Ok(Some(RoundCosts::from(band).with_overhead(overhead).with_downlink(downlink)))
    }

    fn downlink(&self, py: Python<'_>, band: Band) -> Result<Downlink, Failure> {
        let modes = DownlinkMode::NAMES;
        let Some((_, mode)) = modes.iter().find(|(name, _)| *name == self.downlink) else {
            let names = modes.map(|(name, _)| name);
            let remedy =
                did_you_mean(&self.downlink, names, || format!("the modes are {}", names.join(", ")));
            let problem = format!("downlink: there is no mode {:?}", self.downlink);
            return Err(Failure::input(problem, remedy).at("downlink").of(py, &self.downlink));
        };
        let bandwidth = match (mode, self.downlink_bandwidth_mbps, band) {
            (None, Some(mbps), _) => {
                let problem = "downlink_bandwidth_mbps: downloads cost nothing without downlink";
                let remedy = "add downlink=\"broadcast\" or downlink=\"unicast\"";
                return Err(Failure::input(problem, remedy).at("downlink_bandwidth_mbps").of(py, mbps));
            }
            (None, None, _) => return Ok(Downlink::None),
            (Some(_), Some(mbps), _) => {
                Mbps::new(mbps).map_err(out_of_range(py, "downlink_bandwidth_mbps"))?
            }
            (Some(_), None, Band::Linear(bandwidth)) => bandwidth,
            (Some(_), None, Band::Shannon(_)) => {
                let problem = "downlink: the bandwidth of downloads is not known";
                let remedy = "add downlink_bandwidth_mbps, since spectrum_mhz is for uploads";
                return Err(Failure::input(problem, remedy).at("downlink_bandwidth_mbps"));
            }
        };
        let per_upload =
            in_range(py, "downlink_ratio", self.downlink_ratio, 0.0..=1e6, "a number from 0 to 1e6")?;
        Ok(mode.map_or(Downlink::None, |mode| mode.downlink(Download { bandwidth, per_upload })))
    }
}

/// The bandwidth that devices share; none if neither argument is given.
pub(crate) fn band(
    py: Python<'_>,
    bandwidth_mbps: Option<f64>,
    spectrum_mhz: Option<f64>,
    fleet: &Fleet,
) -> Result<Option<Band>, Failure> {
    match (bandwidth_mbps, spectrum_mhz) {
        (None, None) => Ok(None),
        (Some(mbps), None) => {
            Ok(Some(Band::Linear(Mbps::new(mbps).map_err(out_of_range(py, "bandwidth_mbps"))?)))
        }
        (None, Some(_)) if fleet.snr_db().is_none() => {
            let problem = "spectrum_mhz: the fleet has no column snr_db";
            let remedy = "add the signal-to-noise ratio of every device, or use bandwidth_mbps";
            Err(Failure::input(problem, remedy).at("spectrum_mhz").of(py, spectrum_mhz))
        }
        (None, Some(mhz)) => {
            Ok(Some(Band::Shannon(Mhz::new(mhz).map_err(out_of_range(py, "spectrum_mhz"))?)))
        }
        (Some(_), Some(mhz)) => {
            let problem = "spectrum_mhz: devices share a bandwidth or a spectrum, and both are given";
            let remedy = "leave out bandwidth_mbps or spectrum_mhz";
            Err(Failure::input(problem, remedy).at("spectrum_mhz").of(py, mhz))
        }
    }
}

/// The costs that an argument asks for, where they are needed.
pub(crate) fn needed<T>(costs: Option<T>) -> Result<T, Failure> {
    costs.ok_or_else(|| {
        let problem = "bandwidth_mbps: the bandwidth that the devices of a round share is not given";
        Failure::input(problem, "add bandwidth_mbps, or spectrum_mhz for a fleet with the column snr_db")
            .at("bandwidth_mbps")
    })
}

/// The value of an argument, if it is in range.
pub(crate) fn in_range(
    py: Python<'_>,
    place: &'static str,
    value: f64,
    range: std::ops::RangeInclusive<f64>,
    wanted: &'static str,
) -> Result<f64, Failure> {
    if range.contains(&value) {
        Ok(value)
    } else {
        Err(out_of_range(py, place)(OutOfRange { value, wanted }))
    }
}

/// A number that its argument does not allow.
pub(crate) fn out_of_range(py: Python<'_>, place: &'static str) -> impl Fn(OutOfRange) -> Failure {
    move |OutOfRange { value, wanted }| {
        let problem = format!("{place}: {} is out of range", plain(value));
        Failure::input(problem, format!("it must be {wanted}")).at(place).of(py, value)
    }
}
