//! Quantities as types: a number with its unit, checked once, where it enters.
//!
//! The ranges are wide enough for any real device and narrow enough that no later product, quotient or
//! sum overflows or underflows: the solvers need no checks of their own.

use std::fmt;

/// A number outside what its quantity allows.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{} is not {wanted}", plain(*.value))]
pub struct OutOfRange {
    /// The number as given.
    pub value: f64,
    /// What would be right, in words.
    pub wanted: &'static str,
}

/// A number as people write it: with an exponent only where the digits would be mostly zeros.
pub fn plain(value: f64) -> String {
    if value == 0.0 || (1e-5..1e15).contains(&value.abs()) { value.to_string() } else { format!("{value:e}") }
}

/// A number with about `digits` significant digits, thin enough for a table.
pub fn significant(value: f64, digits: usize) -> String {
    // Counts stay counts.
    if value.fract() == 0.0 && value.abs() < 1e9 {
        return format!("{value:.0}");
    }
    if !value.is_finite() {
        return "–".to_owned();
    }
    // Of the rounded value: 0.9999 to three digits is 1.00, not 1.000.
    let rounded: f64 = format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value);
    let magnitude = rounded.abs().log10().floor() as i32;
    if !(-4..=9).contains(&magnitude) {
        return format!("{value:.*e}", digits.saturating_sub(1));
    }
    let decimals = (digits as i32 - 1 - magnitude).max(0) as usize;
    format!("{value:.decimals$}")
}

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $unit:literal, $wanted:literal, |$value:ident| $allowed:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
        pub struct $name(f64);

        impl $name {
            /// What a right value is, in words.
            pub const WANTED: &'static str = $wanted;

            /// Checks the range; −0 becomes 0, so that equal quantities have equal bytes.
            pub fn new($value: f64) -> Result<Self, OutOfRange> {
                if $allowed {
                    Ok(Self($value + 0.0))
                } else {
                    Err(OutOfRange { value: $value, wanted: Self::WANTED })
                }
            }

            /// The number without its unit.
            #[inline]
            pub const fn get(self) -> f64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", self.0, $unit)
            }
        }
    };
}

quantity!(
    /// A duration in seconds.
    Secs, " s", "a time from 0 to 1e9 seconds (and, if not 0, at least 1e-9)",
    |value| value == 0.0 || (1e-9..=1e9).contains(&value)
);
quantity!(
    /// An amount of data in Mbit (10⁶ bit, not Mibit).
    Mbit, " Mbit", "an amount from 0 to 1e9 Mbit (and, if not 0, at least 1e-9)",
    |value| value == 0.0 || (1e-9..=1e9).contains(&value)
);
quantity!(
    /// A bandwidth in Mbit/s.
    Mbps, " Mbit/s", "a bandwidth above 0 Mbit/s (from 1e-9 to 1e9)",
    |value| (1e-9..=1e9).contains(&value)
);
quantity!(
    /// A width of spectrum in MHz.
    Mhz, " MHz", "a spectrum above 0 MHz (from 1e-6 to 1e6)",
    |value| (1e-6..=1e6).contains(&value)
);
quantity!(
    /// A ratio of powers in decibels.
    Decibel, " dB", "a ratio from -60 to 120 dB",
    |value| (-60.0..=120.0).contains(&value)
);
quantity!(
    /// An amount of computation in 10⁹ floating-point operations.
    Gflop, " GFLOP", "an amount from 0 to 1e9 GFLOP (and, if not 0, at least 1e-9)",
    |value| value == 0.0 || (1e-9..=1e9).contains(&value)
);
quantity!(
    /// A speed of computation in 10⁹ floating-point operations per second.
    GflopPerSec, " GFLOP/s", "a speed above 0 GFLOP/s (from 1e-6 to 1e9)",
    |value| (1e-6..=1e9).contains(&value)
);
quantity!(
    /// How many samples a device holds; a decimal is an effective count.
    Samples, " samples", "a sample count above 0 (from 1e-6 to 1e12)",
    |value| (1e-6..=1e12).contains(&value)
);
quantity!(
    /// A probability that may not be zero.
    Probability, "", "a probability above 0 and at most 1",
    |value| (f64::MIN_POSITIVE..=1.0).contains(&value)
);

impl Probability {
    /// The probability of a certain event.
    pub const ONE: Self = Self(1.0);
    /// The paper's choice for fixed sampling.
    pub const ONE_FIFTH: Self = Self(0.2);
}

impl Decibel {
    /// The ratio as a factor: 10^(dB/10).
    pub fn factor(self) -> f64 {
        10.0_f64.powf(self.0 / 10.0)
    }
}

impl Mbit {
    /// How long this takes to send at `bandwidth`.
    pub fn send_secs(self, bandwidth: Mbps) -> Result<Secs, OutOfRange> {
        Secs::new(self.0 / bandwidth.0)
    }
}

impl Gflop {
    /// The work of a device without anything to compute.
    pub const ZERO: Self = Self(0.0);

    /// How long this takes to compute at `speed`.
    pub fn compute_secs(self, speed: GflopPerSec) -> Result<Secs, OutOfRange> {
        Secs::new(self.0 / speed.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_quantity_is_refused() {
        for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 1e-300, 1e300] {
            assert!(Secs::new(wrong).is_err(), "{wrong}");
            assert!(Mbps::new(wrong).is_err(), "{wrong}");
            assert!(Samples::new(wrong).is_err(), "{wrong}");
        }
        assert!(Mbps::new(0.0).is_err());
        assert!(Samples::new(0.0).is_err());
        assert!(Probability::new(0.0).is_err());
        assert!(Probability::new(1.0 + f64::EPSILON).is_err());
        assert!(Probability::new(f64::NAN).is_err());
    }

    #[test]
    fn minus_zero_becomes_zero() {
        let zero = Secs::new(-0.0).map(Secs::get);
        assert_eq!(zero.map(f64::to_bits), Ok(0.0_f64.to_bits()));
    }

    #[test]
    fn units_divide_as_they_should() {
        let secs = Mbit::new(50.0).unwrap().send_secs(Mbps::new(100.0).unwrap());
        assert_eq!(secs, Secs::new(0.5));
        let secs = Gflop::new(0.9).unwrap().compute_secs(GflopPerSec::new(4.5).unwrap());
        assert_eq!(secs, Secs::new(0.2));
        assert_eq!(Mbps::new(100.0).unwrap().to_string(), "100 Mbit/s");
    }
}
