//! How long rounds took, with lines at what was expected.

use super::canvas::Canvas;
use super::figure::Figure;
use super::legend::{self, Entry, Sign};
use super::plot_area::PlotArea;
use super::scale::time_unit;
use crate::numbers::{duration, percent};

/// A line at a value.
pub(crate) struct Rule {
    pub text: String,
    /// Of the line.
    pub class: &'static str,
    pub secs: f64,
}

/// A chart of times.
pub(crate) struct Histogram<'a> {
    pub name: &'a str,
    pub title: &'a str,
    pub caption: &'a str,
    /// Of the bars.
    pub colour: usize,
    pub secs: &'a [f32],
    /// All rounds, those that are not in `secs` too: what shares are of.
    pub rounds: u64,
    pub rules: Vec<Rule>,
}

const SIZE: (f64, f64) = (420.0, 300.0);
const BINS: usize = 32;
/// Rounds longer than those of this share are counted in the last bar.
const SHOWN: f64 = 0.99;
/// A rule so many times beyond the bars is left to the legend.
const REACH: f64 = 1.6;

impl Histogram<'_> {
    pub(crate) fn draw(&self) -> Figure {
        let end = self.end_secs();
        let (unit, unit_secs) = time_unit(end);
        let mut counts = [0_u64; BINS];
        for &secs in self.secs {
            let place = (f64::from(secs) / end * BINS as f64) as usize;
            counts[place.min(BINS - 1)] += 1;
        }
        let all = (self.rounds as f64).max(1.0);
        let most = counts.iter().copied().max().unwrap_or(0) as f64 / all;
        let entries: Vec<Entry> = self
            .rules
            .iter()
            .map(|rule| Entry {
                text: format!("{} {}", rule.text, duration(rule.secs)),
                sign: Sign::Line(rule.class.to_owned()),
            })
            .collect();
        let legend_px = legend::height_px(&entries, SIZE.0 - 72.0);
        let size = (SIZE.0, SIZE.1 + legend_px);
        let frame = PlotArea::new(size, legend_px + 14.0, (0.0, end / unit_secs), (0.0, 105.0 * most));
        let mut canvas = Canvas::default();
        legend::draw(&mut canvas, &entries, (frame.left(), 2.0), SIZE.0 - 72.0);
        frame.draw(&mut canvas, &format!("round time ({unit})"), "share of rounds (%)", None);
        let bin_secs = end / BINS as f64;
        for (place, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
            let (from, share) = (place as f64 * bin_secs, count as f64 / all);
            let (x, y) = frame.at(from / unit_secs, 100.0 * share);
            let right = frame.x.px((from + bin_secs) / unit_secs);
            let to = if place + 1 == BINS { "more".to_owned() } else { duration(from + bin_secs) };
            let hover = format!("{} to {to}: {} of rounds", duration(from), percent(share));
            let class = format!("f{}", self.colour);
            canvas.rect(&class, (x + 0.5, y), (right - x - 1.0, frame.bottom() - y), &hover);
        }
        for rule in self.rules.iter().filter(|rule| rule.secs <= end) {
            let x = frame.x.px(rule.secs / unit_secs);
            canvas.line(rule.class, (x, frame.top()), (x, frame.bottom()));
        }
        let longest = self.secs.iter().copied().fold(0.0, f32::max);
        let last = if f64::from(longest) > end { " The last bar holds all longer ones." } else { "" };
        let beyond: Vec<&str> =
            self.rules.iter().filter(|rule| rule.secs > end).map(|rule| rule.text.as_str()).collect();
        let beyond = if beyond.is_empty() {
            String::new()
        } else {
            format!(" Beyond the figure: {}.", beyond.join(", "))
        };
        let caption = format!("{}{last}{beyond}", self.caption);
        Figure::new(self.name, self.title, &caption, size, canvas)
    }

    fn end_secs(&self) -> f64 {
        let mut sorted: Vec<f32> = self.secs.to_vec();
        sorted.sort_unstable_by(f32::total_cmp);
        let place = (SHOWN * sorted.len() as f64) as usize;
        let most = sorted.get(place.min(sorted.len().saturating_sub(1))).map_or(1.0, |&secs| f64::from(secs));
        let near = self.rules.iter().map(|rule| rule.secs).filter(|&secs| secs <= REACH * most);
        let end = 1.04 * near.fold(most, f64::max);
        if end > 0.0 && end.is_finite() { end } else { 1.0 }
    }
}
