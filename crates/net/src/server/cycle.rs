//! The server's own time in a round: opening, waiting for coins, grants, aggregation, commit.
//!
//! A cycle lasts from the opening of a round until the next one could open. The server's part of it is the time before the
//! grants and the time after the last update, refusal or deadline: no device decides about the end of either. Waits for
//! devices that are absent are not part of a cycle.

use tokio::time::Instant;

use super::exchange::ReceivedUpdate;
use super::grant::Granted;
use super::world::NetWorld;
use crate::measure::{Outcome, RoundTimes, Upload};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Cycle {
    opened: Instant,
    /// The modelled time of the round's download, before anything was measured and by now; 0 where downloads have no model.
    download_secs: [f64; 2],
    /// None in an empty round.
    granted: Option<Instant>,
    /// The last update, refusal or deadline.
    heard: Option<Instant>,
    /// When the last device had the model, counted from the beginning of its download.
    downloaded_secs: f64,
    /// Whether the schedule wants an evaluation after the round, which an empty round does not get.
    is_evaluated: bool,
    evaluation_secs: f64,
}

impl Cycle {
    pub(crate) fn begin(download_secs: [f64; 2], opened: Instant, is_evaluated: bool) -> Self {
        let (granted, heard) = (None, None);
        let (downloaded_secs, evaluation_secs) = (0.0, 0.0);
        Self { opened, download_secs, granted, heard, downloaded_secs, is_evaluated, evaluation_secs }
    }

    /// Notes that the devices have their grants.
    pub(crate) fn granted(&mut self, now: Instant) {
        self.granted = Some(now);
    }

    /// Notes an update, a refusal or the deadline.
    pub(crate) fn heard(&mut self, now: Instant) {
        self.heard = Some(now);
    }

    pub(crate) fn evaluated(&mut self, secs: f64) {
        self.evaluation_secs += secs;
    }

    /// The longest download of the round.
    pub(crate) fn downloaded_secs(&self) -> f64 {
        self.downloaded_secs
    }

    /// The times of a round that is over.
    fn times(&self, now: Instant) -> RoundTimes {
        let secs = |from: Instant, to: Instant| to.saturating_duration_since(from).as_secs_f64();
        let granted = self.granted.unwrap_or(self.opened);
        let [_, modelled_secs] = self.download_secs;
        // Downloads begin when the round opens. Where they have a model, it counts the time in which they run.
        let before_secs = (secs(self.opened, granted) - modelled_secs).max(0.0);
        let after_secs = (secs(self.heard.unwrap_or(granted), now) - self.evaluation_secs).max(0.0);
        RoundTimes {
            overhead_secs: before_secs + after_secs,
            evaluation_secs: self.is_evaluated.then_some(self.evaluation_secs),
        }
    }

    /// The path of a device that has reported: it waits for its grant and for the model, computes and uploads.
    fn reported(&mut self, path: Path) -> Outcome {
        let Path { download_secs, waited_secs, compute_secs, upload_from_secs, upload } = path;
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
    /// The upload, without the time in which the grant let nothing leave.
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
            let timeouts = self.deployment.timeouts;
            // A server that was suspended in a round has not worked for all of that time.
            let secs_max = (timeouts.window + timeouts.finish).as_secs_f64();
            self.measures.round(cycle.times(Instant::now()), secs_max);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn path(download_secs: Option<f64>, waited_secs: f64) -> Path {
        let upload = Upload { mbps: 2.0, granted_secs: 1.0, secs: 1.0 };
        Path { download_secs, waited_secs, compute_secs: 3.0, upload_from_secs: 0.0, upload }
    }

    fn told(modelled_secs: f64, path: Path) -> (f64, Option<f64>) {
        match Cycle::begin([modelled_secs; 2], Instant::now(), false).reported(path) {
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
    /// The window lasts 2 s and the round 60 s more, then come an evaluation of 3 s and 0.5 s of the server.
    fn overhead_secs(modelled_secs: f64, is_lost: bool) -> f64 {
        let opened = Instant::now();
        let at = |secs: f64| opened + Duration::from_secs_f64(secs);
        let mut cycle = Cycle::begin([modelled_secs; 2], opened, true);
        cycle.granted(at(2.0));
        if !is_lost {
            cycle.reported(path(Some(1.9), 0.1));
        }
        cycle.heard(at(62.0));
        cycle.evaluated(3.0);
        let RoundTimes { overhead_secs, evaluation_secs } = cycle.times(at(65.5));
        assert_eq!(evaluation_secs, Some(3.0));
        (1e6 * overhead_secs).round() / 1e6
    }

    #[test]
    fn the_window_is_overhead_unless_a_modelled_download_runs_in_it() {
        for is_lost in [false, true] {
            assert_eq!(overhead_secs(0.0, is_lost), 2.5);
            assert_eq!(overhead_secs(1.5, is_lost), 1.0);
            assert_eq!(overhead_secs(9.0, is_lost), 0.5);
        }
    }

    #[test]
    fn an_evaluation_that_an_empty_round_leaves_out_takes_no_time() {
        let opened = Instant::now();
        let times = |is_evaluated| Cycle::begin([0.0; 2], opened, is_evaluated).times(opened);
        assert_eq!(times(true).evaluation_secs, Some(0.0));
        assert_eq!(times(false).evaluation_secs, None);
    }
}
