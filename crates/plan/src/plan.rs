//! The plan: participation probabilities and aggregation weights, inseparable.

use fedflip_fleet::{CohortSampler, Fleet, Mbps};

use crate::error::PlanError;
use crate::methods::baseline;
use crate::planning::{Planning, solve};
use crate::problem::Problem;
use crate::scheme::Scheme;

/// How good a plan is. None of these is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanStatus {
    /// The global optimum of its problem; the KKT residual, where there is one, is the certificate.
    Optimal,
    /// The best point that descent found from several starts.
    LocalOptimum,
    /// The best point found; the KKT residual measures the distance from the conditions of optimality.
    Approximate,
    /// Not optimised: a baseline, or probabilities that the caller chose.
    Given,
    /// The sampling variance reaches the known β: no number of rounds reaches the target.
    Unreachable,
}

impl PlanStatus {
    /// The name in JSON and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Optimal => "optimal",
            Self::LocalOptimum => "local-optimum",
            Self::Approximate => "approximate",
            Self::Given => "given",
            Self::Unreachable => "unreachable",
        }
    }
}

/// Participation probabilities q, and the weights a/q that make their aggregation unbiased.
///
/// Both live here and only here, so that they cannot disagree: sampling with one q and weighting with
/// another is the field's most common bug.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    status: PlanStatus,
    q: Vec<f64>,
    aggregation_weights: Vec<f64>,
    capped: usize,
    kkt_residual: Option<f64>,
    convex_programs: usize,
    /// Of schemes that draw with replacement: the probabilities of one draw, which sum to 1.
    draw_probabilities: Option<Vec<f64>>,
}

impl Plan {
    /// `q` has one entry per device, in (0, cap].
    pub(crate) fn new(fleet: &Fleet, status: PlanStatus, q: Vec<f64>) -> Self {
        debug_assert!(q.len() == fleet.len());
        debug_assert!(q.iter().zip(fleet.availability()).all(|(&q, &cap)| q > 0.0 && q <= cap));
        Self {
            status,
            aggregation_weights: fleet.weights().iter().zip(&q).map(|(a, q)| a / q).collect(),
            q,
            capped: 0,
            kkt_residual: None,
            convex_programs: 0,
            draw_probabilities: None,
        }
    }

    /// The fewest device seconds per round for a sampling variance Σ a²/q; α and β are not needed.
    ///
    /// [`crate::DEFAULT_VARIANCE`] suits most tasks. Lower values sample more devices per round.
    pub fn for_variance(fleet: &Fleet, bandwidth: Mbps, variance: f64) -> Result<Self, PlanError> {
        solve(&Problem::new(fleet, bandwidth), &Planning { variance, ..Planning::new(Scheme::Auto) })
    }

    /// The plan of a scheme that needs only the fleet, such as `uniform`, or the plan of a file.
    pub fn baseline(fleet: &Fleet, scheme: &Scheme) -> Result<Self, PlanError> {
        baseline::plan(fleet, scheme)
    }

    /// The plan with these participation probabilities, one per device, each in [0, availability].
    ///
    /// A device with q = 0 is not part of the plan. The data are then those of the other devices, whose shares sum to
    /// one.
    pub fn from_q(fleet: &Fleet, q: Vec<f64>) -> Result<Self, PlanError> {
        if q.len() != fleet.len() {
            return Err(PlanError::OtherFleet { planned: q.len(), devices: fleet.len() });
        }
        // Written so that NaN is refused too.
        let bounds = q.iter().zip(fleet.availability());
        let wrong = bounds.enumerate().find(|(_, (q, cap))| !(**q >= 0.0 && *q <= *cap));
        if let Some((position, (&q, &cap))) = wrong {
            let name = fleet.name(position).to_owned();
            return Err(PlanError::BadParticipation { name, position, q, cap });
        }
        if q.iter().all(|q| *q <= 0.0) {
            return Err(PlanError::NobodyTakesPart);
        }
        if q.iter().all(|q| *q > 0.0) {
            return Ok(Self::new(fleet, PlanStatus::Given, q));
        }
        let samples = || fleet.samples().iter().zip(&q);
        let total: f64 = samples().filter(|(_, q)| **q > 0.0).map(|(samples, _)| samples).sum();
        let weight = |(samples, q): (&f64, &f64)| if *q > 0.0 { samples / total / q } else { 0.0 };
        Ok(Self {
            status: PlanStatus::Given,
            aggregation_weights: samples().map(weight).collect(),
            q,
            capped: 0,
            kkt_residual: None,
            convex_programs: 0,
            draw_probabilities: None,
        })
    }

