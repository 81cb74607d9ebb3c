//! The costs of rounds in a header of records.

use fedflip_fleet::{Band, Downlink, Download, Mbps, Mhz, RoundCosts};
use serde::{Deserialize, Serialize};

/// What rounds cost besides computing and the shared bandwidth. The default is the paper's model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedCosts {
    /// The time that every round takes in addition.
    #[serde(default)]
    pub overhead_secs: f64,
    /// The band in MHz, where devices share spectrum instead of a bandwidth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spectrum_mhz: Option<f64>,
    /// How devices get the model; none if downloads cost nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub downlink: Option<DownlinkCosts>,
}

/// The costs of downloading the model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DownlinkCosts {
    /// How devices share the downlink.
    pub mode: DownlinkMode,
    /// The bandwidth of downloads in Mbit/s.
    pub bandwidth_mbps: f64,
    /// What a device downloads, in units of its upload.
    pub per_upload: f64,
}

/// How devices share the downlink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DownlinkMode {
    /// One transfer to all.
    Broadcast,
    /// One transfer to each.
    Unicast,
}

impl DownlinkMode {
    /// What the ways to get the model are called; none costs nothing.
    pub const NAMES: [(&str, Option<Self>); 3] =
        [("none", None), ("broadcast", Some(Self::Broadcast)), ("unicast", Some(Self::Unicast))];

    /// The cost of such downloads.
    pub fn downlink(self, download: Download) -> Downlink {
        match self {
            Self::Broadcast => Downlink::Broadcast(download),
            Self::Unicast => Downlink::Unicast(download),
        }
    }
}

impl From<RoundCosts> for RecordedCosts {
    fn from(costs: RoundCosts) -> Self {
        let RoundCosts { band, downlink, overhead_secs } = costs;
        let download = |mode, Download { bandwidth, per_upload }: Download| {
            Some(DownlinkCosts { mode, bandwidth_mbps: bandwidth.get(), per_upload })
        };
        Self {
            overhead_secs,
            spectrum_mhz: match band {
                Band::Linear(_) => None,
                Band::Shannon(spectrum) => Some(spectrum.get()),
            },
            downlink: match downlink {
                Downlink::None => None,
                Downlink::Broadcast(size) => download(DownlinkMode::Broadcast, size),
                Downlink::Unicast(size) => download(DownlinkMode::Unicast, size),
            },
        }
    }
}

impl RecordedCosts {
    /// Whether rounds cost what they cost in the paper.
    pub fn is_paper(&self) -> bool {
        *self == Self::default()
    }

    /// The cost model beside a bandwidth; none if a number of the record is out of range.
    pub fn round_costs(&self, bandwidth_mbps: f64) -> Option<RoundCosts> {
        let band = match self.spectrum_mhz {
            Some(spectrum) => Band::Shannon(Mhz::new(spectrum).ok()?),
            None => Band::Linear(Mbps::new(bandwidth_mbps).ok()?),
        };
        let downlink = match self.downlink {
            None => Downlink::None,
            Some(DownlinkCosts { mode, bandwidth_mbps, per_upload }) => {
                let per_upload = Some(per_upload).filter(|ratio| (0.0..=1e18).contains(ratio))?;
                mode.downlink(Download { bandwidth: Mbps::new(bandwidth_mbps).ok()?, per_upload })
            }
        };
        let overhead_secs = Some(self.overhead_secs).filter(|secs| (0.0..=1e9).contains(secs))?;
        Some(RoundCosts { band, downlink, overhead_secs })
    }
}

#[cfg(test)]
mod tests {
    use fedflip_fleet::Secs;

    use super::*;

    #[test]
    fn costs_read_back_and_the_papers_are_left_out() {
        let paper = RoundCosts::from(Mbps::new(100.0).unwrap());
        assert!(RecordedCosts::from(paper).is_paper());
        let download = Download { bandwidth: Mbps::new(7.0).unwrap(), per_upload: 8.0 };
        for costs in [
            paper,
            paper.with_overhead(Secs::new(0.12).unwrap()),
            paper.with_downlink(Downlink::Broadcast(download)),
            RoundCosts { band: Band::Shannon(Mhz::new(20.0).unwrap()), ..paper }
                .with_downlink(Downlink::Unicast(download)),
        ] {
            let text = serde_json::to_string(&RecordedCosts::from(costs)).unwrap();
            let read: RecordedCosts = serde_json::from_str(&text).unwrap();
            assert_eq!(read.round_costs(100.0), Some(costs), "{text}");
        }
        for wrong in [r#"{"overhead_secs":-1.0}"#, r#"{"spectrum_mhz":0.0}"#] {
            let read: RecordedCosts = serde_json::from_str(wrong).unwrap();
            assert_eq!(read.round_costs(100.0), None, "{wrong}");
        }
    }
}
