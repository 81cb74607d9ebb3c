//! What plans expected, and what came of it.

use super::Material;
use crate::explain::Explained;
use crate::model::Block;
use crate::numbers::duration;
use crate::standing::{Bound, mean};
use crate::table::{Cell, Column, Table};

pub(super) fn blocks(Material { explained, .. }: &Material<'_>) -> Vec<Block> {
    if explained.is_empty() { Vec::new() } else { vec![Block::Table(table(explained))] }
}

/// What plans expected, and what came of it.
pub fn table(explained: &[Explained]) -> Table {
    let rows = explained.iter().map(|plan| {
        let (rounds, hours) = (mean(plan.rounds), mean(plan.hours));
        let bound = Bound::lower_if(plan.lower_bound);
        vec![
            Cell::text(&plan.scheme),
            Cell::short(Some(plan.expected_participants)),
            Cell::short(mean(plan.participants)),
            Cell::short(plan.sampling_variance),
            Cell::short(plan.largest_weight),
            Cell::short(plan.expected_rounds),
            Cell::short(rounds).bounded(bound),
            Cell::number(plan.round_model.map(|model| model.mean_secs), duration),
            Cell::number(plan.round_secs, duration),
            Cell::hours(plan.expected_hours),
            Cell::hours(hours).bounded(bound),
            Cell::ratio(hours.zip(plan.expected_hours).map(|(real, expected)| real / expected))
                .bounded(bound),
        ]
    });
    Table {
        name: "plan".to_owned(),
        title: "Predicted against realised".to_owned(),
        note: "Rounds are predicted by R(q) = α/(β − C(q)), C(q) = Σ a²/q; a round by E[T̂]; the whole by their \
               product. α and β belong to the loss that pilots are run to, not to the target accuracy, so the predicted rounds \
               are right up to a factor that all schemes share, if the model holds: compare the last column from \
               row to row."
            .to_owned()
            + &explained.first().map_or(String::new(), Explained::left_out_sentence)
            + if explained.iter().any(|plan| plan.has_quiet) {
                " With quiet rounds all of these are means over usual and quiet ones."
            } else {
                ""
            }
            + if explained.iter().any(|plan| plan.plans > 1) {
                " Where plans were replaced, what is predicted is of the last one."
            } else {
                ""
            },
        columns: vec![
            Column::words("scheme", "scheme"),
            Column::number("Σ q", "expected_participants"),
            Column::number("devices a round", "participants"),
            Column::number("sampling variance C(q)", "sampling_variance"),
            Column::number("largest a/q", "largest_weight"),
            Column::number("rounds, predicted", "expected_rounds"),
            Column::bounded("rounds, realised", "rounds"),
            Column::number("E[T̂]", "expected_round_secs"),
            Column::number("round, realised", "round_secs"),
            Column::number("time, predicted", "expected_hours"),
            Column::bounded("time, realised", "hours"),
            Column::bounded("realised/predicted", "hours_ratio"),
        ],
        rows: rows.collect(),
    }
}
