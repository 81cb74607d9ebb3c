//! Sigmoid and hyperbolic tangent of f32 without branches, calls or tables.
//!
//! The standard library's are exact to the last bit or so, but are calls: a loop over them stays scalar,
//! and an LSTM evaluates five for each unit and step. These cost a few multiplications, become vector code
//! in any loop, and are off by at most two or three units in the last place. Both pass
//! NaN on, so that a training that blew up is noticed.

/// Powers of two are made from exponent bits, which hold −126 to 127; beyond ±87, eˣ would need others.
const EXP_MAX: f32 = 87.0;

/// Added to a small number, rounds it to an integer and leaves that, plus 127, in the lowest bits.
const ROUNDER: f32 = 12_582_912.0 + 127.0;

/// ln 2 in two parts: the first has so few bits that its product with an exponent is exact.
const LN_2_HIGH: f32 = 355.0 / 512.0;
const LN_2_LOW: f32 = -2.121_944_4e-4;

/// Where tanh changes from its polynomial to eˣ.
const TANH_NEAR: f32 = 0.625;

/// x within ±max; NaN stays NaN, which is why this is not `f32::clamp` with its panic, nor `f32::min`.
#[inline(always)]
fn within(x: f32, max: f32) -> f32 {
    let x = if x > max { max } else { x };
    if x < -max { -max } else { x }
}

/// eˣ for x within ±87, and e^±87 beyond: x = k·ln 2 + r with |r| ≤ ½ ln 2, the polynomial of Cephes for
/// eʳ, then k into the exponent.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    let x = within(x, EXP_MAX);
    let shifted = x * std::f32::consts::LOG2_E + ROUNDER;
    let k = shifted - ROUNDER;
    let r = (x - k * LN_2_HIGH) - k * LN_2_LOW;
    let mut tail = 1.987_569_1e-4;
    tail = tail * r + 1.398_199_9e-3;
    tail = tail * r + 8.333_452e-3;
    tail = tail * r + 4.166_579_6e-2;
    tail = tail * r + 1.666_666_5e-1;
    tail = tail * r + 0.5;
    let power = f32::from_bits(shifted.to_bits() << 23);
    ((tail * r) * r + r + 1.0) * power
}

/// The logistic function 1/(1 + e⁻ˣ).
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// tanh x: around 0, where the way by eˣ would lose its digits, the odd polynomial of Cephes. Both ways are
/// taken and one is kept: in vector code that is cheaper than to ask first.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    let size = x.abs();
    let far = 1.0 - 2.0 / (exp(size + size) + 1.0);
    let square = x * x;
    let mut tail = -5.704_988_7e-3;
    tail = tail * square + 2.063_909e-2;
    tail = tail * square - 5.373_971_6e-2;
    tail = tail * square + 1.333_144_2e-1;
    tail = tail * square - 3.333_328e-1;
    let near = tail * square * size + size;
    (if size < TANH_NEAR { near } else { far }).copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest distance from the true value over ±`reach`, in units of the last place of f32.
    fn worst(reach: f32, ours: fn(f32) -> f32, truth: fn(f64) -> f64) -> f64 {
        let steps = 400_000;
        let off = |n: i32| {
            let x = reach * (n as f32 / steps as f32);
            let truth = truth(f64::from(x));
            let ulp = f64::from((truth as f32).abs().next_up()) - f64::from((truth as f32).abs());
            (f64::from(ours(x)) - truth).abs() / ulp
        };
        (-steps..=steps).map(off).fold(0.0, f64::max)
    }

    #[test]
    fn close_to_the_truth() {
        let sigmoid_truth = |x: f64| 1.0 / (1.0 + (-x).exp());
        for (name, off, at_most) in [
            ("exp", worst(86.9, exp, f64::exp), 1.6),
            ("sigmoid", worst(20.0, sigmoid, sigmoid_truth), 2.6),
            ("sigmoid, far out", worst(86.9, sigmoid, sigmoid_truth), 2.6),
            ("tanh", worst(12.0, tanh, f64::tanh), 2.0),
            ("tanh, near 0", worst(1e-3, tanh, f64::tanh), 2.0),
        ] {
            assert!(off <= at_most, "{name} is off by {off} units in the last place");
        }
    }

    #[test]
    fn ends_and_nan() {
        assert_eq!((sigmoid(f32::INFINITY), tanh(f32::INFINITY)), (1.0, 1.0));
        assert_eq!(tanh(f32::NEG_INFINITY), -1.0);
        let least = sigmoid(f32::NEG_INFINITY);
        assert!((0.0..1e-37).contains(&least), "{least}");
        assert!(sigmoid(f32::NAN).is_nan() && tanh(f32::NAN).is_nan() && exp(f32::NAN).is_nan());
        assert!((-100_000..100_000).all(|n| tanh(n as f32 * 1e-4).abs() <= 1.0));
    }
}
