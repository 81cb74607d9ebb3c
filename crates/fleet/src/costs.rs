//! What a round costs besides computing: the bandwidth for uploads, the download of the model, and the overhead.

use crate::bandwidth::Job;
use crate::link::{Band, Link};
use crate::units::{Mbps, Secs};

/// The cost model of a round. The paper's has a bandwidth and nothing else: `bandwidth.into()`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundCosts {
    /// The bandwidth that uploads share.
    pub band: Band,
    /// How devices get the model at the start of a round.
    pub downlink: Downlink,
    /// The time that every round takes in addition, an empty one too.
    pub overhead_secs: f64,
}

impl From<Mbps> for RoundCosts {
    fn from(bandwidth: Mbps) -> Self {
        Band::from(bandwidth).into()
    }
}

impl From<Band> for RoundCosts {
    fn from(band: Band) -> Self {
        Self { band, downlink: Downlink::None, overhead_secs: 0.0 }
    }
}

impl RoundCosts {
    /// The same costs with another overhead.
    #[must_use]
    pub fn with_overhead(self, overhead: Secs) -> Self {
        Self { overhead_secs: overhead.get(), ..self }
    }

    /// The same costs with another download.
    #[must_use]
    pub fn with_downlink(self, downlink: Downlink) -> Self {
        Self { downlink, ..self }
    }

    /// The same costs for devices whose links limit uploads alone, and none of them below `limit_mbps`.
    #[must_use]
    pub fn with_free_downloads(self, limit_mbps: f64) -> Self {
        let downlink = match self.downlink {
            Downlink::None => Downlink::None,
            Downlink::Broadcast(download) => Downlink::Broadcast(download.above(limit_mbps)),
            Downlink::Unicast(download) => Downlink::Unicast(download.above(limit_mbps)),
        };
        Self { downlink, ..self }
    }

    /// t/min(f_tot, limit): the upload of a device that has the whole bandwidth for itself.
    pub fn upload_alone_secs(&self, job: Job) -> f64 {
        if job.load_mbit > 0.0 { job.load_mbit / self.band.alone_mbps(job.link) } else { 0.0 }
    }
}

/// How the devices of a cohort get the model. An empty round downloads nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Downlink {
    /// At no cost, as in the paper.
    #[default]
    None,
    /// One transfer to all devices, at the rate of the slowest.
    Broadcast(Download),
    /// One transfer to each device. All share the bandwidth and finish together.
    Unicast(Download),
}

/// The size and the bandwidth of downloads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Download {
    /// The bandwidth of downloads, which uploads do not use.
    pub bandwidth: Mbps,
    /// d_n/t_n: what a device downloads, in units of its upload. Both suffer alike from the device's link.
    pub per_upload: f64,
}

impl Download {
    /// The same downloads of less data over less bandwidth, which no limit from `limit_mbps` on slows down. A power of two
    /// as the factor leaves all times as they are, to the bit.
    fn above(self, limit_mbps: f64) -> Self {
        let excess = self.bandwidth.get() / limit_mbps;
        if !(excess.is_finite() && excess > 1.0) {
            return self;
        }
        let factor = 0.5_f64.powi(excess.log2().ceil() as i32);
        let scaled = |bandwidth| Self { bandwidth, per_upload: factor * self.per_upload };
        Mbps::new(factor * self.bandwidth.get()).map_or(self, scaled)
    }

    /// d/min(f_down, limit): the download of a device that has the whole bandwidth for itself.
    fn alone_secs(&self, load_mbit: f64, link: Link) -> f64 {
        self.per_upload * load_mbit / self.bandwidth.get().min(link.limit_mbps)
    }
}

