//! The number of devices that a run can have.

use super::hub::ServerState;

/// How many devices may enrol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FleetCapacity {
    /// The most devices at a time: those that have left for good make room.
    pub devices_max: usize,
    /// The most slots ever, where each slot has its share of a data set; none where devices have data of their own.
    pub slots_max: Option<usize>,
}

impl ServerState {
    /// Whether no other device can enrol.
    pub(super) fn is_full(&self) -> bool {
        let FleetCapacity { devices_max, slots_max } = self.capacity;
        let present = self.members.len().saturating_sub(self.departed);
        present >= devices_max || slots_max.is_some_and(|slots| self.members.len() >= slots)
    }
}
