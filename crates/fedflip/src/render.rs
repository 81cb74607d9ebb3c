//! Names, numbers and histograms for a terminal; tables are those of reports.

use fedflip_fleet::Display;
use fedflip_fleet::printable::is_unprintable;
use fedflip_learn::metrics;

use crate::sparkline::BARS;
pub(crate) use fedflip_report::numbers::{count, devices, duration, metric_value, percent, significant};
pub(crate) use fedflip_report::table::{Cell, Table};

/// A name from a file, safe for a terminal and short enough for a table.
pub(crate) fn name(name: &str) -> String {
    const SHOWN_CHARS: usize = 32;
    let shown: String = name
        .chars()
        .take(SHOWN_CHARS)
        .flat_map(|c| if is_unprintable(c) { c.escape_default().collect::<Vec<_>>() } else { vec![c] })
        .collect();
    if name.chars().nth(SHOWN_CHARS).is_some() { shown + "…" } else { shown }
}

/// How values of a metric are shown, where only its name is known.
pub(crate) fn display_of(metric: &str) -> Display {
    metrics::metric(metric).map_or(Display::Number, |metric| metric.info.display)
}

/// One number if both are equal, otherwise from – to.
pub(crate) fn range((low, high): (f64, f64), unit: &str) -> String {
    let [low_text, high_text] = [low, high].map(|value| significant(value, 3));
    if high > low { format!("{low_text} – {high_text}{unit}") } else { format!("{low_text}{unit}") }
}

/// Counts over equal steps of the logarithm, as bars one line high: `0.02 ▂▁█▅ 0.21`.
pub(crate) fn histogram(values: &[f64], unit: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_and_short() {
        assert_eq!(name("a\u{1b}[31mb"), "a\\u{1b}[31mb");
        assert_eq!(name(&"x".repeat(40)), "x".repeat(32) + "…");
    }

    #[test]
    fn histograms_show_where_the_values_are() {
        assert_eq!(histogram(&[2.0, 2.0], "s"), "    all 2 s");
        assert_eq!(histogram(&[0.0, 0.0], "s"), "    all 0 s");
        let bars = histogram(&[1.0, 1.0, 1.0, 100.0, 0.0], "s");
        assert!(bars.starts_with("      1 ▏█") && bars.ends_with("▃▕ 100 s  (1 × 0)"), "{bars}");
    }
}
