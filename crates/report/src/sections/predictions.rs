//! What plans expected, and what came of it.

use super::Material;
use crate::explain::{Explained, costs_sentence};
use crate::model::Block;
use crate::numbers::duration;
use crate::standing::mean;
use crate::table::{Cell, Field, Table, number, words};

pub(super) fn block(Material { group, explained, .. }: &Material<'_>) -> Option<Block> {
    let metric = group.target().map_or(String::new(), |target| format!(" {}", target.metric));
    let mut note = format!(
        "R(q) = α/(β − C(q)) with C(q) = Σ a²/q predicts the rounds, E[T̂] the time of a round, and their product \
         the whole time. α and β belong to the loss at which pilots end, not to the target{metric}. If the model \
         holds, the predicted rounds are right up to a factor that all schemes share: compare the last column from \
         row to row."
    );
    note += &explained.first().map_or(String::new(), Explained::left_out_sentence);
    if explained.iter().any(Explained::has_quiet) {
        note += " With quiet rounds, all predictions are means over usual and quiet rounds.";
    }
    if explained.iter().any(Explained::has_replaced) {
        note += " Where plans were replaced, the predictions are those of the last plan.";
    }
    note += &explained.first().map_or(String::new(), |first| costs_sentence(first.scheme));
    let has_overhead = explained.iter().any(|explained| explained.overhead_secs > 0.0);
    let table = Table::of(explained.iter().map(|explained| row(explained, has_overhead)))?;
    Some(Block::Table(table.named("plan", "Predicted against realised", &note)))
}

/// With overhead, the time that is predicted without it stands beside the other.
fn row(explained: &Explained<'_>, has_overhead: bool) -> Vec<Field> {
    let (standing, expected) = (&explained.scheme.standing, &explained.plan.made);
    let (hours, bound) = (mean(explained.hours), standing.bound());
    let round = explained.round_model.map(|model| model.mean_secs);
    let ratio = hours.zip(explained.expected_hours).map(|(real, expected)| real / expected);
    let overhead_hours = expected.expected_rounds.map(|rounds| rounds * explained.overhead_secs / 3600.0);
    let without = explained.expected_hours.zip(overhead_hours).map(|(hours, overhead)| hours - overhead);
    let without = has_overhead
        .then(|| number("without overhead", "expected_hours_without_overhead", Cell::hours(without)));
    let mut fields = vec![
        words("scheme", "scheme", &explained.scheme.scheme),
        number("Σ q", "expected_participants", Cell::short(Some(expected.expected_participants))),
        number("devices a round", "participants", Cell::short(mean(standing.participants))),
        number("sampling variance C(q)", "sampling_variance", Cell::short(explained.sampling_variance)),
        number("largest a/q", "largest_weight", Cell::short(explained.largest_weight)),
        number("rounds, predicted", "expected_rounds", Cell::short(expected.expected_rounds)),
        number("rounds, realised", "rounds", Cell::short(mean(standing.rounds))).bounded(bound),
        number("E[T̂]", "expected_round_secs", Cell::number(round, duration)),
        number("round, realised", "round_secs", Cell::number(explained.round_secs, duration)),
        number("time, predicted", "expected_hours", Cell::hours(explained.expected_hours)),
    ];
    fields.extend(without);
    fields.push(number("time, realised", "hours", Cell::hours(hours)).bounded(bound));
    fields.push(number("realised/predicted", "hours_ratio", Cell::ratio(ratio)).bounded(bound));
    fields
}
