//! f32 for training, f64 for checking it: one trait for both.

use std::fmt::{Debug, Display};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

/// A floating-point number that kernels compute with.
pub trait Real:
    Copy
    + Debug
    + Display
    + Default
    + PartialOrd
    + Send
    + Sync
    + Sum
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + 'static
{
    /// The number 0 of this type.
    const ZERO: Self;
    /// The number 1 of this type.
    const ONE: Self;
    /// −∞: where a maximum starts.
    const LOWEST: Self;

    /// Rounds to this type.
    fn from_f64(value: f64) -> Self;
    /// The number as an f64.
    fn to_f64(self) -> f64;
    /// The exponential eˣ of the number.
    fn exp(self) -> Self;
    /// The natural logarithm of the number.
    fn ln(self) -> Self;
    /// The larger of two numbers.
    fn max(self, other: Self) -> Self;
}

macro_rules! real {
    ($type:ty) => {
        impl Real for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const LOWEST: Self = <$type>::NEG_INFINITY;

            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $type
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            #[inline(always)]
            fn exp(self) -> Self {
                <$type>::exp(self)
            }

            #[inline(always)]
            fn ln(self) -> Self {
                <$type>::ln(self)
            }

            #[inline(always)]
            fn max(self, other: Self) -> Self {
                if other > self { other } else { self }
            }
        }
    };
}

real!(f32);
real!(f64);

/// The sum in sixteen lanes: they vectorise, where a single chain of additions has to wait for each, and
/// what rounding loses is a sixteenth.
pub fn sum<T: Real>(values: &[T]) -> T {
    let (chunks, rest) = values.as_chunks::<16>();
    let mut lanes = [T::ZERO; 16];
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, &value)| *lane += value);
    }
    lanes.iter().chain(rest).copied().sum()
}

#[cfg(test)]
mod tests {
    use super::sum;

    #[test]
    fn nothing_is_left_out_of_a_sum() {
        for len in [0_u32, 1, 15, 16, 17, 100] {
            let values: Vec<f64> = (1..=len).map(f64::from).collect();
            assert_eq!(sum(&values), f64::from(len * (len + 1) / 2));
        }
    }
}
