//! Bounds the numbers of a single device by those of the others, so that neither a claim nor a delay of one device makes
//! all others wait.

/// A device counts as at most this many times slower than the others.
const BEYOND_OTHERS_MAX: f64 = 10.0;
/// A plan accepts this compute time in any case: a device that claims more than the others may well be slower.
const PLANNED_SECS: f64 = 10.0;

/// The bounds on the numbers of any device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Believed {
    /// The longest claimed compute time that a plan accepts.
    pub compute_secs_max: f64,
    /// The longest upload of a device with the whole bandwidth for itself that a deadline counts.
    pub upload_secs_max: f64,
    /// The compute time of slow devices, but not of the slowest.
    others_secs: f64,
    /// A device has reported: claims do not count for deadlines any more.
    is_measured: bool,
}

impl Believed {
    /// From the reported compute times, the claimed ones, and the uploads of all devices, each with the whole bandwidth for
    /// itself.
    pub(super) fn beside(reported: Vec<f64>, claimed: Vec<f64>, upload_secs: Vec<f64>) -> Self {
        let is_measured = !reported.is_empty();
        let others_secs =
            if is_measured { slow_but_not_slowest(reported) } else { median(claimed).unwrap_or(0.0) };
        let upload_secs = slow_but_not_slowest(upload_secs);
        Self {
            compute_secs_max: (BEYOND_OTHERS_MAX * others_secs).max(PLANNED_SECS),
            upload_secs_max: if upload_secs > 0.0 { BEYOND_OTHERS_MAX * upload_secs } else { f64::INFINITY },
            others_secs,
            is_measured,
        }
    }

    /// The compute time of a device in an automatic deadline: its measured time, within bounds. A device that has never
    /// reported counts like the others; before any report its claim counts, within bounds.
    pub(super) fn deadline_secs(self, reported_secs: Option<f64>, claimed_secs: f64) -> f64 {
        let bound_secs = BEYOND_OTHERS_MAX * self.others_secs;
        match reported_secs {
            Some(secs) => secs.min(bound_secs),
            None if self.is_measured => self.others_secs,
            None => claimed_secs.min(bound_secs),
        }
    }
}

/// The lower median; none without numbers.
pub(super) fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len().saturating_sub(1) / 2).copied()
}

/// The largest number without the top fifth (at least one): a type of slow devices is part of a fleet, a few devices that
/// delay on purpose are not.
fn slow_but_not_slowest(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(|a, b| b.total_cmp(a));
    let left_out = numbers.len().div_ceil(5).min(numbers.len().saturating_sub(1));
    numbers.get(left_out).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Up to a fifth of the fleet, and one device in any fleet of two or more, changes nothing for the others.
    #[test]
    fn a_fifth_of_the_fleet_cannot_extend_a_deadline() {
        for devices in 2..40_usize {
            let liars = devices.div_ceil(5).min(devices - 1);
            let times = |lie: f64| -> Vec<f64> {
                (0..devices).map(|device| if device < liars { lie } else { 0.5 }).collect()
            };
            for lie in [1.0, 3600.0, 1e9] {
                let believed = Believed::beside(times(lie), times(86_400.0), times(lie));
                assert!(believed.deadline_secs(Some(lie), 86_400.0) <= 5.0, "{devices} devices, {lie} s");
                assert_eq!(believed.deadline_secs(None, 86_400.0), 0.5, "a claim does not count");
                assert!(believed.upload_secs_max <= 5.0);
            }
        }
    }

    #[test]
    fn before_anybody_has_reported_a_claim_counts_within_ten_times_the_median() {
        let believed = Believed::beside(Vec::new(), vec![0.5, 0.5, 0.5, 86_400.0], Vec::new());
        assert_eq!(believed.deadline_secs(None, 86_400.0), 5.0);
        assert_eq!(believed.deadline_secs(None, 2.0), 2.0);
        assert_eq!(Believed::beside(Vec::new(), Vec::new(), Vec::new()).deadline_secs(None, 3.0), 0.0);
        // A device that is alone is believed.
        assert_eq!(Believed::beside(vec![70.0], vec![70.0], vec![1.0]).deadline_secs(Some(70.0), 1.0), 70.0);
    }
}
