//! Sample counts that changed while a run was in progress.

use serde::{Deserialize, Serialize};

/// Devices whose data grew or shrank, by their own account. The next review of the plan takes the new counts up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recount {
    /// The round with whose updates the counts came.
    pub after_round: u64,
    /// The devices, by position.
    pub counts: Vec<SampleCount>,
}

/// The number of samples of a device, before and now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleCount {
    /// Position in the fleet.
    pub device: usize,
    /// The count until then.
    pub before: u64,
    /// The count from then on.
    pub now: u64,
}
