//! Shapes and words as SVG text. Colours and sizes are classes: the page or the file says what they look like.

use std::fmt::Write;

/// Where a text is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// What a point looks like, so that colour is never alone in saying what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
    Cross,
}

impl Shape {
    const ALL: [Self; 5] = [Self::Circle, Self::Square, Self::Triangle, Self::Diamond, Self::Cross];

    /// One after the other.
    pub(crate) fn number(number: usize) -> Self {
        Self::ALL[number % Self::ALL.len()]
    }

    /// Around the middle of a shape whose radius is 1; none of a circle.
    fn corners(self) -> &'static [(f64, f64)] {
        /// Half the length and half the width of a bar of the cross.
        const LONG: f64 = 1.2;
        const SHORT: f64 = 0.4;
        match self {
            Self::Circle => &[],
            Self::Square => &[(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)],
            Self::Triangle => &[(0.0, -1.2), (1.1, 0.9), (-1.1, 0.9)],
            Self::Diamond => &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
            #[rustfmt::skip]
            Self::Cross => &[
                (-SHORT, -LONG), (SHORT, -LONG), (SHORT, -SHORT), (LONG, -SHORT), (LONG, SHORT), (SHORT, SHORT),
                (SHORT, LONG), (-SHORT, LONG), (-SHORT, SHORT), (-LONG, SHORT), (-LONG, -SHORT), (-SHORT, -SHORT),
            ],
        }
    }
}

/// Something to draw on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Canvas {
    body: String,
}

/// Writing to a `String` cannot fail.
macro_rules! draw {
    ($canvas:expr, $($format:tt)*) => {{
        let _ = write!($canvas.body, $($format)*);
    }};
}

impl Canvas {
    pub(crate) fn into_body(self) -> String {
        self.body
    }

    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.curve(class, [from, to].into_iter());
    }

    /// Straight lines through all points.
    pub(crate) fn curve(&mut self, class: &str, points: impl Iterator<Item = (f64, f64)>) {
        self.path(class, points, "");
    }

    /// The area within points.
    pub(crate) fn area(&mut self, class: &str, points: impl Iterator<Item = (f64, f64)>) {
        self.path(class, points, "Z");
    }

    fn path(&mut self, class: &str, points: impl Iterator<Item = (f64, f64)>, end: &str) {
        let points: Vec<String> = points.map(|(x, y)| format!("{} {}", px(x), px(y))).collect();
        if !points.is_empty() {
            draw!(self, r#"<path class="{class}" d="M{}{end}"/>"#, points.join("L"));
        }
    }

    /// With a text that shows when somebody points at it.
    pub(crate) fn rect(&mut self, class: &str, corner: (f64, f64), size: (f64, f64), hover: &str) {
        let (x, y, width, height) = (px(corner.0), px(corner.1), px(size.0.max(0.0)), px(size.1.max(0.0)));
        draw!(self, r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}""#);
        self.close("rect", hover);
    }

    pub(crate) fn mark(&mut self, class: &str, shape: Shape, (x, y): (f64, f64), radius: f64, hover: &str) {
        let corners = shape.corners();
        if corners.is_empty() {
            draw!(self, r#"<circle class="{class}" cx="{}" cy="{}" r="{}""#, px(x), px(y), px(radius));
            return self.close("circle", hover);
        }
        let at = |&(dx, dy): &(f64, f64)| format!("{} {}", px(x + dx * radius), px(y + dy * radius));
        let corners: Vec<String> = corners.iter().map(at).collect();
        draw!(self, r#"<path class="{class}" d="M{}Z""#, corners.join("L"));
        self.close("path", hover);
    }

    pub(crate) fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        self.open_text(class, anchor);
        draw!(self, r#" x="{}" y="{}">{}</text>"#, px(x), px(y), escaped(text));
    }

    /// Upwards, for a vertical axis.
    pub(crate) fn text_upwards(&mut self, class: &str, (x, y): (f64, f64), text: &str) {
        self.open_text(class, Anchor::Middle);
        let (x, y) = (px(x), px(y));
        draw!(self, r#" transform="translate({x} {y})rotate(-90)">{}</text>"#, escaped(text));
    }

    /// What is drawn by `inside` shows only within a rectangle.
    pub(crate) fn clipped(
        &mut self,
        id: &str,
        corner: (f64, f64),
        size: (f64, f64),
        inside: impl FnOnce(&mut Self),
    ) {
        let (x, y, width, height) = (px(corner.0), px(corner.1), px(size.0), px(size.1));
        let id = escaped(id);
        draw!(
            self,
            r#"<clipPath id="{id}"><rect x="{x}" y="{y}" width="{width}" height="{height}"/></clipPath>"#
        );
        draw!(self, r#"<g clip-path="url(#{id})">"#);
        inside(self);
        draw!(self, "</g>");
    }

    fn open_text(&mut self, class: &str, anchor: Anchor) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        draw!(self, r#"<text class="{class}" text-anchor="{anchor}""#);
    }

    fn close(&mut self, element: &str, hover: &str) {
        if hover.is_empty() {
            draw!(self, "/>");
        } else {
            draw!(self, "><title>{}</title></{element}>", escaped(hover));
        }
    }
}

/// A tenth of a pixel is finer than anybody sees, and shorter than sixteen digits.
fn px(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    // No page is a million pixels wide, and SVG knows no infinity.
    let bounded = if rounded.is_nan() { 0.0 } else { rounded.clamp(-1e6, 1e6) };
    // Adding zero turns −0 into 0.
    format!("{}", bounded + 0.0)
}

/// Text that stays text in XML, whatever a name holds.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            // XML has no way to say these at all.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_name_holds_is_markup() {
        let mut canvas = Canvas::default();
        canvas.text("label", (1.0, 2.04), Anchor::Start, "<script>\u{7}&\"");
        let body = canvas.into_body();
        assert_eq!(
            body,
            "<text class=\"label\" text-anchor=\"start\" x=\"1\" y=\"2\">&lt;script&gt;\u{fffd}&amp;&quot;</text>"
        );
    }

    #[test]
    fn coordinates_are_short_and_finite() {
        assert_eq!([px(1.25), px(-0.01), px(f64::NAN), px(f64::INFINITY)], ["1.3", "0", "0", "1000000"]);
    }
}
