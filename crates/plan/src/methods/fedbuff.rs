//! Devices work without rounds, and the server steps after every K updates, as Nguyen et al. (2022) do.
//!
//! The weights and numbers are in [`Buffered`]; the timeline of the devices belongs to the
//! simulated world. Devices are drawn uniformly and fast ones deliver more often, so the sum is biased: a device counts by
//! its speed and not by its data.

use fedflip_fleet::Fleet;

use crate::buffered::Buffered;
use crate::error::PlanError;
use crate::method::Method;
use crate::parameter::CohortSize;

/// A buffer of K updates.
pub(crate) struct FedBuff(pub CohortSize);

impl Method for FedBuff {
    /// K/N: the deliveries of a device per step, if all devices were equally fast.
    fn rule(&self, fleet: &Fleet) -> Option<Result<Vec<f64>, PlanError>> {
        let (updates, devices) = (self.0, fleet.len());
        let checked = Buffered::new(updates, None, devices);
        let checked = checked.and_then(|_| updates.check_availability(fleet, "fedbuff"));
        Some(checked.map(|()| vec![updates.get() as f64 / devices as f64; devices]))
    }

    fn buffer(&self) -> Option<CohortSize> {
        Some(self.0)
    }

    fn flips_coins(&self) -> bool {
        false
    }

    fn is_unbiased(&self) -> bool {
        false
    }
}
