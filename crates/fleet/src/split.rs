//! The split of a number of samples over the devices of a generated fleet.

use rand_distr::{Distribution, Gamma};

use crate::error::FleetError;
use crate::fleet::DEVICES_MAX;
use crate::stream::{Purpose, StreamKey};
use crate::units::plain;

/// Splits `total` into whole counts of at least one with Dirichlet(concentration) shares.
///
/// Shares are Gamma(concentration) draws from one stream per device, divided by their sum. Each device
/// gets one sample, and the rest by its share, rounded so that the running total is never off by more
/// than half a sample: the counts sum to `total` exactly.
pub(crate) fn split_samples(
    devices: usize,
    total: u64,
    concentration: f64,
    seed: u64,
) -> Result<Vec<u64>, FleetError> {
    check_counts(devices, total)?;
    let wrong_concentration = || FleetError::Recipe {
        what: "concentration",
        problem: format!("{} is out of range", plain(concentration)),
        hint: "it must be a number from 0.01 (one device holds nearly all) to 1e6 (all hold the same)"
            .to_owned(),
    };
    if !(0.01..=1e6).contains(&concentration) {
        return Err(wrong_concentration());
    }
    let gamma = Gamma::new(concentration, 1.0).map_err(|_| wrong_concentration())?;
    let key = StreamKey { seed, purpose: Purpose::FleetSamples, round: 0 };
    let mut shares: Vec<f64> =
        (0..devices as u64).map(|device| gamma.sample(&mut key.device(device))).collect();
    // Very small concentrations can underflow every draw to 0: an even split is then as good as any.
    if shares.iter().sum::<f64>() <= 0.0 {
        shares.fill(1.0);
    }
    let share_sum: f64 = shares.iter().sum();

    let spare = total - devices as u64;
    let (mut drawn, mut given) = (0.0, 0);
    let mut counts: Vec<u64> = shares
        .iter()
        .map(|share| {
            drawn += share;
            let due = ((spare as f64 * (drawn / share_sum)).round() as u64).clamp(given, spare);
            let count = 1 + due - given;
            given = due;
            count
        })
        .collect();
    // Rounding of the running sum may leave the last few to nobody.
    if let Some(last) = counts.last_mut() {
        *last += spare - given;
    }
    Ok(counts)
}

/// Checks that there are devices, and enough samples for all of them.
fn check_counts(devices: usize, total: u64) -> Result<(), FleetError> {
    if devices == 0 {
        return Err(FleetError::NoDevices);
    }
    if devices > DEVICES_MAX {
        return Err(FleetError::Recipe {
            what: "devices",
            problem: format!("{devices} is out of range"),
            hint: format!("a fleet holds at most {DEVICES_MAX} devices"),
        });
    }
    // Beyond 2⁵³ a count is no longer exact as f64.
    if total < devices as u64 || total > 1 << 53 {
        return Err(FleetError::Recipe {
            what: "samples_total",
            problem: format!("{total} samples cannot be split over {devices} devices"),
            hint: "give every device at least one sample, and not more than 2^53 in all".to_owned(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_split_to_the_last_one() {
        for (devices, total, concentration) in
            [(10, 10, 0.8), (7, 1000, 0.01), (100, 60_000, 0.8), (3, 1 << 53, 1e6)]
        {
            let counts = split_samples(devices, total, concentration, 3).unwrap();
            assert_eq!(counts.iter().sum::<u64>(), total);
            assert!(counts.iter().all(|&count| count >= 1));
        }
    }

    /// Var(share) of a symmetric Dirichlet is (1/N)(1 − 1/N)/(N·concentration + 1).
    #[test]
    fn the_split_is_as_skewed_as_a_dirichlet() {
        let (devices, total) = (1000, 100_000_000);
        let counts = split_samples(devices, total, 0.8, 11).unwrap();
        let mean = 1.0 / devices as f64;
        let shares = counts.iter().map(|&count| count as f64 / total as f64);
        let variance = shares.map(|share| (share - mean).powi(2)).sum::<f64>() / devices as f64;
        let expected = mean * (1.0 - mean) / (devices as f64 * 0.8 + 1.0);
        assert!((variance / expected - 1.0).abs() < 0.25, "{variance} against {expected}");
    }
}
