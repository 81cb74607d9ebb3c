//! The time of downloads in units of the modelled time, such that no few devices decide it.

use super::believed;

/// The devices that must have downloaded before the time of downloads counts: with fewer, one of them would decide.
const DEVICES_MIN: usize = 3;
/// Downloads count as at most this many times longer or shorter than they are modelled.
const RATIO_MAX: f64 = 10.0;

/// The median of the ratios of devices, within bounds; none if there are too few.
pub(super) fn ratio(of_devices: Vec<f64>) -> Option<f64> {
    let is_enough = of_devices.len() >= DEVICES_MIN;
    let median = believed::median(of_devices).filter(|_| is_enough);
    median.map(|ratio| ratio.clamp(1.0 / RATIO_MAX, RATIO_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minority_decides_nothing_about_downloads() {
        assert_eq!(ratio(vec![1e6, 1e6, 1.2, 1.2, 1.2]), Some(1.2));
        assert_eq!(ratio(vec![0.0, 0.0, 1.2, 1.2, 1.2]), Some(1.2));
    }

    #[test]
    fn too_few_devices_decide_nothing_and_all_together_only_within_bounds() {
        for few in [vec![], vec![5.0], vec![5.0, 5.0]] {
            assert_eq!(ratio(few), None);
        }
        assert_eq!(ratio(vec![1e6; 3]), Some(10.0));
        assert_eq!(ratio(vec![0.0; 4]), Some(0.1));
    }
}
