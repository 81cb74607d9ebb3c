//! The tables of a report.

use crate::collection::{Collection, Group};
use crate::explain::{Explained, Measured, needs_pilots, pilot_hours};
use crate::numbers::{duration, percent, significant, times};
use crate::standing::{Spread, best_hours};
use crate::sweep::Sweep;
use crate::table::{Cell, Column, Table};

fn time(hours: Option<f64>, lower_bound: bool) -> Cell {
    // A lower bound is shown as one.
    let least = if lower_bound { "> " } else { "" };
    Cell::number(hours, |hours| format!("{least}{}", duration(3600.0 * hours)))
}

fn number(value: Option<f64>) -> Cell {
    Cell::number(value, |value| significant(value, 3))
}

fn mean(spread: Option<Spread>) -> Option<f64> {
    spread.map(|spread| spread.mean)
}

/// The paper's Table I.
pub fn table_one(group: &Group) -> Table {
    let best = best_hours(group.schemes.iter().map(|scheme| &scheme.standing));
    let pilots = pilot_hours(group);
    let rows = group.schemes.iter().map(|scheme| {
        let standing = &scheme.standing;
        let (hours, bound) = (mean(standing.hours), standing.is_lower_bound());
        let least = if bound { "> " } else { "" };
        let piloted = if needs_pilots(&scheme.scheme) { pilots.unwrap_or(0.0) } else { 0.0 };
        let state = if standing.diverged > 0 {
            format!(", {} diverged", standing.diverged)
        } else if standing.going_on > 0 {
            format!(", {} going on", standing.going_on)
        } else {
            String::new()
        };
        let accuracies = scheme.runs.iter().filter_map(|run| run.summary.accuracy);
        vec![
            Cell::text(&scheme.scheme),
            time(hours, bound),
            Cell::number(standing.hours.and_then(|hours| hours.std), |std| duration(3600.0 * std)),
            Cell::number(hours.zip(best).map(|(hours, best)| hours / best), |ratio| {
                format!("{least}{}", times(ratio))
            }),
            time(hours.map(|hours| hours + piloted), bound),
            number(mean(standing.rounds)),
            number(mean(standing.participants)),
            Cell::number(mean(Spread::of(accuracies)), percent),
            Cell::text(format!("{} of {}{state}", standing.reached, standing.seeds)),
        ]
    });
    let target = group.target_accuracy().map_or("the target".to_owned(), percent);
    let pilots_note = match pilots {
        Some(hours) => format!(
            "a pair of pilots takes {}, counted under “with pilots” for schemes that need α and β",
            duration(3600.0 * hours)
        ),
        None => "no pilots are at hand, so “with pilots” counts none".to_owned(),
    };
    Table {
        name: "table1".to_owned(),
        title: format!("Time to {target}"),
        note: format!(
            "Virtual time, means over seeds with one standard deviation; the ratio is to the best scheme that reached \
             the target with every seed; {pilots_note}. “>” marks a lower bound: some run ended before the target."
        ),
        columns: vec![
            Column::words("scheme", "scheme"),
            Column::number("time to target", "hours"),
            Column::number("±", "hours_std"),
            Column::number("ratio", "ratio_to_best"),
            Column::number("with pilots", "hours_with_pilots"),
            Column::number("rounds", "rounds"),
            Column::number("devices a round", "participants"),
            Column::number("accuracy at the end", "accuracy"),
            Column::words("seeds at target", "reached"),
        ],
        rows: rows.collect(),
    }
}

/// What plans expected, and what came of it.
pub fn plan_table(explained: &[Explained]) -> Table {
    let rows = explained.iter().map(|plan| {
        let (rounds, hours) = (mean(plan.rounds), mean(plan.hours));
        let least = if plan.lower_bound { "> " } else { "" };
        let realised =
            |value: Option<f64>| Cell::number(value, |value| format!("{least}{}", significant(value, 3)));
        vec![
            Cell::text(&plan.scheme),
            number(Some(plan.expected_participants)),
            number(mean(plan.participants)),
            number(plan.sampling_noise),
            number(plan.largest_weight),
            number(plan.expected_rounds),
            realised(rounds),
            Cell::number(plan.round_model.map(|model| model.mean_secs), duration),
            Cell::number(plan.round_secs, duration),
            time(plan.expected_hours, false),
            time(hours, plan.lower_bound),
            Cell::number(hours.zip(plan.expected_hours).map(|(real, expected)| real / expected), |ratio| {
                format!("{least}{}", times(ratio))
            }),
        ]
    });
    Table {
        name: "plan".to_owned(),
        title: "Predicted against realised".to_owned(),
        note: "Rounds are predicted by R(q) = α/(β − C(q)), C(q) = Σ a²/q; a round by E[T̂]; the whole by their \
               product. The constants are fitted to the pilots’ loss, not to the target accuracy, so the predicted \
               rounds are right up to a factor that all schemes share, if the model holds: compare the last column \
               from row to row."
            .to_owned(),
        columns: vec![
            Column::words("scheme", "scheme"),
            Column::number("Σ q", "expected_participants"),
            Column::number("devices a round", "participants"),
            Column::number("noise C(q)", "sampling_noise"),
            Column::number("largest a/q", "largest_weight"),
            Column::number("rounds, predicted", "expected_rounds"),
            Column::number("rounds, realised", "rounds"),
            Column::number("E[T̂]", "expected_round_secs"),
            Column::number("round, realised", "round_secs"),
            Column::number("time, predicted", "expected_hours"),
            Column::number("time, realised", "hours"),
            Column::number("realised/predicted", "hours_ratio"),
        ],
        rows: rows.collect(),
    }
}

