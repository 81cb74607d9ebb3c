//! Values that a program has in memory instead of files.

use std::sync::Arc;

use fedflip_fleet::Fleet;
use fedflip_plan::Scheme;

use crate::initial::InitialModel;

/// What a program hands over beside the text of a scenario. A key that would name the file takes such a value instead, and
/// the run's folder gets a copy of it, as of a file.
#[derive(Clone, Debug, Default)]
pub struct InMemory {
    /// In the place of the file of `fleet.file`.
    pub fleet: Option<Arc<Fleet>>,
    /// In the place of the file of `task.initial`.
    pub initial: Option<Arc<InitialModel>>,
    /// In the place of the scheme that `plan.scheme` names.
    pub scheme: Option<Scheme>,
}

impl InMemory {
    /// No values: all files are read.
    pub(crate) const NOTHING: &Self = &Self { fleet: None, initial: None, scheme: None };
}