    pub(crate) fn with_status(self, status: PlanStatus) -> Self {
        Self { status, ..self }
    }

    pub(crate) fn with_capped(self, capped: usize) -> Self {
        Self { capped, ..self }
    }

    pub(crate) fn with_kkt_residual(self, kkt_residual: f64) -> Self {
        Self { kkt_residual: Some(kkt_residual), ..self }
    }

    #[cfg(feature = "line-search")]
    pub(crate) fn with_convex_programs(self, convex_programs: usize) -> Self {
        Self { convex_programs, ..self }
    }

    pub(crate) fn with_draw_probabilities(self, of_a_draw: Vec<f64>) -> Self {
        Self { draw_probabilities: Some(of_a_draw), ..self }
    }

    /// How good the plan is.
    pub fn status(&self) -> PlanStatus {
        self.status
    }

    /// The participation probabilities, in fleet order.
    pub fn q(&self) -> &[f64] {
        &self.q
    }

    /// The probabilities of one draw, in fleet order, where a scheme optimises them and draws with replacement. [`Self::q`] then has the
    /// probabilities to be in the cohort.
    pub fn draw_probabilities(&self) -> Option<&[f64]> {
        self.draw_probabilities.as_deref()
    }

    /// Draws cohorts with this q and no other.
    pub fn sampler(&self) -> CohortSampler {
        CohortSampler::new(&self.q)
    }

    /// a/q in fleet order: the factor that multiplies a device's update.
    pub fn aggregation_weights(&self) -> &[f64] {
        &self.aggregation_weights
    }

    /// The number of devices whose baseline rule exceeds their availability, so that q is capped there.
    pub fn capped(&self) -> usize {
        self.capped
    }

    /// The relative distance of q from the optimality conditions of its problem.
    pub fn kkt_residual(&self) -> Option<f64> {
        self.kkt_residual
    }

    /// The number of convex programs that `paper-linesearch` solved.
    pub fn convex_programs(&self) -> usize {
        self.convex_programs
    }
}

#[cfg(test)]
mod tests {
    use fedflip_fleet::csv_file;

    use super::*;

    fn fleet() -> Fleet {
        let file = "device,compute_secs,comm_secs,samples,availability\na,2.0,7,300,1\nb,0.4,7,100,0.5\n";
        csv_file::read(file.as_bytes(), "fleet.csv").unwrap()
    }

    #[test]
    fn a_plan_from_its_q_is_the_same_to_the_bit() {
        let fleet = fleet();
        let made = Plan::for_variance(&fleet, Mbps::new(9.0).unwrap(), 1.4).unwrap();
        let again = Plan::from_q(&fleet, made.q().to_vec()).unwrap();
        assert_eq!(again.q(), made.q());
        assert_eq!(again.aggregation_weights(), made.aggregation_weights());
    }

    #[test]
    fn probabilities_that_a_device_cannot_have_are_refused_by_name() {
        let fleet = fleet();
        let refused = |q: &[f64]| Plan::from_q(&fleet, q.to_vec()).unwrap_err();
        assert_eq!(refused(&[0.5]), PlanError::OtherFleet { planned: 1, devices: 2 });
        assert_eq!(refused(&[0.0, 0.0]), PlanError::NobodyTakesPart);
        for wrong in [[0.5, 0.6], [f64::NAN, 0.5], [0.5, -0.1], [f64::INFINITY, 0.5]] {
            let error = refused(&wrong);
            let PlanError::BadParticipation { name, position, .. } = &error else { panic!("{error}") };
            assert_eq!(name, ["a", "b"][*position], "{wrong:?}");
            assert!(error.to_string().contains("position"), "{error}");
        }
    }

    #[test]
    fn a_baseline_needs_only_the_fleet_and_an_optimised_scheme_more() {
        let full = Plan::baseline(&fleet(), &Scheme::Full).unwrap();
        assert_eq!((full.q(), full.capped(), full.status()), (&[1.0, 0.5][..], 1, PlanStatus::Given));
        let refused = Plan::baseline(&fleet(), &Scheme::Exact).unwrap_err();
        assert_eq!(refused, PlanError::NotABaseline { scheme: Scheme::Exact });
    }
}
