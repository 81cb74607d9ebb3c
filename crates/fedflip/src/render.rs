//! Numbers, tables and histograms for people.

use std::io::{self, Write};

/// A number with about `digits` significant digits, thin enough for a table.
pub(crate) fn significant(value: f64, digits: usize) -> String {
    // Counts stay counts.
    if value.fract() == 0.0 && value.abs() < 1e9 {
        return format!("{value:.0}");
    }
    if !value.is_finite() {
        return "–".to_owned();
    }
    // Of the rounded value: 0.9999 to three digits is 1.00, not 1.000.
    let rounded: f64 = format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value);
    let magnitude = rounded.abs().log10().floor() as i32;
    if !(-4..=9).contains(&magnitude) {
        return format!("{value:.*e}", digits.saturating_sub(1));
    }
    let decimals = (digits as i32 - 1 - magnitude).max(0) as usize;
    format!("{value:.decimals$}")
}

/// Seconds in a unit that a person would choose.
pub(crate) fn duration(secs: f64) -> String {
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
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", significant(100.0 * share, 3))
}

/// A count with its digits in groups of three.
pub(crate) fn count(count: usize) -> String {
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

/// `1 device`, `1,000 devices`.
pub(crate) fn devices(number: usize) -> String {
    format!("{} {}", count(number), if number == 1 { "device" } else { "devices" })
}

/// A name from a file, safe for a terminal and short enough for a table.
pub(crate) fn name(name: &str) -> String {
    const SHOWN_CHARS: usize = 32;
    let shown: String = name
        .chars()
        .take(SHOWN_CHARS)
        .flat_map(|c| if c.is_control() { c.escape_default().collect::<Vec<_>>() } else { vec![c] })
        .collect();
    if name.chars().nth(SHOWN_CHARS).is_some() { shown + "…" } else { shown }
}

/// One number if both are equal, otherwise from – to.
pub(crate) fn range((low, high): (f64, f64), unit: &str) -> String {
    let [low_text, high_text] = [low, high].map(|value| significant(value, 3));
    if high > low { format!("{low_text} – {high_text}{unit}") } else { format!("{low_text}{unit}") }
}

/// A table with a left-aligned first column and right-aligned others.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(titles: &[&str]) -> Self {
        Self { rows: vec![titles.iter().map(|&title| title.to_owned()).collect()] }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub(crate) fn write(&self, output: &mut dyn Write) -> io::Result<()> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width_of = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width_of).collect();
        for row in &self.rows {
            let mut line = String::from(" ");
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                line += if column == 0 { " " } else { "  " };
                line += &if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") };
            }
            writeln!(output, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Counts over equal steps of the logarithm, as bars one line high: `0.02 ▂▁█▅ 0.21`.
pub(crate) fn histogram(values: &[f64], unit: &str) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const BINS: usize = 24;
    let positive = || values.iter().copied().filter(|&value| value > 0.0);
    let zeros = values.len() - positive().count();
    let note = if zeros > 0 { format!("  ({zeros} × 0)") } else { String::new() };
    let (low, high) = (positive().fold(f64::INFINITY, f64::min), positive().fold(0.0, f64::max));
    if high <= 0.0 {
        return format!("    all 0 {unit}").trim_end().to_owned();
    }
    if high <= low * (1.0 + 1e-9) {
        return format!("    all {} {unit}", significant(low, 3)).trim_end().to_owned() + &note;
    }
    let mut counts = [0_usize; BINS];
    for value in positive() {
        let place = (value / low).ln() / (high / low).ln() * BINS as f64;
        counts[(place as usize).min(BINS - 1)] += 1;
    }
    let most = counts.iter().copied().max().unwrap_or(1);
    let bars: String = counts
        .iter()
        .map(|&count| if count == 0 { ' ' } else { BARS[(count * BARS.len()).div_ceil(most) - 1] })
        .collect();
    let line = format!("{:>7} ▏{bars}▕ {} {unit}", significant(low, 3), significant(high, 3));
    line.trim_end().to_owned() + &note
}

/// A device's type: its name without the number at the end.
pub(crate) fn type_of(name: &str) -> &str {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let stem = stem.trim_end_matches(['-', '_', ' ', '.', '#']);
    if stem.is_empty() { name } else { stem }
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
    }

    #[test]
    fn counts_and_names() {
        assert_eq!((devices(1), devices(1_234_567)), ("1 device".to_owned(), "1,234,567 devices".to_owned()));
        assert_eq!(count(100), "100");
        assert_eq!(name("a\u{1b}[31mb"), "a\\u{1b}[31mb");
        assert_eq!(name(&"x".repeat(40)), "x".repeat(32) + "…");
    }

    #[test]
    fn types_are_names_without_numbers() {
        assert_eq!(type_of("xiaomi-12s-07"), "xiaomi-12s");
        assert_eq!(type_of("phone"), "phone");
        assert_eq!(type_of("42"), "42");
    }

    #[test]
    fn histograms_show_where_the_values_are() {
        assert_eq!(histogram(&[2.0, 2.0], "s"), "    all 2 s");
        assert_eq!(histogram(&[0.0, 0.0], "s"), "    all 0 s");
        let bars = histogram(&[1.0, 1.0, 1.0, 100.0, 0.0], "s");
        assert!(bars.starts_with("      1 ▏█") && bars.ends_with("▃▕ 100 s  (1 × 0)"), "{bars}");
    }
}