impl Downlink {
    /// The time from the start of a round until all devices of the cohort have the model.
    pub fn secs(&self, jobs: impl Iterator<Item = Job>) -> f64 {
        let (download, in_turn) = match self {
            Self::None => return 0.0,
            Self::Broadcast(download) => (download, false),
            Self::Unicast(download) => (download, true),
        };
        let (mut slowest_secs, mut load_mbit) = (0.0_f64, 0.0);
        for job in jobs {
            slowest_secs = slowest_secs.max(download.alone_secs(job.load_mbit, job.link));
            load_mbit += job.load_mbit;
        }
        let shared_secs = download.per_upload * load_mbit / download.bandwidth.get();
        if in_turn { slowest_secs.max(shared_secs) } else { slowest_secs }
    }

    /// The download of a device that is alone in its cohort.
    pub fn alone_secs(&self, job: Job) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Broadcast(download) | Self::Unicast(download) => {
                download.alone_secs(job.load_mbit, job.link)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn download(mbps: f64, per_upload: f64) -> Download {
        Download { bandwidth: Mbps::new(mbps).unwrap(), per_upload }
    }

    fn job(load_mbit: f64, limit_mbps: f64) -> Job {
        Job { link: Link { limit_mbps, ..Link::default() }, ..Job::new(1.0, load_mbit) }
    }

    #[test]
    fn closed_forms() {
        let jobs = [job(2.0, f64::INFINITY), job(3.0, 1.0)];
        let secs = |downlink: Downlink, jobs: &[Job]| downlink.secs(jobs.iter().copied());
        for downlink in [Downlink::Broadcast(download(4.0, 8.0)), Downlink::Unicast(download(4.0, 8.0))] {
            assert_eq!(secs(downlink, &[]), 0.0, "an empty round downloads nothing");
            assert_eq!(secs(downlink, &jobs[..1]), 4.0, "16 Mbit at 4 Mbit/s");
            assert_eq!(secs(downlink, &jobs), 24.0, "24 Mbit at a limit of 1 Mbit/s");
        }
        let free = [job(2.0, f64::INFINITY), job(3.0, f64::INFINITY)];
        assert_eq!(secs(Downlink::Broadcast(download(4.0, 8.0)), &free), 6.0, "the slowest decides");
        assert_eq!(secs(Downlink::Unicast(download(4.0, 8.0)), &free), 10.0, "40 Mbit at 4 Mbit/s");
        assert_eq!(secs(Downlink::None, &free), 0.0);
    }

    #[test]
    fn free_downloads_take_as_long_as_without_limits() {
        let (limited, free) =
            ([job(2.0, 0.003), job(3.0, 7.0)], [2.0, 3.0].map(|load| job(load, f64::INFINITY)));
        for downlink in [Downlink::Broadcast(download(4.7, 8.0)), Downlink::Unicast(download(4.7, 8.0))] {
            let costs = RoundCosts::from(Mbps::new(1.0).unwrap()).with_downlink(downlink);
            let found = costs.with_free_downloads(0.003).downlink.secs(limited.into_iter());
            assert_eq!(found.to_bits(), downlink.secs(free.into_iter()).to_bits());
            assert_eq!(costs.with_free_downloads(f64::INFINITY), costs);
        }
    }

    proptest! {
        /// The planner's bounds: no cohort takes longer than its devices one after the other, and none is faster than
        /// its slowest device alone.
        #[test]
        fn a_cohort_is_between_its_slowest_device_and_the_sum(
            loads in prop::collection::vec((0.0..10.0_f64, 0.1..10.0_f64), 1..20), mbps in 0.1..10.0_f64,
        ) {
            let jobs: Vec<Job> = loads.into_iter().map(|(load, limit)| job(load, limit)).collect();
            for downlink in [Downlink::Broadcast(download(mbps, 2.0)), Downlink::Unicast(download(mbps, 2.0))] {
                let alone = jobs.iter().map(|&job| downlink.alone_secs(job));
                let (slowest, sum) = (alone.clone().fold(0.0, f64::max), alone.sum::<f64>());
                let secs = downlink.secs(jobs.iter().copied());
                prop_assert!(slowest <= secs && secs <= sum * (1.0 + 1e-12), "{slowest} {secs} {sum}");
            }
        }
    }
}
