//! Random draws spelled out to the last bit, so that a partition can be made again in any language.
//!
//! A stream gives words of 64 bits. From these:
//!
//! - [`below`] n: the upper half of the 128-bit product word · n.
//! - [`uniform`]: the upper 53 bits of a word, as a number from 0 up to but not 1.
//! - [`normal`]: Marsaglia's polar method. Draw a = 2u − 1, then b = 2u − 1, again until s = a² + b² lies
//!   strictly between 0 and 1; the answer is a · √(−2 ln s / s), and b serves no further.
//! - [`log_gamma`] of shape k: a variable g of shape k + 1 by Marsaglia and Tsang, with d = k + 2/3 and
//!   c = 1/√(9d): draw a normal x and set v = (1 + c·x)³; if v ≤ 0, draw again; then draw a uniform u and
//!   take g = d·v if ln u < x²/2 + d − d·v + d·ln v, otherwise draw again. Then, with one more uniform u,
//!   the answer is ln g + ln(1 − u)/k: for small k the variable itself would underflow.

use rand::Rng;

/// A whole number below `bound`, which is not 0. (Uneven by at most `bound`/2⁶⁴.)
pub(super) fn below(stream: &mut impl Rng, bound: usize) -> usize {
    ((u128::from(stream.next_u64()) * bound as u128) >> 64) as usize
}

fn uniform(stream: &mut impl Rng) -> f64 {
    (stream.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

fn normal(stream: &mut impl Rng) -> f64 {
    loop {
        let a = 2.0 * uniform(stream) - 1.0;
        let b = 2.0 * uniform(stream) - 1.0;
        let s = a * a + b * b;
        if 0.0 < s && s < 1.0 {
            return a * (-2.0 * s.ln() / s).sqrt();
        }
    }
}

/// The logarithm of a gamma variable.
pub(super) fn log_gamma(stream: &mut impl Rng, shape: f64) -> f64 {
    let d = shape + 2.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    let larger = loop {
        let x = normal(stream);
        let t = 1.0 + c * x;
        let v = t * t * t;
        if v > 0.0 && uniform(stream).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            break d * v;
        }
    };
    larger.ln() + (1.0 - uniform(stream)).ln() / shape
}

/// Fisher–Yates: the last item changes places with one at or before it, then the last but one, and so on.
pub(super) fn shuffle<T>(items: &mut [T], stream: &mut impl Rng) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(stream, last + 1));
    }
}

#[cfg(test)]
mod tests {
    use fedflip_fleet::{Purpose, StreamKey};

    use super::*;

    /// Mean and variance of gamma variables are both their shape.
    #[test]
    fn gamma_variables_have_their_mean_and_variance() {
        for shape in [0.3, 0.8, 1.0, 5.0, 100.0] {
            let mut stream = StreamKey { seed: 7, purpose: Purpose::Test, round: 0 }.shared();
            let draws: Vec<f64> = (0..40_000).map(|_| log_gamma(&mut stream, shape).exp()).collect();
            let mean = draws.iter().sum::<f64>() / draws.len() as f64;
            let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / draws.len() as f64;
            // Within four standard errors; that of the variance grows with the kurtosis, 6/shape.
            let error = 4.0 / (draws.len() as f64).sqrt();
            assert!((mean - shape).abs() < error * shape.sqrt(), "{shape}: mean {mean}");
            let spread = shape * (2.0 + 6.0 / shape).sqrt();
            assert!((variance - shape).abs() < error * spread, "{shape}: variance {variance}");
        }
    }

    #[test]
    fn every_order_comes_up_about_as_often() {
        let mut stream = StreamKey { seed: 7, purpose: Purpose::Test, round: 1 }.shared();
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..24_000 {
            let mut items = [0, 1, 2, 3];
            shuffle(&mut items, &mut stream);
            *counts.entry(items).or_insert(0_i32) += 1;
        }
        assert_eq!(counts.len(), 24);
        assert!(counts.values().all(|count| (count - 1000).abs() < 130), "{counts:?}");
    }
}
