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
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

/// Room for the labels of the vertical axis, and for a title of the horizontal one.
const LEFT_PX: f64 = 58.0;
const RIGHT_PX: f64 = 14.0;
const BOTTOM_PX: f64 = 44.0;

/// What stands along an axis.
pub(crate) struct Axis {
    /// The title of the axis, with its unit.
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
        let width = width_px(size.0);
        let (left, right) = (LEFT_PX, LEFT_PX + width);
        let (top, bottom) = (legend::height_px(entries, width) + 14.0, size.1 - BOTTOM_PX);
        let (x_scale, y_scale) = (Scale::new(x.range, (left, right)), Scale::new(y.range, (bottom, top)));
        let area = Self { x: x_scale, y: y_scale, left, right, top, bottom };
        legend::draw(canvas, entries, (left, 2.0), width);
        area.draw_axes(canvas, x, y);
        area
    }

    /// Where a value is.
    pub(crate) fn at(self, x: f64, y: f64) -> (f64, f64) {
        (self.x.px(x), self.y.px(y))
    }

    fn draw_axes(self, canvas: &mut Canvas, x_axis: Axis, y_axis: &Axis) {
        for (value, label) in self.y.labelled_ticks(((self.bottom - self.top) / 45.0) as usize) {
            let y = self.y.px(value);
            canvas.line("grid", (self.left, y), (self.right, y));
            canvas.text("tick", (self.left - 7.0, y + 4.0), Anchor::End, &label);
        }
        let round_numbers = || self.x.labelled_ticks(((self.right - self.left) / 75.0) as usize);
        for (value, label) in x_axis.named.unwrap_or_else(round_numbers) {
            let x = self.x.px(value);
            canvas.line("axis", (x, self.bottom), (x, self.bottom + 4.0));
            canvas.text("tick", (x, self.bottom + 17.0), Anchor::Middle, &label);
        }
        canvas.line("axis", (self.left, self.bottom), (self.right, self.bottom));
        let middle = ((self.left + self.right) / 2.0, (self.top + self.bottom) / 2.0);
        canvas.text("title", (middle.0, self.bottom + 37.0), Anchor::Middle, &x_axis.title);
        canvas.text_upwards("title", (14.0, middle.1), &y_axis.title);
    }

    /// What is drawn by `inside` does not leave the plot area of the figure with this name.
    pub(crate) fn inside(self, canvas: &mut Canvas, figure: &str, inside: impl FnOnce(&mut Canvas)) {
        // A curve along the edge is not cut in half.
        let room = 2.0;
        let corner = (self.left, self.top - room);
        let size = (self.right - self.left + room, self.bottom - self.top + 2.0 * room);
        canvas.clipped(&area_id(&file_name(figure)), corner, size, inside);
    }
}
