//! Numbers for people: as few digits as say it, with units.

use fedflip_fleet::Display;

pub use fedflip_fleet::units::significant;

/// Seconds in a unit that a person would choose.
pub fn duration(secs: f64) -> String {
    let (value, unit) = match secs {
        s if !s.is_finite() => return "–".to_owned(),
        0.0 => (0.0, "s"),
        s if s < 1e-3 => (s * 1e6, "µs"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s if s < 300.0 => (s, "s"),
        s if s < 3.0 * 3600.0 => (s / 60.0, "min"),
        s => (s / 3600.0, "h"),
    };
    format!("{} {unit}", significant(value, 3))
}

/// A share as a percentage.
pub fn percent(share: f64) -> String {
    format!("{} %", significant(100.0 * share, 3))
}

/// A value of a metric: a share in percent, or a number.
pub fn metric_value(display: Display, value: f64) -> String {
    match display {
        Display::Share => percent(value),
        Display::Number => significant(value, 3),
    }
}

/// How many times as much: `1.27×`.
pub fn times(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.2}×") } else { format!("{}×", significant(ratio, 3)) }
}

/// A count with its digits in groups of three.
pub fn count(count: usize) -> String {
    let digits = count.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A count of something, such as `1 run` or `1,000 runs`.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}

/// `1 device`, `1,000 devices`.
pub fn devices(number: usize) -> String {
    counted(number, "device")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let cases = [
            (0.0, "0"),
            (1234.5678, "1235"),
            (0.012345, "0.0123"),
            (0.999_99, "1.00"),
            (1e-9, "1.00e-9"),
            (3e12, "3.00e12"),
            (f64::INFINITY, "–"),
        ];
        for (value, expected) in cases {
            assert_eq!(significant(value, 3), expected);
        }
        assert_eq!(duration(0.000_012_3), "12.3 µs");
        assert_eq!(duration(7200.0), "120 min");
        assert_eq!(duration(36_000.0), "10 h");
        assert_eq!(percent(0.0123), "1.23 %");
        assert_eq!([times(1.0), times(11.26)], ["1.00×", "11.3×"]);
    }

    #[test]
    fn counts_have_groups() {
        assert_eq!((devices(1), devices(1_234_567)), ("1 device".to_owned(), "1,234,567 devices".to_owned()));
        assert_eq!(count(100), "100");
    }
}
