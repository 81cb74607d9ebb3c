//! The plot area of a chart: grid, axes, ticks and titles with units.

use super::canvas::{Anchor, Canvas};
use super::scale::{Scale, tick_label};

/// A plot area with its scales.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlotArea {
    pub x: Scale,
    pub y: Scale,
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

/// Room for the labels of the vertical axis, and for a title of the horizontal one.
const LEFT_PX: f64 = 58.0;
const RIGHT_PX: f64 = 14.0;
const BOTTOM_PX: f64 = 44.0;

impl PlotArea {
    /// In a figure of a size, below `top` pixels of something else.
    pub(crate) fn new(size: (f64, f64), top: f64, x_range: (f64, f64), y_range: (f64, f64)) -> Self {
        let (left, width) = (LEFT_PX, size.0 - LEFT_PX - RIGHT_PX);
        let height = size.1 - top - BOTTOM_PX;
        Self {
            x: Scale::new(x_range, (left, left + width)),
            y: Scale::new(y_range, (top + height, top)),
            left,
            top,
            width,
            height,
        }
    }

    /// Where a value is.
    pub(crate) fn at(self, x: f64, y: f64) -> (f64, f64) {
        (self.x.px(x), self.y.px(y))
    }

    pub(crate) fn left(self) -> f64 {
        self.left
    }

    pub(crate) fn right(self) -> f64 {
        self.left + self.width
    }

    pub(crate) fn top(self) -> f64 {
        self.top
    }

    pub(crate) fn bottom(self) -> f64 {
        self.top + self.height
    }

    /// Grid, axes, numbers and titles; `x_ticks` instead of round numbers where the values are few and named.
    pub(crate) fn draw(
        self,
        canvas: &mut Canvas,
        x_title: &str,
        y_title: &str,
        x_ticks: Option<&[(f64, String)]>,
    ) {
        let y_ticks = self.y.ticks((self.height / 45.0) as usize);
        for (value, label) in labelled(&y_ticks) {
            let y = self.y.px(value);
            canvas.line("grid", (self.left, y), (self.right(), y));
            canvas.text("tick", (self.left - 7.0, y + 4.0), Anchor::End, &label);
        }
        let round_ticks = || labelled(&self.x.ticks((self.width / 75.0) as usize));
        for (value, label) in x_ticks.map_or_else(round_ticks, <[_]>::to_vec) {
            let x = self.x.px(value);
            canvas.line("axis", (x, self.bottom()), (x, self.bottom() + 4.0));
            canvas.text("tick", (x, self.bottom() + 17.0), Anchor::Middle, &label);
        }
        canvas.line("axis", (self.left, self.bottom()), (self.right(), self.bottom()));
        let middle = self.left + self.width / 2.0;
        canvas.text("title", (middle, self.bottom() + 37.0), Anchor::Middle, x_title);
        canvas.text_upwards("title", (14.0, self.top + self.height / 2.0), y_title);
    }

    /// What is drawn by `inside` does not leave the plot area.
    pub(crate) fn inside(self, canvas: &mut Canvas, id: &str, inside: impl FnOnce(&mut Canvas)) {
        // A curve along the edge is not cut in half.
        let room = 2.0;
        let corner = (self.left, self.top - room);
        canvas.clipped(id, corner, (self.width + room, self.height + 2.0 * room), inside);
    }
}

fn labelled(ticks: &[f64]) -> Vec<(f64, String)> {
    let step = match ticks {
        [first, second, ..] => second - first,
        [only] => only.abs().max(1e-9),
        [] => 1.0,
    };
    ticks.iter().map(|&tick| (tick, tick_label(tick, step))).collect()
}
