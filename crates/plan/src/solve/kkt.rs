//! The distance of a q from the optimality conditions.

use super::ratio::clipped;
use crate::problem::RoundModel;

/// The largest relative distance of a q_n from its value under the conditions; infinite for a q that is
/// not a probability, so that nothing wrong can pass for optimal.
pub(crate) fn residual(q: &[f64], target: impl Fn(usize) -> f64) -> f64 {
    let mut worst = 0.0_f64;
    for (n, &q) in q.iter().enumerate() {
        let distance = (q - target(n)).abs() / q;
        if distance.is_nan() || q <= 0.0 || q > 1.0 {
            return f64::INFINITY;
        }
        worst = worst.max(distance);
    }
    worst
}

/// For a round time with value and gradient at q: q_n = min(cap_n, a_n √(ρ/∂_n)), ρ = value/(β − C(q)).
pub(crate) fn ratio_residual(
    model: &RoundModel<'_, '_>,
    q: &[f64],
    round_secs: f64,
    gradient: &[f64],
) -> f64 {
    let Some(headroom) = model.headroom(q) else { return f64::INFINITY };
    let fleet = model.problem().fleet();
    let root_value = (round_secs / headroom).sqrt();
    residual(q, |n| clipped(fleet.weights()[n], fleet.availability()[n], gradient[n], root_value))
}

#[cfg(test)]
mod tests {
    use super::residual;

    #[test]
    fn nothing_wrong_passes_for_optimal() {
        for wrong in [-0.5, 0.0, 1.5, f64::NAN, f64::INFINITY] {
            assert_eq!(residual(&[0.5, wrong], |_| 0.5), f64::INFINITY, "{wrong}");
            assert!(residual(&[0.5], |_| wrong) > 0.5, "{wrong}");
        }
        assert_eq!(residual(&[0.5, 0.25], |n| [0.5, 0.375][n]), 0.5);
    }
}
