//! The sums of a device's evaluation, as messages.

use fedflip_learn::Sums;
use fedflip_learn::metrics::{ACTUAL, CORRECT, CORRECT_AMONG_BEST, COUNT, PREDICTED, TRUE_POSITIVE};

use super::limits::{SUM_NAME_BYTES_MAX, SUMS_MAX, TRAIN_LOSS_MAX};
use super::v1::evaluated::Sum;
use crate::reason::Reason;

/// The message of sums; none if a server would refuse them, as it does if the model has diverged.
pub fn message(sums: &Sums) -> Option<Vec<Sum>> {
    let message: Vec<Sum> = sums.iter().map(|(name, value)| Sum { name: name.to_owned(), value }).collect();
    checked(&message, f64::INFINITY).is_ok().then_some(message)
}

/// The sums of a message, if they can be those of a device with this many samples. No message stands for no samples.
pub fn checked(message: &[Sum], samples: f64) -> Result<Sums, Reason> {
    if message.len() > SUMS_MAX {
        return Err(Reason::BadMessage);
    }
    let mut sorted: Vec<&Sum> = message.iter().collect();
    // In one order, whatever the device's: sums of many devices are added quickly then.
    sorted.sort_by(|one, other| one.name.cmp(&other.name));
    if sorted.windows(2).any(|pair| pair[0].name == pair[1].name) {
        return Err(Reason::BadMessage);
    }
    let mut sums = Sums::default();
    for Sum { name, value } in sorted {
        let is_name = (1..=SUM_NAME_BYTES_MAX).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_name || !value.is_finite() {
            return Err(Reason::BadMessage);
        }
        sums.add(name, *value);
    }
    let count = sums.get(COUNT);
    let is_possible = |(name, value): (&str, f64)| match counts_samples(name) {
        true => (0.0..=count).contains(&value),
        false => value.abs() <= count * TRAIN_LOSS_MAX,
    };
    let is_sensible = if message.is_empty() { true } else { (1.0..=samples).contains(&count) };
    if is_sensible && sums.iter().all(is_possible) { Ok(sums) } else { Err(Reason::BadMessage) }
}

/// Whether a sum counts some of the samples.
fn counts_samples(name: &str) -> bool {
    [COUNT, CORRECT, CORRECT_AMONG_BEST].contains(&name)
        || [TRUE_POSITIVE, PREDICTED, ACTUAL].iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sums: &[(&str, f64)]) -> Result<Sums, Reason> {
        let sums: Vec<Sum> = sums.iter().map(|&(name, value)| Sum { name: name.to_owned(), value }).collect();
        checked(&sums, 10.0)
    }

    #[test]
    fn sums_that_no_device_can_have_are_refused() {
        assert_eq!(check(&[("loss", -3.5), ("count", 10.0), ("correct", 4.0)]).unwrap().mean("loss"), -0.35);
        assert!(check(&[]).is_ok());
        let long = "n".repeat(65);
        let many: Vec<String> = (0..=SUMS_MAX).map(|sum| format!("sum-{sum}")).collect();
        let many: Vec<(&str, f64)> =
            many.iter().map(|name| (&name[..], 0.0)).chain([("count", 1.0)]).collect();
        for bad in [
            &[("count", f64::NAN)][..],
            &[("count", 1.0), ("loss", f64::INFINITY)],
            &[("count", 1.0), ("loss", 1e10)],
            &[("count", -1.0)],
            &[("count", 0.0)],
            &[("count", 11.0)],
            &[("loss", 1.0)],
            &[("count", 2.0), ("correct", 3.0)],
            &[("count", 2.0), ("actual/3", -1.0)],
            &[("count", 1.0), ("count", 1.0)],
            &[("count", 1.0), (&long, 1.0)],
            &[("count", 1.0), ("a\nb", 1.0)],
            &[("count", 1.0), ("", 1.0)],
            &many,
        ] {
            assert_eq!(check(bad).unwrap_err(), Reason::BadMessage, "{:?}", &bad[..bad.len().min(3)]);
        }
    }
}
