//! Draws without replacement, by weight.

/// Draws `count` of the devices one after the other, each in proportion to its weight among those that are left, and
/// returns them in the order of the draws.
///
/// Efraimidis and Spirakis (2006): the devices with the smallest −ln(u)/weight, u being uniform. One number per device,
/// whatever the weights.
pub(crate) fn without_replacement(
    weighted: impl IntoIterator<Item = (usize, f64)>,
    count: usize,
    mut uniform: impl FnMut() -> f64,
) -> Vec<usize> {
    let mut keyed: Vec<(f64, usize)> =
        weighted.into_iter().map(|(device, weight)| (-uniform().ln() / weight, device)).collect();
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    keyed.into_iter().take(count).map(|(_, device)| device).collect()
}

#[cfg(test)]
mod tests {
    use fedflip_fleet::{Purpose, StreamKey};
    use rand::RngExt;

    use super::*;

    /// The probability of an ordered pair is w_i/Σw · w_j/(Σw − w_i).
    #[test]
    fn every_order_is_as_likely_as_in_draws_one_after_the_other() {
        let weights = [0.5, 0.25, 0.15, 0.1];
        let draws = 60_000;
        let mut counts = [[0_u32; 4]; 4];
        for round in 0..draws {
            let mut stream = StreamKey { seed: 3, purpose: Purpose::Test, round }.shared();
            let pair = without_replacement((0..).zip(weights), 2, || stream.random());
            counts[pair[0]][pair[1]] += 1;
        }
        for (first, row) in counts.iter().enumerate() {
            for (second, &count) in row.iter().enumerate() {
                let chance = weights[first] * weights[second] / (1.0 - weights[first]);
                let chance = if first == second { 0.0 } else { chance };
                let share = f64::from(count) / draws as f64;
                let error = (chance * (1.0 - chance) / draws as f64).sqrt();
                assert!((share - chance).abs() <= 5.0 * error, "{first} {second}: {share} {chance}");
            }
        }
    }

    #[test]
    fn there_are_no_more_draws_than_devices() {
        let all = without_replacement([(4, 1.0), (9, 0.0)], 5, || 0.5);
        assert_eq!(all, [4, 9]);
        assert!(without_replacement([], 5, || 0.5).is_empty());
    }
}
