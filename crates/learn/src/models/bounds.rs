//! The sizes that models may have.
//!
//! They come from users' scenarios and data. The bounds are so wide that memory runs out first, and so narrow that no
//! number of parameters, buffers or multiplications overflows 64 bits, with a batch of 65,536 samples.

use std::ops::RangeInclusive;

use crate::error::LearnError;

/// The range of one size.
pub(super) struct Bound {
    pub(super) name: &'static str,
    pub(super) range: RangeInclusive<usize>,
    /// The range in words.
    pub(super) wanted: &'static str,
}

impl Bound {
    pub(super) fn check(&self, value: usize) -> Result<(), LearnError> {
        let (name, wanted) = (self.name, self.wanted);
        let within = self.range.contains(&value);
        if within { Ok(()) } else { Err(LearnError::BadSetting { name, value: value as f64, wanted }) }
    }
}

pub(super) const FEATURES: Bound =
    Bound { name: "features", range: 1..=1 << 28, wanted: "a whole number from 1 to 268435456" };
pub(super) const HIDDEN: Bound =
    Bound { name: "hidden", range: 1..=65_536, wanted: "a whole number from 1 to 65536" };
pub(super) const OUTPUTS: Bound =
    Bound { name: "outputs", range: 1..=1 << 20, wanted: "a whole number from 1 to 1048576" };
pub(super) const COLOURS: Bound =
    Bound { name: "colours", range: 1..=16, wanted: "a whole number from 1 to 16" };
pub(super) const FILTERS: Bound =
    Bound { name: "filters", range: 1..=1024, wanted: "a whole number from 1 to 1024" };
pub(super) const STEPS: Bound =
    Bound { name: "steps", range: 1..=65_536, wanted: "a whole number from 1 to 65536" };
pub(super) const SYMBOLS: Bound =
    Bound { name: "symbols", range: 1..=1 << 20, wanted: "a whole number from 1 to 1048576" };
pub(super) const EMBEDDED: Bound =
    Bound { name: "embedded", range: 1..=65_536, wanted: "a whole number from 1 to 65536" };