/// The pilots, a row each.
pub fn pilot_table(group: &Group) -> Table {
    let rows = group.pilots.iter().map(|pilot| {
        let summary = &pilot.summary;
        let gave_up = if summary.reached() { "" } else { "+" };
        vec![
            Cell::text(&pilot.header.scheme),
            Cell::number(Some(pilot.header.seed as f64), |_| pilot.header.seed.to_string()),
            Cell::number(Some(summary.rounds as f64), |_| format!("{}{gave_up}", summary.rounds)),
            Cell::number(Some(summary.hours), |hours| duration(3600.0 * hours)),
            number(Some(summary.mean_participants)),
            number(pilot.header.target_loss),
        ]
    });
    Table {
        name: "pilots".to_owned(),
        title: "Pilots".to_owned(),
        note: "Rounds to the pilots’ loss under schemes whose noise is known; + marks one that gave up."
            .to_owned(),
        columns: vec![
            Column::words("scheme", "scheme"),
            Column::number("seed", "seed"),
            Column::number("rounds", "rounds"),
            Column::number("time", "hours"),
            Column::number("devices a round", "participants"),
            Column::number("to the loss", "target_loss"),
        ],
        rows: rows.collect(),
    }
}

/// α and β in words.
pub fn constants_line(measured: &Measured) -> String {
    let interval = |ends: Option<fedflip_plan::Interval>| {
        ends.map_or(String::new(), |ends| {
            let end = |value: f64| if value.is_finite() { significant(value, 3) } else { "∞".to_owned() };
            format!(" (95 %: {} to {})", end(ends.low), end(ends.high))
        })
    };
    let fit = measured.fit;
    format!(
        "α = {}{}, β = {}{}",
        significant(measured.constants.alpha(), 4),
        interval(fit.and_then(|fit| fit.alpha_interval)),
        significant(measured.constants.beta(), 4),
        interval(fit.and_then(|fit| fit.beta_interval)),
    )
}

/// A row a value and scheme.
pub fn sweep_table(sweep: &Sweep) -> Table {
    let rows = sweep.points.iter().map(|point| {
        let least = if point.at_least { "≥ " } else { "" };
        let value = point.value.parse().ok();
        vec![
            Cell { text: point.value.clone(), value },
            Cell::text(&point.scheme),
            time(point.hours, point.lower_bound),
            Cell::number(point.speed_up, |ratio| format!("{least}{}", times(ratio))),
            number(point.speed_up_std),
        ]
    });
    Table {
        name: "sweep".to_owned(),
        title: format!("Over {}", sweep.key),
        note: format!(
            "Speed-up: time of {} by time of the scheme; ≥ where {} ended before the target.",
            sweep.reference, sweep.reference
        ),
        columns: vec![
            Column::number("value", "value"),
            Column::words("scheme", "scheme"),
            Column::number("time to target", "hours"),
            Column::number("speed-up", "speed_up"),
            Column::number("±", "speed_up_std"),
        ],
        rows: rows.collect(),
    }
}

/// All keys of a group's scenario.
pub fn config_table(group: &Group) -> Table {
    let words = |(key, value): (&str, &str)| vec![Cell::text(key), Cell::text(value)];
    Table {
        name: "configuration".to_owned(),
        title: "Configuration".to_owned(),
        note: "What all runs share; scheme, seed and constants stand with each run.".to_owned(),
        columns: vec![Column::words("key", "key"), Column::words("value", "value")],
        rows: group.setting.iter().map(words).collect(),
    }
}

/// A row a run: where it is, with what seed, how it ended.
pub fn runs_table(collection: &Collection) -> Table {
    let rows = collection.groups.iter().flat_map(|group| group.runs().chain(&group.pilots)).map(|run| {
        let summary = &run.summary;
        let end = match (summary.end, &run.detail) {
            (None, _) => "not over".to_owned(),
            (Some(end), detail) => {
                let reason = serde_json::to_value(end).ok();
                let reason =
                    reason.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default().replace('_', " ");
                detail.as_ref().map_or(reason.clone(), |detail| format!("{reason}: {detail}"))
            }
        };
        vec![
            Cell::text(run.folder.display().to_string()),
            Cell::text(&run.header.scheme),
            Cell::number(Some(run.header.seed as f64), |_| run.header.seed.to_string()),
            Cell::number(Some(summary.rounds as f64), |_| summary.rounds.to_string()),
            time(Some(summary.hours), false),
            Cell::number(summary.accuracy, percent),
            number(summary.loss),
            Cell::number(Some(summary.empty_rounds as f64), |_| summary.empty_rounds.to_string()),
            Cell::number(Some(summary.biased_rounds as f64), |_| summary.biased_rounds.to_string()),
            Cell::text(end),
            Cell::text(&run.header.fedflip),
        ]
    });
    Table {
        name: "runs".to_owned(),
        title: "Runs".to_owned(),
        note: "Every run that was read. In a biased round somebody who took part did not report.".to_owned(),
        columns: vec![
            Column::words("folder", "folder"),
            Column::words("scheme", "scheme"),
            Column::number("seed", "seed"),
            Column::number("rounds", "rounds"),
            Column::number("time", "hours"),
            Column::number("accuracy", "accuracy"),
            Column::number("loss", "loss"),
            Column::number("empty", "empty_rounds"),
            Column::number("biased", "biased_rounds"),
            Column::words("end", "end"),
            Column::words("fedflip", "fedflip"),
        ],
        rows: rows.collect(),
    }
}
