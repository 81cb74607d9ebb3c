//! The plan: q and the aggregation weights, inseparable.

use fedflip_fleet::{CohortSampler, Fleet};

use crate::error::PlanError;
use crate::scheme::Scheme;

/// How good a plan is, as a value: none of these is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanStatus {
    /// The global optimum of its problem; the KKT residual, where there is one, is the certificate.
    Optimal,
    /// The best point that descent found from several starts.
    LocalOptimum,
    /// The best point found; the KKT residual says how far from the conditions of optimality.
    Approximate,
    /// Not optimised: a baseline.
    Given,
    /// Given, or planned for another β, and its sampling noise reaches this one: no number of rounds gets to the target.
    Unreachable,
    /// Made before, and taken up again as it was.
    Restored,
}

impl PlanStatus {
    /// As it stands in JSON and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Optimal => "optimal",
            Self::LocalOptimum => "local-optimum",
            Self::Approximate => "approximate",
            Self::Given => "given",
            Self::Unreachable => "unreachable",
            Self::Restored => "restored",
        }
    }
}

/// Participation probabilities and the weights a/q that make their aggregation unbiased.
///
/// Both live here and only here, so that they cannot disagree: sampling with one q and weighting with
/// another is the field's most common bug.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    scheme: Scheme,
    status: PlanStatus,
    q: Vec<f64>,
    aggregation_weights: Vec<f64>,
    capped: usize,
    kkt_residual: Option<f64>,
    convex_programs: usize,
}

impl Plan {
    /// `q` has one entry per device, in (0, cap].
    pub(crate) fn new(fleet: &Fleet, scheme: Scheme, status: PlanStatus, q: Vec<f64>) -> Self {
        debug_assert!(q.len() == fleet.len());
        debug_assert!(q.iter().zip(fleet.availability()).all(|(&q, &cap)| q > 0.0 && q <= cap));
        Self {
            scheme,
            status,
            aggregation_weights: fleet.weights().iter().zip(&q).map(|(a, q)| a / q).collect(),
            q,
            capped: 0,
            kkt_residual: None,
            convex_programs: 0,
        }
    }

    /// A plan that was made before: its q, to the bit, and the weights that follow from it for `fleet`. With q = 0 a
    /// device is not part of the plan.
    pub fn restored(fleet: &Fleet, scheme: Scheme, q: Vec<f64>) -> Result<Self, PlanError> {
        if q.len() != fleet.len() {
            return Err(PlanError::OtherFleet { planned: q.len(), devices: fleet.len() });
        }
        // Written so that NaN is refused too.
        let wrong = q.iter().zip(fleet.availability()).find(|(q, cap)| !(**q >= 0.0 && *q <= *cap));
        if let Some((&value, _)) = wrong {
            let wanted = "a probability that is at most the device's availability";
            return Err(PlanError::BadNumber { name: "q", value, wanted });
        }
        if q.iter().all(|q| *q <= 0.0) {
            let wanted = "above 0 for at least one device";
            return Err(PlanError::BadNumber { name: "q", value: 0.0, wanted });
        }
        if q.iter().all(|q| *q > 0.0) {
            return Ok(Self::new(fleet, scheme, PlanStatus::Restored, q));
        }
        // The data are those of the devices in the plan, so that their shares a sum to one.
        let samples = || fleet.samples().iter().zip(&q);
        let total: f64 = samples().filter(|(_, q)| **q > 0.0).map(|(samples, _)| samples).sum();
        let weight = |(samples, q): (&f64, &f64)| if *q > 0.0 { samples / total / q } else { 0.0 };
        Ok(Self {
            scheme,
            status: PlanStatus::Restored,
            aggregation_weights: samples().map(weight).collect(),
            q,
            capped: 0,
            kkt_residual: None,
            convex_programs: 0,
        })
    }

    pub(crate) fn with_capped(self, capped: usize) -> Self {
        Self { capped, ..self }
    }

    pub(crate) fn with_kkt_residual(self, kkt_residual: f64) -> Self {
        Self { kkt_residual: Some(kkt_residual), ..self }
    }

    pub(crate) fn with_convex_programs(self, convex_programs: usize) -> Self {
        Self { convex_programs, ..self }
    }

    /// How q was chosen.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// How good it is.
    pub fn status(&self) -> PlanStatus {
        self.status
    }

    /// q, in fleet order.
    pub fn q(&self) -> &[f64] {
        &self.q
    }

    /// Draws cohorts with this q and no other.
    pub fn sampler(&self) -> CohortSampler {
        CohortSampler::new(&self.q)
    }

    /// a/q, in fleet order: what an update is multiplied by.
    pub fn aggregation_weights(&self) -> &[f64] {
        &self.aggregation_weights
    }

    /// Of a baseline: how many devices asked for more than their availability, and were capped there.
    pub fn capped(&self) -> usize {
        self.capped
    }

    /// How far q is from satisfying the optimality conditions of its problem, relative to q.
    pub fn kkt_residual(&self) -> Option<f64> {
        self.kkt_residual
    }

    /// Of `paper-linesearch`: how many convex programs were solved.
    pub fn convex_programs(&self) -> usize {
        self.convex_programs
    }
}

#[cfg(test)]
mod tests {
    use fedflip_fleet::{Mbps, csv_file};

    use super::*;
    use crate::{Constants, Problem, Settings, solve};

    #[test]
    fn a_restored_plan_is_the_same_to_the_bit_and_is_checked() {
        let file = "device,compute_secs,comm_secs,samples,availability\na,2.0,7,300,1\nb,0.4,7,100,0.5\n";
        let fleet = csv_file::read(file.as_bytes(), "fleet.csv").unwrap();
        let problem =
            Problem::new(&fleet, Mbps::new(9.0).unwrap(), Constants::new(30.0, 2.2).unwrap()).unwrap();
        let made = solve(&problem, Scheme::Exact, &Settings::default()).unwrap();
        let again = Plan::restored(&fleet, Scheme::Exact, made.q().to_vec()).unwrap();
        assert_eq!((again.q(), again.scheme()), (made.q(), made.scheme()));
        assert_eq!(again.aggregation_weights(), made.aggregation_weights());
        for wrong in [vec![0.5], vec![0.5, 0.6], vec![0.0, 0.0], vec![f64::NAN, 0.5], vec![0.5, -0.1]] {
            assert!(Plan::restored(&fleet, Scheme::Exact, wrong.clone()).is_err(), "{wrong:?}");
        }
    }
}
