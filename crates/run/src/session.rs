//! The settings of the machine and of the user for a run, whatever its scenario.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use crate::observe::{Observer, Observers};
use crate::reuse::Trainings;
use crate::trainer::Crews;

/// The settings of the machine and of the user for a run. None of them changes a result.
pub struct Session<'a> {
    /// The number of devices that train at the same time.
    pub threads: usize,
    /// Where data sets are kept.
    pub data_dir: PathBuf,
    /// Continue what is in the output folder, if it holds a run of the same scenario.
    pub resume: bool,
    /// Asked after every round; a run that is stopped can be resumed.
    pub stop: &'a dyn Fn() -> bool,
    /// The clock on the wall, for checkpoints and caps on real time.
    pub now: fn() -> Instant,
    /// Whether runs without a folder hand over all their records.
    pub keeps_records: bool,
    /// Finished runs whose trainings serve other clocks; none to train every run.
    pub trainings: Option<Trainings>,
    /// Workers in the place of threads; none to train in this process.
    pub crews: Option<Arc<dyn Crews>>,
    /// The observers of all runs.
    pub observers: Observers<'a>,
}

impl<'a> Session<'a> {
    /// All processors, no observers, nobody who stops it, and data sets in `data_dir`.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            threads: crate::processors(),
            data_dir: data_dir.into(),
            resume: false,
            stop: &|| false,
            now: system_now,
            keeps_records: false,
            trainings: None,
            crews: None,
            observers: Observers::default(),
        }
    }

    /// Adds an observer to all runs of the session.
    #[must_use]
    pub fn observed_by(mut self, observer: impl Observer + 'a) -> Self {
        self.observers.add(observer);
        self
    }
}

#[expect(clippy::disallowed_methods, reason = "checkpoints and caps on real time go by the wall")]
fn system_now() -> Instant {
    Instant::now()
}
