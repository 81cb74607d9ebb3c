//! The parameters of schemes, such as the 10 of `fedavg=10`.

use std::fmt::Display;

use fedflip_fleet::{Fleet, Probability};

use crate::error::PlanError;

/// What stands behind the equals sign of a scheme's name.
pub(crate) trait Parameter: Sized + Display + Copy {
    /// What is right, in words.
    const WANTED: &'static str;

    /// None for a text that is not right.
    fn read(text: &str) -> Option<Self>;
}

/// How many devices a round has, or how many draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CohortSize(usize);

impl CohortSize {
    /// The example of help texts.
    pub const TEN: Self = Self(10);
    /// More than the largest fleet has no use.
    const MAX: usize = fedflip_fleet::DEVICES_MAX;

    /// From 1 to the size of the largest fleet.
    pub fn new(size: usize) -> Option<Self> {
        (1..=Self::MAX).contains(&size).then_some(Self(size))
    }

    /// K, as a plain number.
    pub fn get(self) -> usize {
        self.0
    }

    /// Refuses more devices than the fleet has, and devices that are not always available.
    pub(crate) fn check(self, fleet: &Fleet, scheme: &'static str) -> Result<(), PlanError> {
        if self.0 > fleet.len() {
            return Err(PlanError::CohortTooLarge { scheme, cohort: self.0, devices: fleet.len() });
        }
        self.check_availability(fleet, scheme)
    }

    /// A cohort of a fixed size is drawn by the server, which does not know beforehand who can be reached.
    pub(crate) fn check_availability(self, fleet: &Fleet, scheme: &'static str) -> Result<(), PlanError> {
        let away = fleet.availability().iter().position(|&availability| availability < 1.0);
        match away {
            Some(position) => Err(PlanError::NotAlwaysAvailable {
                scheme,
                name: fleet.name(position).to_owned(),
                availability: fleet.availability()[position],
            }),
            None => Ok(()),
        }
    }
}

impl Display for CohortSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Parameter for CohortSize {
    const WANTED: &'static str = "a number of devices, such as 10";

    fn read(text: &str) -> Option<Self> {
        Self::new(text.parse().ok()?)
    }
}

/// A multiple of the data shares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factor(f64);

impl Factor {
    /// The example of help texts.
    pub const TWO: Self = Self(2.0);

    /// From 1e-9 to 1e9.
    pub fn new(factor: f64) -> Option<Self> {
        (1e-9..=1e9).contains(&factor).then_some(Self(factor))
    }

    /// M, as a plain number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Display for Factor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Parameter for Factor {
    const WANTED: &'static str = "a number above 0, such as 2: q is that many times the share of the data";

    fn read(text: &str) -> Option<Self> {
        Self::new(text.parse().ok()?)
    }
}

impl Parameter for Probability {
    const WANTED: &'static str = "a probability above 0 and at most 1, such as 0.2";

    fn read(text: &str) -> Option<Self> {
        Self::new(text.parse().ok()?).ok()
    }
}
