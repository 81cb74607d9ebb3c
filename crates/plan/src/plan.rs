//! The plan: q and the aggregation weights, inseparable.

use fedflip_fleet::{CohortSampler, Fleet};

use crate::scheme::Scheme;

/// How good a plan is, as a value: none of these is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanStatus {
    /// The global optimum of its problem; the KKT residual is the certificate.
    Optimal,
    /// The best point that descent found from several starts.
    LocalOptimum,
    /// The best point found; the KKT residual says how far from the conditions of optimality.
    Approximate,
    /// Not optimised: a baseline.
    Given,
    /// A baseline whose sampling noise reaches β: no number of rounds gets to the target.
    Unreachable,
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
