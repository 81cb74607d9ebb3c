//! Planned against realised, a point a device.

use super::canvas::{Canvas, Shape};
use super::figure::{Figure, area_id, file_name};
use super::legend::{self, Entry, Sign};
use super::palette::COLOURS;
use super::plot_area::PlotArea;

/// A device.
pub(crate) struct Point {
    /// Shown under the pointer.
    pub hover: String,
    /// Position in [`Scatter::kinds`].
    pub kind: usize,
    pub planned: f64,
    pub realised: f64,
}

/// A chart of probabilities and frequencies.
pub(crate) struct Scatter<'a> {
    pub name: &'a str,
    pub title: &'a str,
    pub caption: &'a str,
    /// What colours and shapes mean.
    pub kinds: &'a [String],
    pub points: Vec<Point>,
    /// How many coins each device flipped: how far chance alone goes.
    pub flips: u64,
}

const SIZE: (f64, f64) = (420.0, 380.0);
/// Points along the edge of what chance does.
const EDGE_POINTS: u32 = 60;

impl Scatter<'_> {
    pub(crate) fn draw(&self) -> Figure {
        let most = self.points.iter().map(|point| point.planned.max(point.realised)).fold(0.0, f64::max);
        let most = if most > 0.0 { (1.06 * most).min(1.02) } else { 1.0 };
        let entries: Vec<Entry> = (0..)
            .zip(self.kinds)
            .map(|(kind, text)| Entry {
                text: text.clone(),
                sign: Sign::Mark(class(kind), Shape::number(kind)),
            })
            .collect();
        let legend_px = legend::height_px(&entries, SIZE.0 - 72.0);
        let size = (SIZE.0, SIZE.1 + legend_px);
        let frame = PlotArea::new(size, legend_px + 14.0, (0.0, most), (0.0, most));
        let mut canvas = Canvas::default();
        legend::draw(&mut canvas, &entries, (frame.left(), 2.0), SIZE.0 - 72.0);
        frame.draw(&mut canvas, "planned q (share of rounds)", "realised (share of rounds)", None);
        frame.inside(&mut canvas, &area_id(&file_name(self.name)), |canvas| {
            let edge = |sign: f64| {
                (0..=EDGE_POINTS).map(move |step| {
                    let q = (most * f64::from(step) / f64::from(EDGE_POINTS)).min(1.0);
                    let error = (q * (1.0 - q) / (self.flips as f64).max(1.0)).sqrt();
                    frame.at(q, (q + sign * 1.96 * error).clamp(0.0, 1.0))
                })
            };
            canvas.area("chance", edge(1.0).chain(edge(-1.0).collect::<Vec<_>>().into_iter().rev()));
            canvas.line("rule", frame.at(0.0, 0.0), frame.at(most, most));
            for point in &self.points {
                let at = frame.at(point.planned, point.realised);
                canvas.mark(&class(point.kind), Shape::number(point.kind), at, 3.4, &point.hover);
            }
        });
        Figure::new(self.name, self.title, self.caption, size, canvas)
    }
}

fn class(kind: usize) -> String {
    format!("dot f{}", kind % COLOURS)
}
