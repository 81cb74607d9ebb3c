//! The work of one device without rounds: download, computation, upload, and how far the device gets.

use fedflip_fleet::bandwidth::{DeviceJob, Share};

/// A device at work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Task {
    pub device_job: DeviceJob,
    /// The steps of the server before the task began.
    pub version: u64,
    pub start_secs: f64,
    /// The time of the whole computation.
    compute_secs: f64,
    /// The time at which the upload began, if it has.
    pub upload_from_secs: Option<f64>,
    pub fate: Fate,
}

impl Task {
    pub(crate) fn new(
        device_job: DeviceJob,
        version: u64,
        start_secs: f64,
        compute_secs: f64,
        fate: Fate,
    ) -> Self {
        Self { device_job, version, start_secs, compute_secs, upload_from_secs: None, fate }
    }

    /// The time for which the device computes, until it is done or vanishes.
    pub(crate) fn computing_secs(&self) -> f64 {
        self.fate.computed * self.compute_secs
    }

    /// The times of a task that ends now, and its mean rate.
    pub(crate) fn share(&self, now_secs: f64) -> Share {
        let upload_from_secs = self.upload_from_secs.unwrap_or(now_secs);
        let upload_secs = now_secs - upload_from_secs;
        let sent_mbit = self.fate.uploaded * self.device_job.job.load_mbit;
        Share {
            device: self.device_job.device,
            mbps: if upload_secs > 0.0 { sent_mbit / upload_secs } else { 0.0 },
            compute_secs: upload_from_secs - self.start_secs,
            upload_from_secs: 0.0,
            upload_secs,
        }
    }
}

/// The shares of a device's download, computation and upload that happen before it vanishes: all of them, if it delivers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fate {
    pub downloaded: f64,
    pub computed: f64,
    pub uploaded: f64,
    pub delivers: bool,
}

impl Fate {
    pub(crate) const DELIVERS: Self = Self { downloaded: 1.0, computed: 1.0, uploaded: 1.0, delivers: true };

    /// A device that vanishes after a part of its work, which takes these times if it has both bands for itself. Nobody knows
    /// beforehand how long its transfers will really take.
    pub(crate) fn vanishing(part: f64, alone_secs: [f64; 3]) -> Self {
        let mut left_secs = part * alone_secs.iter().sum::<f64>();
        let [downloaded, computed, uploaded] = alone_secs.map(|secs| {
            let done = if secs > left_secs { left_secs / secs } else { 1.0 };
            left_secs = (left_secs - secs).max(0.0);
            done
        });
        Self { downloaded, computed, uploaded, delivers: false }
    }

    /// Whether an upload begins.
    pub(crate) fn computes_to_the_end(&self) -> bool {
        self.downloaded >= 1.0 && self.computed >= 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_vanish_after_a_part_of_their_work() {
        let shares = |part: f64| {
            let Fate { downloaded, computed, uploaded, delivers } = Fate::vanishing(part, [2.0, 6.0, 2.0]);
            assert!(!delivers);
            [downloaded, computed, uploaded]
        };
        assert_eq!(shares(0.0), [0.0; 3]);
        assert_eq!(shares(0.1), [0.5, 0.0, 0.0]);
        assert_eq!(shares(0.5), [1.0, 0.5, 0.0]);
        assert_eq!(shares(0.9), [1.0, 1.0, 0.5]);
        // Nothing to do is done at once.
        assert_eq!(Fate::vanishing(0.5, [0.0; 3]).uploaded, 1.0);
        assert!(
            Fate::DELIVERS.computes_to_the_end()
                && !Fate::vanishing(0.5, [2.0, 6.0, 2.0]).computes_to_the_end()
        );
    }
}
