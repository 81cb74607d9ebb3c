//! The server's own time in a round: opening, waiting for coins, grants, aggregation, commit.
//!
//! A cycle lasts from the opening of a round until the next one could open. Waits for devices that are absent are not part
//! of it, and rounds in which a device was lost say more about that device than about the server.

use tokio::time::Instant;

use super::exchange::ReceivedUpdate;
use super::grant::Granted;
use super::world::NetWorld;
use crate::measure::{Measures, Outcome, RoundTimes, Upload};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Cycle {
    opened: Instant,
    /// The modelled time of the round's download, before anything was measured and by now; 0 where downloads have no model.
    download_secs: [f64; 2],
    /// The path of the device that reported last.
    device_secs: f64,
    /// When the last device had the model, counted from the beginning of its download.
    downloaded_secs: f64,
    evaluation_secs: Option<f64>,
    has_lost: bool,
}

impl Cycle {
    pub(crate) fn begin(download_secs: [f64; 2], opened: Instant) -> Self {
        let (device_secs, downloaded_secs) = (0.0, 0.0);
        Self { opened, download_secs, device_secs, downloaded_secs, evaluation_secs: None, has_lost: false }
    }

    pub(crate) fn lost(&mut self) {
        self.has_lost = true;
    }

    pub(crate) fn evaluated(&mut self, secs: f64) {
        self.evaluation_secs = Some(self.evaluation_secs.unwrap_or(0.0) + secs);
    }

    /// The longest download of the round.
    pub(crate) fn downloaded_secs(&self) -> f64 {
        self.downloaded_secs
    }

    /// Notes the measured times of a round that is over.
    pub(crate) fn settle(self, now: Instant, measures: &mut Measures) {
        if !self.has_lost {
            measures.round(RoundTimes {
                cycle_secs: now.saturating_duration_since(self.opened).as_secs_f64(),
                device_secs: self.device_secs,
                evaluation_secs: self.evaluation_secs,
            });
        }
    }

    /// The path of a device that has reported: it waits for its grant and for the model, computes and uploads.
    fn reported(&mut self, path: Path) -> Outcome {
        let Path { download_secs, waited_secs, compute_secs, upload_from_secs, upload_secs, upload } = path;
        self.device_secs = download_secs.unwrap_or(0.0) + compute_secs + upload_secs;
        self.downloaded_secs = self.downloaded_secs.max(download_secs.unwrap_or(0.0));
        let [first_secs, modelled_secs] = self.download_secs;
        Outcome::Reported {
            // The time beyond the modelled download is the device's own: nobody becomes quicker by reading slowly.
            compute_secs: compute_secs + (waited_secs - modelled_secs).max(0.0),
            upload_from_secs,
            upload,
            download_ratio: download_secs.filter(|_| first_secs > 0.0).map(|secs| secs / first_secs),
        }
    }
}

/// The times of a device in a round.
#[derive(Clone, Copy, Debug)]
struct Path {
    /// None if the device had the model.
    download_secs: Option<f64>,
    /// The wait for the model after the grant.
    waited_secs: f64,
    /// From the moment at which the device had both to the first byte.
    compute_secs: f64,
    upload_from_secs: f64,
    upload_secs: f64,
    /// The same as far as the link decided.
    upload: Upload,
}

impl NetWorld<'_> {
    /// Measures the path of a device whose update has arrived.
    pub(super) fn measure(&mut self, slot: usize, granted: Granted, update: &ReceivedUpdate) {
        let [took_secs, upload_secs] = update.took_secs;
        let transfer = {
            let mut state = self.server.hub.state();
            state.current.as_mut().and_then(|current| current.transfer(slot).copied()).unwrap_or_default()
        };
        let waited = |end: Instant| end.saturating_duration_since(granted.at).as_secs_f64();
        let waited_secs = transfer.end(update.began).map_or(0.0, waited);
        let [granted_secs, first_secs] = self.server.upload_secs(granted.mbps);
        let path = Path {
            download_secs: transfer.secs(update.began),
            waited_secs,
            compute_secs: (took_secs - waited_secs).max(0.0),
            upload_from_secs: granted.upload_from_secs,
            upload_secs,
            // Each part leaves at the end of its time, so that the link is idle until the first one does.
            upload: Upload { mbps: granted.mbps, granted_secs, secs: (upload_secs - first_secs).max(0.0) },
        };
        if let Some(cycle) = &mut self.cycle {
            let outcome = cycle.reported(path);
            self.measures.granted(slot, outcome);
        }
    }

    /// Ends the cycle of the round before, if there is one.
    pub(super) fn settle(&mut self) {
        if let Some(cycle) = self.cycle.take() {
            cycle.settle(Instant::now(), self.measures);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(download_secs: Option<f64>, waited_secs: f64) -> Path {
        let upload = Upload { mbps: 2.0, granted_secs: 1.0, secs: 1.0 };
        Path {
            download_secs,
            waited_secs,
            compute_secs: 3.0,
            upload_from_secs: 0.0,
            upload_secs: 1.0,
            upload,
        }
    }

    fn told(modelled_secs: f64, path: Path) -> (f64, Option<f64>) {
        match Cycle::begin([modelled_secs; 2], Instant::now()).reported(path) {
            Outcome::Reported { compute_secs, download_ratio, .. } => (compute_secs, download_ratio),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_modelled_download_is_no_computing_and_the_rest_is() {
        assert_eq!(told(0.0, path(Some(2.0), 1.5)), (4.5, None), "without a model a wait counts as before");
        assert_eq!(told(2.0, path(Some(2.0), 1.5)), (3.0, Some(1.0)));
        assert_eq!(told(1.0, path(Some(60.0), 59.0)), (61.0, Some(60.0)), "a device that reads slowly");
        assert_eq!(told(2.0, path(None, 0.0)), (3.0, None), "a device that has the model says nothing");
    }
}
