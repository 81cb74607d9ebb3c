//! Metrics over time, a figure each: the paper's Fig. 2–4, and the numbers behind them.

use fedflip_fleet::{Display, MetricInfo};
use serde_json::{Value, json};

use super::{Material, sentence};
use crate::chart::canvas::{Anchor, Canvas, Shape};
use crate::chart::figure::Figure;
use crate::chart::legend::Entry;
use crate::chart::palette::SchemeStyle;
use crate::chart::plot_area::{Axis, PlotArea};
use crate::chart::scale::time_unit;
use crate::collection::Group;
use crate::curve::{CurvePoint, curve};
use crate::model::{Block, Layout};
use crate::numbers::duration;
use crate::table::{Cell, Field, Table, number, words};

const SIZE: (f64, f64) = (440.0, 340.0);

/// The figure is as long as this multiple of the median curve, so that one slow scheme does not squeeze the others.
const REACH: f64 = 3.0;

/// A curve that reached the target within this multiple of the fastest time is shown to its end, because its arrival is what
/// the figure is for.
const REACH_OF_ARRIVALS: f64 = 6.0;

pub(super) fn figures(Material { group, .. }: &Material<'_>) -> Option<Block> {
    let metrics = group.metrics().iter().filter(|_| !group.schemes.is_empty());
    Block::together(Layout::Beside, metrics.map(|metric| Block::Figure(figure(group, metric))))
}

/// Mean, least and most over the seeds, as drawn.
pub(super) fn data(Material { group, .. }: &Material<'_>) -> Option<Block> {
    let mut rows: Vec<Vec<Field>> = Vec::new();
    for scheme in &group.schemes {
        for metric in group.metrics() {
            rows.extend(curve(&scheme.runs, &metric.name).into_iter().map(|point| {
                vec![
                    words("scheme", "scheme", &scheme.scheme),
                    words("measure", "measure", &metric.name),
                    number("hours", "hours", Cell::plain(point.secs / 3600.0)),
                    number("mean", "mean", Cell::plain(point.mean)),
                    number("least", "low", Cell::plain(point.low)),
                    number("most", "high", Cell::plain(point.high)),
                ]
            }));
        }
    }
    Some(Block::Data(Table::of(rows)?.named("curves", "Curves", "")))
}

/// A curve for each scheme, with the range of its seeds.
pub fn figure(group: &Group, metric: &MetricInfo) -> Figure {
    let curves: Vec<Curve<'_>> = group
        .schemes
        .iter()
        .map(|scheme| Curve {
            scheme: &scheme.scheme,
            points: curve(&scheme.runs, &metric.name),
            reached: scheme.standing.is_whole(),
        })
        .collect();
    let target = group.target().and_then(|target| target.of(&metric.name));
    let (unit, factor, (low, high)) = match metric.display {
        Display::Share => (" (%)", 100.0, share_range(&curves, target)),
        Display::Number => ("", 1.0, number_range(&curves, target)),
    };
    let y = Axis::new(format!("test {}{unit}", metric.name), (factor * low, factor * high));
    let chart = Chart { target, factor, end_secs: end_secs(&curves), curves };
    let several = group.schemes.iter().any(|scheme| scheme.runs.len() > 1);
    let over = if several {
        "Lines are means over seeds; shaded areas reach from the smallest to the largest value. A seed that has ended counts with its last value. "
    } else {
        ""
    };
    let (task, time) = (group.task(), group.time());
    let caption = format!(
        "{over}A filled dot ends a scheme that reached its target with every seed, a hollow one any other.{}",
        chart.cuts(y.range.1)
    );
    let title = format!("{} on {task} against {time}", sentence(&metric.name));
    let (canvas, hover) = chart.draw(&metric.name, time, &y);
    let mut figure = Figure::new(&metric.name, &title, &caption, SIZE, canvas);
    figure.hover = Some(hover);
    figure
}

struct Curve<'a> {
    scheme: &'a str,
    points: Vec<CurvePoint>,
    /// Whether every seed got to where it was to go.
    reached: bool,
}

impl Curve<'_> {
    fn end_secs(&self) -> Option<f64> {
        Some(self.points.last()?.secs)
    }
}

