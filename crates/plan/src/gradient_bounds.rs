//! What a bound on the number of rounds knows of the devices' gradients, for schemes that optimise such a bound.

use std::sync::Arc;

use fedflip_fleet::Fleet;

use crate::error::PlanError;

/// R ∝ Σ a_n² G_n²/q_n + B: bounds G_n on the norms of the devices' gradients, and the part B that no sampling changes.
/// By default nothing was measured: every G_n is 1, and B is 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GradientBounds {
    norms: Arc<[f64]>,
    offset: f64,
}

impl GradientBounds {
    /// The least and the largest G_n. Only their ratios and the ratio of B to their squares matter.
    pub const NORM_RANGE: std::ops::RangeInclusive<f64> = 1e-6..=1e6;
    /// The least and the largest B.
    pub const OFFSET_RANGE: std::ops::RangeInclusive<f64> = 0.0..=1e15;

    /// G_n in the order of the fleet, none for 1 everywhere, and B.
    pub fn new(norms: &[f64], offset: f64) -> Result<Self, PlanError> {
        if let Some(&value) = norms.iter().find(|norm| !Self::NORM_RANGE.contains(norm)) {
            let wanted = "a number above 0 (from 1e-6 to 1e6)";
            return Err(PlanError::BadNumber { name: "G", value, wanted });
        }
        if !Self::OFFSET_RANGE.contains(&offset) {
            return Err(PlanError::BadNumber { name: "B", value: offset, wanted: "a number from 0 to 1e15" });
        }
        Ok(Self { norms: norms.into(), offset })
    }

    /// G_n in the order of the fleet; empty where all are 1.
    pub fn norms(&self) -> &[f64] {
        &self.norms
    }

    /// The part B of the bound that sampling does not change.
    pub fn offset(&self) -> f64 {
        self.offset
    }

    /// Refuses norms of another number of devices.
    pub(crate) fn check(&self, fleet: &Fleet) -> Result<(), PlanError> {
        let (given, devices) = (self.norms.len(), fleet.len());
        if given == 0 || given == devices { Ok(()) } else { Err(PlanError::NormCount { given, devices }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::testing::fleet;

    #[test]
    fn numbers_out_of_range_and_other_fleets_are_refused() {
        for wrong in [0.0, -1.0, 1e-7, 2e6, f64::NAN, f64::INFINITY] {
            assert!(matches!(
                GradientBounds::new(&[1.0, wrong], 0.0),
                Err(PlanError::BadNumber { name: "G", .. })
            ));
        }
        for wrong in [-1e-9, f64::NAN, f64::INFINITY, 2e15] {
            assert!(matches!(GradientBounds::new(&[], wrong), Err(PlanError::BadNumber { name: "B", .. })));
        }
        let three = GradientBounds::new(&[1.0; 3], 2.0).unwrap();
        let refused = three.check(&fleet()).unwrap_err();
        assert_eq!(refused, PlanError::NormCount { given: 3, devices: 4 });
        assert!(!refused.hint().is_empty());
        assert_eq!(GradientBounds::default().check(&fleet()), Ok(()));
    }
}
