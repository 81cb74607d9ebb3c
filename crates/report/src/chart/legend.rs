//! What the colours mean, in rows above a chart.

use super::canvas::{Anchor, Canvas, Shape};
use super::palette::SchemeStyle;

/// A colour or a shape, and its meaning in words.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub text: String,
    pub sign: Sign,
}

impl Entry {
    pub(crate) fn new(text: &str, sign: Sign) -> Self {
        Self { text: text.to_owned(), sign }
    }

    pub(crate) fn of_scheme(scheme: &str) -> Self {
        Self::new(scheme, Sign::Line(SchemeStyle::of(scheme).line_class()))
    }
}

/// What stands in front of the text.
#[derive(Clone, Debug)]
pub(crate) enum Sign {
    /// A line of this class.
    Line(String),
    /// A mark of this class.
    Mark(String, Shape),
    /// A box of this class.
    Box(&'static str),
}

const ROW_PX: f64 = 18.0;
const SIGN_PX: f64 = 24.0;
const GAP_PX: f64 = 18.0;

/// About as wide as a text is drawn, in pixels: fonts differ, so with some room.
pub(crate) fn width_px(text: &str) -> f64 {
    7.0 * text.chars().count() as f64
}

/// How high the legend is in a figure so wide.
pub(crate) fn height_px(entries: &[Entry], width: f64) -> f64 {
    ROW_PX * places(entries, width).last().map_or(0.0, |(_, row)| row + 1.0)
}

pub(crate) fn draw(canvas: &mut Canvas, entries: &[Entry], (left, top): (f64, f64), width: f64) {
    for (entry, (x, row)) in entries.iter().zip(places(entries, width)) {
        let (x, y) = (left + x, top + ROW_PX * (row + 0.5));
        match &entry.sign {
            Sign::Line(class) => canvas.line(class, (x, y), (x + SIGN_PX - 6.0, y)),
            Sign::Mark(class, shape) => canvas.mark(class, *shape, (x + 9.0, y), 4.0, ""),
            Sign::Box(class) => canvas.rect(class, (x + 2.0, y - 5.0), (14.0, 10.0), ""),
        }
        canvas.text("label", (x + SIGN_PX, y + 4.0), Anchor::Start, &entry.text);
    }
}

/// Where each entry stands: how far from the left, and in which row.
fn places(entries: &[Entry], width: f64) -> Vec<(f64, f64)> {
    let (mut x, mut row) = (0.0, 0.0);
    let place = |entry: &Entry| {
        let needed = SIGN_PX + width_px(&entry.text);
        if x > 0.0 && x + needed > width {
            (x, row) = (0.0, row + 1.0);
        }
        let at = (x, row);
        x += needed + GAP_PX;
        at
    };
    entries.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_wrap_before_the_edge() {
        let entry = |text: &str| Entry::new(text, Sign::Box(""));
        let entries = [entry("exact"), entry("paper"), entry("weighted")];
        let rows: Vec<f64> = places(&entries, 200.0).iter().map(|(_, row)| *row).collect();
        assert_eq!(rows, [0.0, 0.0, 1.0]);
        assert_eq!(height_px(&entries, 200.0), 2.0 * ROW_PX);
        assert_eq!(height_px(&[], 200.0), 0.0);
    }
}
