//! The best model of a simulated run, kept beside the last.

use std::sync::Arc;

use fedflip_fleet::{Metrics, ModelVector};
use fedflip_learn::layer::ParamSpec;
use fedflip_learn::model_file;
use fedflip_record::folder::{BEST, RECORDS};
use fedflip_record::{Best, RecordError, RunFolder, Target};

use crate::error::RunError;

/// The best model so far. It goes to the disk before each checkpoint, so that a run that is resumed finds there what its
/// records say.
pub(crate) struct BestModel {
    best: Best,
    params: Vec<(String, ParamSpec)>,
    unwritten: Option<Arc<ModelVector>>,
}

impl BestModel {
    /// Of the run in a folder, whose records may have evaluations.
    pub(crate) fn new(
        target: &Target,
        params: Vec<(String, ParamSpec)>,
        folder: &RunFolder,
    ) -> Result<Self, RecordError> {
        let best = Best::read(target, &folder.path().join(RECORDS))?;
        Ok(Self { best, params, unwritten: None })
    }

    pub(crate) fn take(&mut self, round: u64, metrics: &Metrics, model: &Arc<ModelVector>) {
        if self.best.take(round, metrics) {
            self.unwritten = Some(Arc::clone(model));
        }
    }

    pub(crate) fn write(&mut self, folder: &RunFolder) -> Result<(), RunError> {
        if let Some(model) = &self.unwritten {
            folder.write(BEST, &model_file::write(&self.params, model.as_slice())?)?;
            self.unwritten = None;
        }
        Ok(())
    }
}
