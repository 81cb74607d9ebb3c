//! Sampling schemes that a program has: the table has one row for all of them.

use std::fmt;
use std::sync::Arc;

use fedflip_fleet::Fleet;

use crate::error::PlanError;
use crate::sampler::{Draw, DrawError, Report};

/// How a program draws cohorts.
pub trait CustomSampling: Send + Sync {
    /// The probability of each device to be in a cohort, as far as the program knows it. Reports show it, and nothing is
    /// computed from it.
    fn q(&self, fleet: &Fleet) -> Result<Vec<f64>, PlanError>;

    /// The cohort of a round, counted from 1: devices in ascending order with their weights. It is a function of its
    /// arguments and of the reports of earlier rounds.
    fn draw(&self, round: u64, seed: u64, fleet: &Fleet, draws: &mut Vec<Draw>) -> Result<(), DrawError>;

    /// Whether the program wants [`CustomSampling::observe`] to be called after each round.
    fn observes(&self) -> bool {
        false
    }

    /// A run begins or is resumed. Nothing that earlier runs reported may remain.
    fn begin(&self) -> Result<(), DrawError> {
        Ok(())
    }

    /// Takes the reports of a round, in ascending order of devices.
    fn observe(&self, _round: u64, _reports: &[Report]) -> Result<(), DrawError> {
        Ok(())
    }

    /// Whether the program vouches that the expected weight of every device is its share of the data.
    fn is_unbiased(&self) -> bool {
        false
    }
}

/// A scheme of a program, by its name. A scenario that is read from a file has the name alone, and cannot be run.
#[derive(Clone)]
pub struct CustomScheme {
    name: Arc<str>,
    sampling: Option<Arc<dyn CustomSampling>>,
}

impl CustomScheme {
    /// The longest name, in characters.
    pub const NAME_MAX: usize = 64;

    /// A scheme that a program has; none if the name is not one of letters, digits, `-`, `_` and `.`.
    pub fn new(name: &str, sampling: Arc<dyn CustomSampling>) -> Option<Self> {
        Some(Self { sampling: Some(sampling), ..Self::named(name)? })
    }

    /// The name of a scheme without the program that has it.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let fits = |c: char| c.is_alphanumeric() || "-_.".contains(c);
        let is_name = (1..=Self::NAME_MAX).contains(&name.chars().count()) && name.chars().all(fits);
        is_name.then(|| Self { name: name.into(), sampling: None })
    }

    /// The name behind `custom=`.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn sampling(&self) -> Result<&Arc<dyn CustomSampling>, PlanError> {
        self.sampling.as_ref().ok_or_else(|| PlanError::NoCustomScheme { name: self.name.to_string() })
    }
}

impl fmt::Debug for CustomScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CustomScheme({:?})", self.name)
    }
}

/// Schemes are compared by name: a stored scenario is equal to the one that it was stored from.
impl PartialEq for CustomScheme {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}
