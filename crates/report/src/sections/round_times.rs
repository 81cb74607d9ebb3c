//! How long rounds took, with lines at E[T̂] and the bounds.

use super::Material;
use crate::chart::canvas::Canvas;
use crate::chart::figure::Figure;
use crate::chart::legend::{Entry, Sign};
use crate::chart::palette::SchemeStyle;
use crate::chart::plot_area::{Axis, PlotArea, with_legend};
use crate::chart::scale::time_unit;
use crate::explain::Explained;
use crate::model::{Block, Layout};
use crate::numbers::{count, duration, percent};

const SIZE: (f64, f64) = (420.0, 300.0);
const BINS: usize = 32;
/// Rounds longer than those of this share are counted in the last bar.
const SHOWN: f64 = 0.99;
/// A line that lies beyond this multiple of the longest bar is shown in the legend only.
const REACH: f64 = 1.6;

pub(super) fn figures(Material { explained, .. }: &Material<'_>) -> Option<Block> {
    Block::together(Layout::Tiles, explained.iter().map(|explained| Block::Figure(figure(explained))))
}

/// A line at a value.
struct Rule {
    text: &'static str,
    class: &'static str,
    secs: f64,
}

fn figure(explained: &Explained<'_>) -> Figure {
    let scheme = explained.scheme;
    let mut secs: Vec<f32> = scheme.runs.iter().flat_map(|run| run.round_secs.iter().copied()).collect();
    secs.sort_unstable_by(f32::total_cmp);
    let model = explained.round_model;
    let rules = [
        ("mean, realised", "line c1", explained.round_secs),
        ("E[T̂]", "line c7 d3", model.map(|model| model.mean_secs)),
        ("Theorem 2’s bound", "line c2 d1", model.map(|model| model.theorem2_secs)),
        ("bound Σ q c", "line c3 d2", model.map(|model| model.linear_secs)),
    ];
    let rules = rules.into_iter().filter_map(|(text, class, secs)| Some(Rule { text, class, secs: secs? }));
    let rules: Vec<Rule> = rules.collect();
    let end = end_secs(&secs, &rules);
    let mut caption = format!("{} rounds of all seeds.", count(scheme.rounds() as usize));
    if explained.empty_share > 0.0 {
        let taking =
            if explained.overhead_secs > 0.0 { duration(explained.overhead_secs) } else { "0".to_owned() };
        caption += &format!(
            " {} of all rounds were empty: they count as {taking} in both means and have no bar.",
            percent(explained.empty_share)
        );
    }
    caption += &explained.left_out_sentence();
    if secs.last().is_some_and(|&longest| f64::from(longest) > end) {
        caption += " The last bar holds all longer ones.";
    }
    let beyond: Vec<&str> = rules.iter().filter(|rule| rule.secs > end).map(|rule| rule.text).collect();
    if !beyond.is_empty() {
        caption += &format!(" Beyond the figure: {}.", beyond.join(", "));
    }
    let (canvas, size) = draw(&secs, scheme.rounds(), &rules, end);
    let title = format!("Round times under {}", scheme.scheme);
    Figure::new(&format!("round-times-{}", scheme.scheme), &title, &caption, size, canvas)
}

/// The drawing and its size. Shares are of all rounds, also of those that are not in `secs`.
fn draw(secs: &[f32], rounds: u64, rules: &[Rule], end: f64) -> (Canvas, (f64, f64)) {
    let (unit, unit_secs) = time_unit(end);
    let mut counts = [0_u64; BINS];
    for &secs in secs {
        let place = (f64::from(secs) / end * BINS as f64) as usize;
        counts[place.min(BINS - 1)] += 1;
    }
    let all = (rounds as f64).max(1.0);
    let most = counts.iter().copied().max().unwrap_or(0) as f64 / all;
    let entry = |rule: &Rule| {
        let text = format!("{} {}", rule.text, duration(rule.secs));
        Entry::new(&text, Sign::Line(rule.class.to_owned()))
    };
    let entries: Vec<Entry> = rules.iter().map(entry).collect();
    let size = with_legend(SIZE, &entries);
    let mut canvas = Canvas::default();
    let x = Axis::new(format!("round time ({unit})"), (0.0, end / unit_secs));
    let y = Axis::new("share of rounds (%)", (0.0, 105.0 * most));
    let area = PlotArea::draw(&mut canvas, size, &entries, x, &y);
    let bin_secs = end / BINS as f64;
    let class = format!("f{}", SchemeStyle::of("weighted").colour);
    for (place, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
        let (from, share) = (place as f64 * bin_secs, count as f64 / all);
        let (x, y) = area.at(from / unit_secs, 100.0 * share);
        let right = area.x.px((from + bin_secs) / unit_secs);
        let to = if place + 1 == BINS { "more".to_owned() } else { duration(from + bin_secs) };
        let hover = format!("{} to {to}: {} of rounds", duration(from), percent(share));
        canvas.rect(&class, (x + 0.5, y), (right - x - 1.0, area.bottom - y), &hover);
    }
    for rule in rules.iter().filter(|rule| rule.secs <= end) {
        let x = area.x.px(rule.secs / unit_secs);
        canvas.line(rule.class, (x, area.top), (x, area.bottom));
    }
    (canvas, size)
}

fn end_secs(sorted: &[f32], rules: &[Rule]) -> f64 {
    let place = (SHOWN * sorted.len() as f64) as usize;
    let most = sorted.get(place.min(sorted.len().saturating_sub(1))).map_or(1.0, |&secs| f64::from(secs));
    let near = rules.iter().map(|rule| rule.secs).filter(|&secs| secs <= REACH * most);
    let end = 1.04 * near.fold(most, f64::max);
    if end > 0.0 && end.is_finite() { end } else { 1.0 }
}
