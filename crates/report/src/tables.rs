//! The tables of a report.

use std::collections::BTreeMap;

use crate::collection::{Collection, Group};
use crate::explain::Explained;
use crate::numbers::{duration, percent, significant, times};
use crate::pilots::{hours_before, pilot_hours};
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
    let rows = group.schemes.iter().map(|scheme| {
        let standing = &scheme.standing;
        let (hours, bound) = (mean(standing.hours), standing.is_lower_bound());
        let least = if bound { "> " } else { "" };
        let piloted = hours_before(group, &scheme.scheme);
        let state = if standing.diverged > 0 {
            format!(", {} diverged", standing.diverged)
        } else if standing.going_on > 0 {
            format!(", {} not over", standing.going_on)
        } else {
            String::new()
        };
        let accuracies = scheme.runs.iter().filter_map(|run| run.summary.metrics.get("accuracy"));
        vec![
            Cell::text(&scheme.scheme),
            time(hours, bound),
            // Of runs that were cut off at some point it would say nothing.
            Cell::number(standing.hours.filter(|_| !bound).and_then(|hours| hours.std), |std| {
                duration(3600.0 * std)
            }),
            Cell::number(hours.zip(best).map(|(hours, best)| hours / best), |ratio| {
                format!("{least}{}", times(ratio))
            }),
            time(hours.map(|hours| hours + piloted), bound),
            number(mean(standing.rounds)),
            number(mean(standing.participants)),
            Cell::number(mean(Spread::of(accuracies)), percent),
            Cell {
                text: format!("{} of {}{state}", standing.reached, standing.seeds),
                ..Cell::count(standing.reached as u64)
            },
            Cell::count(standing.seeds as u64),
        ]
    });
    let target = group.target();
    let pilots_note = match pilot_hours(group) {
        Some(hours) if group.setting.keeps_pilots() => format!(
            "schemes that need α and β went on from their pilots, a pair of which takes {} and is counted",
            duration(3600.0 * hours)
        ),
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
            "{}, means over seeds with one standard deviation; the ratio is to the best scheme that reached \
             the target with every seed; {pilots_note}. “>” marks a lower bound: some run ended before the target.{}",
            if group.setting.on_devices() { "Time by the clock on the wall" } else { "Virtual time" },
            biased(group)
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
            Column::number("seeds at target", "reached"),
            Column::number("seeds", "seeds"),
        ],
        rows: rows.collect(),
    }
}

/// A word on rounds that were not what the plan meant them to be.
fn biased(group: &Group) -> String {
    let rounds: u64 = group.runs().map(|run| run.summary.rounds).sum();
    match group.runs().map(|run| run.summary.biased_rounds).sum::<u64>() {
        0 => String::new(),
        biased => format!(
            " In {biased} of {rounds} rounds somebody who took part did not report: their steps are biased."
        ),
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
            Cell::count(pilot.header.seed),
            Cell { text: format!("{}{gave_up}", summary.rounds), ..Cell::count(summary.rounds) },
            Cell::number(Some(summary.hours), |hours| duration(3600.0 * hours)),
            number(Some(summary.mean_participants)),
            number(pilot.header.target_of("loss")),
        ]
    });
    Table {
        name: "pilots".to_owned(),
        title: "Pilots".to_owned(),
        note: "Rounds to the pilots’ loss under schemes whose noise is known; + marks one that did not get there."
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

/// A row a value and scheme.
pub fn sweep_table(sweep: &Sweep) -> Table {
    let rows = sweep.points.iter().map(|point| {
        let sign = point.speed_up.map_or("", |up| up.bound.sign());
        let of_scheme = [
            Cell::text(&point.scheme),
            time(point.hours, point.lower_bound),
            Cell::number(point.speed_up.map(|up| up.ratio), |ratio| format!("{sign}{}", times(ratio))),
            Cell::number(point.speed_up.and_then(|up| up.std), times),
        ];
        point.values.iter().map(|value| Cell::word_or_number(value)).chain(of_scheme).collect()
    });
    let reference = sweep.reference.map_or(String::new(), |name| {
        format!("Speed-up: time of {name} by time of the scheme; ≥ where {name} ended before the target, ≤ where the scheme did; ± is one standard deviation of it over seeds.")
    });
    Table {
        name: "sweep".to_owned(),
        title: format!("Over {}", sweep.title()),
        note: reference,
        columns: sweep
            .keys
            .iter()
            .enumerate()
            .map(|(place, key)| match sweep.points.iter().all(|point| is_number(&point.values[place])) {
                true => Column::number(key, key),
                false => Column::words(key, key),
            })
            .chain([
                Column::words("scheme", "scheme"),
                Column::number("time to target", "hours"),
                Column::number("speed-up", "speed_up"),
                Column::number("±", "speed_up_std"),
            ])
            .collect(),
        rows: rows.collect(),
    }
}

fn is_number(value: &str) -> bool {
    value.parse::<f64>().is_ok()
}

/// All keys of a group's scenarios; where its runs differ, every value.
pub fn config_table(group: &Group) -> Table {
    let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (key, value) in group.runs().chain(&group.pilots).flat_map(|run| run.config.iter()) {
        let known = values.entry(key).or_default();
        if !known.contains(&value) {
            known.push(value);
        }
    }
    let caps = match group.setting.on_devices() {
        false => "A cap on virtual time is what a comparison gives up at.",
        true => {
            "On real devices times were measured: stop.virtual_hours_max counts real time, and the types of the fleet and the world are not used."
        }
    };
    let words = |(key, values): (&str, Vec<&str>)| vec![Cell::text(key), Cell::text(values.join(" | "))];
    Table {
        name: "configuration".to_owned(),
        title: "Every key of the scenarios".to_owned(),
        note: format!("Where runs or pilots differ, all values are listed. {caps}"),
        columns: vec![Column::words("key", "key"), Column::words("value", "value")],
        rows: values.into_iter().map(words).collect(),
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
                let reason = if run.is_deployed() { reason.replace("virtual ", "") } else { reason };
                detail.as_ref().map_or(reason.clone(), |detail| format!("{reason}: {detail}"))
            }
        };
        vec![
            Cell::text(run.folder.display().to_string()),
            Cell::text(&run.header.scheme),
            Cell::count(run.header.seed),
            Cell::count(summary.rounds),
            time(Some(summary.hours), false),
            Cell::number(summary.metrics.get("accuracy"), percent),
            number(summary.metrics.get("loss")),
            Cell::count(summary.empty_rounds),
            Cell::count(summary.biased_rounds),
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