/// From 0 to a little above the target and the best, but never above all.
fn share_range(curves: &[Curve<'_>], target: Option<f64>) -> (f64, f64) {
    let best = curves.iter().flat_map(|curve| &curve.points).map(|point| point.high).fold(0.0, f64::max);
    (0.0, (1.1 * best.max(target.unwrap_or(0.0))).clamp(0.1, 1.0))
}

/// From 0, or from a little below what half of the curves stay above, to a little above what half of them stay below:
/// one that diverges leaves the figure.
fn number_range(curves: &[Curve<'_>], target: Option<f64>) -> (f64, f64) {
    let middle = |most: fn(f64, f64) -> f64| {
        let of_curve = |curve: &Curve<'_>| curve.points.iter().map(|point| point.mean).reduce(most);
        let mut all: Vec<f64> = curves.iter().filter_map(of_curve).collect();
        all.sort_unstable_by(f64::total_cmp);
        1.15 * all.get(all.len() / 2).copied().unwrap_or(0.0)
    };
    let target = target.unwrap_or(0.0);
    let (low, high) =
        (middle(f64::min).min(1.1 * target).min(0.0), middle(f64::max).max(1.1 * target).max(0.0));
    (low, if high > low { high } else { 1.0 })
}

/// Where the figure ends: with the longest curve that does not squeeze the others too much, by [`REACH`] and
/// [`REACH_OF_ARRIVALS`].
fn end_secs(curves: &[Curve<'_>]) -> f64 {
    let sorted = |mut ends: Vec<f64>| {
        ends.sort_unstable_by(f64::total_cmp);
        ends
    };
    let ends = sorted(curves.iter().filter_map(Curve::end_secs).collect());
    let reached = curves.iter().filter(|curve| curve.reached);
    let arrivals = sorted(reached.filter_map(Curve::end_secs).collect());
    let fastest = arrivals.first().copied().unwrap_or(0.0);
    let to_show = arrivals.into_iter().rfind(|&secs| secs <= REACH_OF_ARRIVALS * fastest).unwrap_or(0.0);
    let (Some(&middle), Some(&last)) = (ends.get(ends.len().saturating_sub(1) / 2), ends.last()) else {
        return 1.0;
    };
    last.min(to_show.max(REACH * middle))
}

/// Curves with bands, and a line at the target.
struct Chart<'a> {
    curves: Vec<Curve<'a>>,
    target: Option<f64>,
    /// What values are multiplied by: 100 for per cent.
    factor: f64,
    end_secs: f64,
}

impl Chart<'_> {
    /// The drawing, and the values under a pointer.
    fn draw(&self, name: &str, time: &str, y: &Axis) -> (Canvas, String) {
        let (unit, unit_secs) = time_unit(self.end_secs);
        let entries: Vec<Entry> = self.curves.iter().map(|curve| Entry::of_scheme(curve.scheme)).collect();
        let mut canvas = Canvas::default();
        let x = Axis::new(format!("{time} ({unit})"), (0.0, self.end_secs / unit_secs));
        let area = PlotArea::draw(&mut canvas, SIZE, &entries, x, y);
        let at = |secs: f64, value: f64| area.at(secs / unit_secs, value * self.factor);
        if let Some(target) = self.target {
            let (from, to) = (at(0.0, target), at(self.end_secs, target));
            canvas.line("rule", from, to);
            // On the left, because curves reach the target on the right.
            canvas.text("small", (from.0 + 6.0, from.1 - 5.0), Anchor::Start, "target");
        }
        area.inside(&mut canvas, name, |canvas| {
            for curve in &self.curves {
                let up = curve.points.iter().map(|point| at(point.secs, point.high));
                let down = curve.points.iter().rev().map(|point| at(point.secs, point.low));
                canvas.area(&SchemeStyle::of(curve.scheme).band_class(), up.chain(down));
            }
            for curve in &self.curves {
                let means = curve.points.iter().map(|point| at(point.secs, point.mean));
                canvas.curve(&SchemeStyle::of(curve.scheme).line_class(), means);
            }
        });
        // Not cut at the edge, where many a curve ends.
        for curve in &self.curves {
            let colour = SchemeStyle::of(curve.scheme).colour;
            let class = if curve.reached { format!("dot f{colour}") } else { format!("hollow c{colour}") };
            let last = curve.points.last().filter(|last| last.secs <= self.end_secs);
            let end = last
                .map(|last| at(last.secs, last.mean))
                .filter(|(_, y)| (area.top..=area.bottom).contains(y));
            end.into_iter().for_each(|end| canvas.mark(&class, Shape::Circle, end, 3.6, ""));
        }
        let hover = json!({
            "left": area.left, "right": area.right, "top": area.top, "bottom": area.bottom,
            "low": area.x.low, "high": area.x.high, "unit": unit, "y": y.title, "curves": self.values(unit_secs),
        });
        (canvas, hover.to_string())
    }

    /// What a page needs to say the values under a pointer.
    fn values(&self, unit_secs: f64) -> Vec<Value> {
        let short = |value: f64| (value * 1e4).round() / 1e4;
        let of_curve = |curve: &Curve<'_>| {
            let x: Vec<f64> = curve.points.iter().map(|point| short(point.secs / unit_secs)).collect();
            let y: Vec<f64> = curve.points.iter().map(|point| short(point.mean * self.factor)).collect();
            json!({ "name": curve.scheme, "colour": SchemeStyle::of(curve.scheme).colour, "x": x, "y": y })
        };
        self.curves.iter().map(of_curve).collect()
    }

    /// What lies beyond the figure, as sentences for its caption.
    fn cuts(&self, high: f64) -> String {
        let list = |before: &str, names: Vec<String>| match names.is_empty() {
            true => String::new(),
            false => format!(" {before}: {}.", names.join(", ")),
        };
        let beyond = self.curves.iter().filter_map(|curve| {
            let end = curve.end_secs().filter(|&end| end > self.end_secs)?;
            Some(format!("{} continues to {}", curve.scheme, duration(end)))
        });
        let is_above = |curve: &&Curve<'_>| curve.points.iter().any(|point| point.mean * self.factor > high);
        let above = self.curves.iter().filter(is_above).map(|curve| curve.scheme.to_owned());
        list("Beyond the figure", beyond.collect()) + &list("Above it at times", above.collect())
    }
}
