//! Curves with bands over time, and a line at the target.

use super::canvas::{Anchor, Canvas, Shape};
use super::figure::{Figure, area_id, file_name};
use super::legend::{self, Entry, Sign};
use super::palette::SchemeStyle;
use super::plot_area::PlotArea;
use super::scale::time_unit;
use crate::curve::CurvePoint;

/// A curve.
pub(crate) struct Curve<'a> {
    pub scheme: &'a str,
    pub points: Vec<CurvePoint>,
    /// Whether every seed got to where it was to go.
    pub reached: bool,
}

/// A chart of curves over time.
pub(crate) struct LineChart<'a> {
    pub name: &'a str,
    pub title: &'a str,
    pub caption: &'a str,
    /// Whose time, without its unit.
    pub x_title: &'a str,
    pub y_title: &'a str,
    /// What values are multiplied by, such as 100 for per cent.
    pub y_factor: f64,
    pub y_range: (f64, f64),
    pub target: Option<f64>,
    pub curves: Vec<Curve<'a>>,
}

const SIZE: (f64, f64) = (440.0, 340.0);

/// A curve ends inside if it is at most so many times as long as half of the curves are.
const REACH: f64 = 3.0;

/// One that reached the target, if it took at most so many times as long as the fastest: where it arrives is what the
/// figure is for.
const REACH_OF_ARRIVALS: f64 = 6.0;

impl LineChart<'_> {
    pub(crate) fn draw(&self) -> Figure {
        let end = self.end_secs();
        let (unit, unit_secs) = time_unit(end);
        let entries: Vec<Entry> = self
            .curves
            .iter()
            .map(|curve| Entry {
                text: curve.scheme.to_owned(),
                sign: Sign::Line(SchemeStyle::of(curve.scheme).line_class()),
            })
            .collect();
        let legend_px = legend::height_px(&entries, SIZE.0 - 72.0);
        let frame = PlotArea::new(SIZE, legend_px + 14.0, (0.0, end / unit_secs), self.y_range);
        let mut canvas = Canvas::default();
        legend::draw(&mut canvas, &entries, (frame.left(), 2.0), SIZE.0 - 72.0);
        frame.draw(&mut canvas, &format!("{} ({unit})", self.x_title), self.y_title, None);
        let at = |secs: f64, value: f64| frame.at(secs / unit_secs, value * self.y_factor);
        if let Some(target) = self.target {
            let (from, to) = (at(0.0, target), at(end, target));
            canvas.line("rule", from, to);
            // On the left, because curves reach the target on the right.
            canvas.text("small", (from.0 + 6.0, from.1 - 5.0), Anchor::Start, "target");
        }
        let caption = self.caption_with_cuts(end);
        frame.inside(&mut canvas, &area_id(&file_name(self.name)), |canvas| {
            for curve in &self.curves {
                let look = SchemeStyle::of(curve.scheme);
                let up = curve.points.iter().map(|point| at(point.secs, point.high));
                let down = curve.points.iter().rev().map(|point| at(point.secs, point.low));
                canvas.area(&look.band_class(), up.chain(down));
            }
            for curve in &self.curves {
                let look = SchemeStyle::of(curve.scheme);
                canvas.curve(&look.line_class(), curve.points.iter().map(|point| at(point.secs, point.mean)));
            }
        });
        // Not cut at the edge, where many a curve ends.
        for curve in &self.curves {
            let look = SchemeStyle::of(curve.scheme);
            if let Some(last) = curve.points.last().filter(|last| last.secs <= end) {
                let class = if curve.reached {
                    format!("dot f{}", look.colour)
                } else {
                    format!("hollow c{}", look.colour)
                };
                let (x, y) = at(last.secs, last.mean);
                if y >= frame.top() {
                    canvas.mark(&class, Shape::Circle, (x, y), 3.6, "");
                }
            }
        }
        let mut figure = Figure::new(self.name, self.title, &caption, SIZE, canvas);
        figure.hover = Some(self.hover(&frame, unit, unit_secs));
        figure
    }

    /// Where the figure ends: with the longest curve that does not squeeze the others too much, by [`REACH`] and
    /// [`REACH_OF_ARRIVALS`].
    fn end_secs(&self) -> f64 {
        let end = |curve: &Curve| Some(curve.points.last()?.secs);
        let mut ends: Vec<f64> = self.curves.iter().filter_map(end).collect();
        ends.sort_unstable_by(f64::total_cmp);
        let mut arrivals: Vec<f64> =
            self.curves.iter().filter(|curve| curve.reached).filter_map(end).collect();
        arrivals.sort_unstable_by(f64::total_cmp);
        let fastest = arrivals.first().copied().unwrap_or(0.0);
        let to_show = arrivals.into_iter().rfind(|&secs| secs <= REACH_OF_ARRIVALS * fastest).unwrap_or(0.0);
        let (Some(&middle), Some(&last)) = (ends.get(ends.len().saturating_sub(1) / 2), ends.last()) else {
            return 1.0;
        };
        last.min(to_show.max(REACH * middle))
    }

    fn caption_with_cuts(&self, end: f64) -> String {
        let beyond: Vec<String> = self
            .curves
            .iter()
            .filter_map(|curve| Some((curve, curve.points.last().filter(|point| point.secs > end)?)))
            .map(|(curve, last)| {
                format!("{} goes on to {}", curve.scheme, crate::numbers::duration(last.secs))
            })
            .collect();
        let (_, high) = self.y_range;
        let above: Vec<&str> = self
            .curves
            .iter()
            .filter(|curve| curve.points.iter().any(|point| point.mean * self.y_factor > high))
            .map(|curve| curve.scheme)
            .collect();
        let above = if above.is_empty() {
            String::new()
        } else {
            format!(" Above it at times: {}.", above.join(", "))
        };
        let cut = if beyond.is_empty() {
            String::new()
        } else {
            format!(" Beyond the figure: {}.", beyond.join(", "))
        };
        format!("{}{cut}{above}", self.caption)
    }

    /// What a page needs to say the values under a pointer.
    fn hover(&self, frame: &PlotArea, unit: &str, unit_secs: f64) -> String {
        let short = |value: f64| (value * 1e4).round() / 1e4;
        let curves: Vec<serde_json::Value> = self
            .curves
            .iter()
            .map(|curve| {
                let x: Vec<f64> = curve.points.iter().map(|point| short(point.secs / unit_secs)).collect();
                let y: Vec<f64> = curve.points.iter().map(|point| short(point.mean * self.y_factor)).collect();
                serde_json::json!({ "name": curve.scheme, "colour": SchemeStyle::of(curve.scheme).colour, "x": x, "y": y })
            })
            .collect();
        let hover = serde_json::json!({
            "left": frame.left(), "right": frame.right(), "top": frame.top(), "bottom": frame.bottom(),
            "low": frame.x.low(), "high": frame.x.high(), "unit": unit, "y": self.y_title, "curves": curves,
        });
        hover.to_string()
    }
}
