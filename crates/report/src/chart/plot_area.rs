//! The plot area of a chart: grid, axes, ticks and titles with units.

use super::canvas::{Anchor, Canvas};
use super::figure::{area_id, file_name};
use super::legend::{self, Entry};
use super::scale::Scale;

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

/// What stands along an axis.
pub(crate) struct Axis {
    /// With its unit.
    pub title: String,
    /// From where to where it goes.
    pub range: (f64, f64),
    /// Values with their names, where those are few; otherwise there are round numbers.
    pub named: Option<Vec<(f64, String)>>,
}

impl Axis {
    pub(crate) fn new(title: impl Into<String>, range: (f64, f64)) -> Self {
        Self { title: title.into(), range, named: None }
    }
}

/// The width of the plot area in a figure of a width.
pub(crate) fn width_px(figure_px: f64) -> f64 {
    figure_px - LEFT_PX - RIGHT_PX
}

/// A size with room for a legend on top.
pub(crate) fn with_legend((width, height): (f64, f64), entries: &[Entry]) -> (f64, f64) {
    (width, height + legend::height_px(entries, width_px(width)))
}

impl PlotArea {
    /// Draws a legend, and below it grid, axes, numbers and titles, in a figure of a size.
    pub(crate) fn draw(canvas: &mut Canvas, size: (f64, f64), entries: &[Entry], x: Axis, y: &Axis) -> Self {
        let (left, width) = (LEFT_PX, width_px(size.0));
        let top = legend::height_px(entries, width) + 14.0;
        let height = size.1 - top - BOTTOM_PX;
        let area = Self {
            x: Scale::new(x.range, (left, left + width)),
            y: Scale::new(y.range, (top + height, top)),
            left,
            top,
            width,
            height,
        };
        legend::draw(canvas, entries, (left, 2.0), width);
        area.draw_axes(canvas, x, y);
        area
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

    fn draw_axes(self, canvas: &mut Canvas, x_axis: Axis, y_axis: &Axis) {
        for (value, label) in self.y.labelled_ticks((self.height / 45.0) as usize) {
            let y = self.y.px(value);
            canvas.line("grid", (self.left, y), (self.right(), y));
            canvas.text("tick", (self.left - 7.0, y + 4.0), Anchor::End, &label);
        }
        let round_numbers = || self.x.labelled_ticks((self.width / 75.0) as usize);
        for (value, label) in x_axis.named.unwrap_or_else(round_numbers) {
            let x = self.x.px(value);
            canvas.line("axis", (x, self.bottom()), (x, self.bottom() + 4.0));
            canvas.text("tick", (x, self.bottom() + 17.0), Anchor::Middle, &label);
        }
        canvas.line("axis", (self.left, self.bottom()), (self.right(), self.bottom()));
        let middle = self.left + self.width / 2.0;
        canvas.text("title", (middle, self.bottom() + 37.0), Anchor::Middle, &x_axis.title);
        canvas.text_upwards("title", (14.0, self.top + self.height / 2.0), &y_axis.title);
    }

    /// What is drawn by `inside` does not leave the plot area of the figure with this name.
    pub(crate) fn inside(self, canvas: &mut Canvas, figure: &str, inside: impl FnOnce(&mut Canvas)) {
        // A curve along the edge is not cut in half.
        let room = 2.0;
        let corner = (self.left, self.top - room);
        let size = (self.width + room, self.height + 2.0 * room);
        canvas.clipped(&area_id(&file_name(figure)), corner, size, inside);
    }
}
