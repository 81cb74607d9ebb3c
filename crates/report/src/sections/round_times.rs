//! How long rounds took, against E[T̂] and the bounds.

use super::Material;
use crate::chart::figure::Figure;
use crate::chart::histogram::{Histogram, Rule};
use crate::chart::palette::SchemeStyle;
use crate::collection::SchemeRuns;
use crate::explain::Explained;
use crate::model::Block;
use crate::numbers::{count, duration, percent};

pub(super) fn blocks(Material { group, explained, .. }: &Material<'_>) -> Vec<Block> {
    let scheme_of = |explained: &Explained| group.scheme(&explained.scheme);
    let figures = explained.iter().filter_map(|explained| Some(figure(scheme_of(explained)?, explained)));
    let figures: Vec<Figure> = figures.collect();
    if figures.is_empty() { Vec::new() } else { vec![Block::Tiles(figures)] }
}

fn figure(scheme: &SchemeRuns, explained: &Explained) -> Figure {
    let secs: Vec<f32> = scheme.runs.iter().flat_map(|run| run.times.secs.iter().copied()).collect();
    let rounds = scheme.rounds();
    let mut rules = Vec::new();
    let mut rule = |text: &str, class: &'static str, secs: Option<f64>| {
        rules.extend(secs.map(|secs| Rule { text: text.to_owned(), class, secs }));
    };
    rule("mean, realised", "line c1", explained.round_secs);
    rule("E[T̂]", "line c7 d3", explained.round_model.map(|model| model.mean_secs));
    rule("Theorem 2’s bound", "line c2 d1", explained.round_model.map(|model| model.theorem2_secs));
    rule("bound Σ q c", "line c3 d2", explained.round_model.map(|model| model.linear_secs));
    let empty = if explained.empty_share > 0.0 {
        let taking =
            if explained.overhead_secs > 0.0 { duration(explained.overhead_secs) } else { "0".to_owned() };
        format!(
            " {} of all rounds were empty: they count as {taking} in both means and have no bar.",
            percent(explained.empty_share)
        )
    } else {
        String::new()
    };
    let left_out = explained.left_out_sentence();
    Histogram {
        name: &format!("round-times-{}", scheme.scheme),
        title: &format!("Round times under {}", scheme.scheme),
        caption: &format!("{} rounds of all seeds.{empty}{left_out}", count(rounds as usize)),
        colour: SchemeStyle::of("weighted").colour,
        secs: &secs,
        rounds,
        rules,
    }
    .draw()
}
