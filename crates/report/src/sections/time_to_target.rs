//! The paper's Table I: how long each scheme takes to the target.

use fedflip_fleet::MetricInfo;
use fedflip_plan::Scheme;

use super::Material;
use crate::collection::{Group, SchemeRuns};
use crate::explain::costs_sentence;
use crate::model::Block;
use crate::numbers::{duration, metric_value};
use crate::pilots::{hours_before, pilot_hours};
use crate::standing::{Bound, Spread, best_hours, mean};
use crate::table::{Cell, Field, Table, metric, number, words};

pub(super) fn block(Material { group, reference, .. }: &Material<'_>) -> Option<Block> {
    table(group, *reference).map(Block::Table)
}

/// The paper's Table I, with ratios to a reference; none without schemes.
pub fn table(group: &Group, reference: Option<&SchemeRuns>) -> Option<Table> {
    let best = best_hours(group.schemes.iter().map(|scheme| &scheme.standing));
    let rows = group.schemes.iter().map(|scheme| row(group, scheme, best, reference));
    let to_reference = reference.map_or(String::new(), |SchemeRuns { scheme, .. }| {
        format!(
            " The ratio to {scheme} is the time divided by that of {scheme}; “<” marks an upper bound: some run of \
             {scheme} ended before the target."
        )
    });
    let note = format!(
        "{}{}, means over seeds with one standard deviation. The ratio is to the best scheme that reached \
         the target with every seed; {}. “>” marks a lower bound: some run ended before the target.{to_reference}{}{}{}",
        given_target_note(group),
        if group.setting.on_devices() { "Time by the clock on the wall" } else { "Virtual time" },
        pilots_note(group),
        biased(group) + &biased_schemes(group),
        evaluated_on(group),
        group.schemes.first().map_or(String::new(), costs_sentence)
    );
    Some(Table::of(rows)?.named("table1", &format!("Time to {}", group.target_words()), &note))
}

/// The row of one scheme.
fn row(group: &Group, scheme: &SchemeRuns, best: Option<f64>, reference: Option<&SchemeRuns>) -> Vec<Field> {
    let standing = &scheme.standing;
    let (hours, bound) = (mean(standing.hours), standing.bound());
    let with_pilots = hours.map(|hours| hours + hours_before(group, &scheme.scheme));
    // The spread of runs that were cut off says nothing.
    let spread = standing.hours.filter(|_| bound == Bound::Exact).and_then(|hours| hours.std);
    let ended = standing.seeds - standing.reached - standing.diverged - standing.going_on;
    // Without a given target the end of such a run, a cap, is in the list of runs.
    let missed = if has_given_target(group) { ended } else { 0 };
    let states =
        [(standing.diverged, "diverged"), (standing.going_on, "not over"), (missed, "did not reach it")];
    let states = states.iter().filter(|(runs, _)| *runs > 0);
    let state: String = states.map(|(runs, state)| format!(", {runs} {state}")).collect();
    let reached = Cell {
        text: format!("{} of {}{state}", standing.reached, standing.seeds),
        ..Cell::count(standing.reached as u64)
    };
    let to_reference = reference.map(|reference| {
        // The other way round than a speed-up: how many times the reference's hours.
        let ratio = reference.standing.speed_up_over(standing);
        let cell = Cell::ratio(ratio.map(|ratio| ratio.ratio));
        number(format!("ratio to {}", reference.scheme), "ratio_to_reference", cell)
            .bounded(ratio.map_or(Bound::Exact, |ratio| ratio.bound))
    });
    let of_target = |info: &&MetricInfo| group.target().is_some_and(|target| target.metric == info.name);
    let shown = group.metrics().iter().find(of_target).or(group.metrics().first());
    let headline = shown.map(|info| {
        let values = scheme.runs.iter().filter_map(|run| run.summary().metrics.get(&info.name));
        metric(format!("{} at the end", info.name), info, mean(Spread::of(values)))
    });
    let ratio = Cell::ratio(hours.zip(best).map(|(hours, best)| hours / best));
    let mut fields = vec![
        words("scheme", "scheme", &scheme.scheme),
        number("time to target", "hours", Cell::hours(hours)).bounded(bound),
        number("±", "hours_std", Cell::hours(spread)),
        number("ratio", "ratio_to_best", ratio).bounded(bound),
    ];
    fields.extend(to_reference);
    fields.extend([
        number("with pilots", "hours_with_pilots", Cell::hours(with_pilots)).bounded(bound),
        number("rounds", "rounds", Cell::short(mean(standing.rounds))),
        number("devices a round", "participants", Cell::short(mean(standing.participants))),
    ]);
    fields.extend(headline);
    fields.extend(shown.filter(|_| is_tested(group)).map(|info| {
        let values = scheme.runs.iter().filter_map(|run| run.summary().test.get(&info.name));
        let cell = Cell::number(mean(Spread::of(values)), |value| metric_value(info.display, value));
        number(format!("test {}", info.name), format!("test_{}", info.name), cell)
    }));
    fields.extend([
        number("seeds at target", "reached", reached),
        number("seeds", "seeds", Cell::count(standing.seeds as u64)),
    ]);
    fields
}

/// Whether runs looked at validation samples, and at test samples once.
fn is_tested(group: &Group) -> bool {
    group.runs().any(|run| !run.summary().test.is_empty())
}

/// A word on what metrics are computed from, where that is not the test samples all along.
fn evaluated_on(group: &Group) -> String {
    let mut text = String::new();
    if is_tested(group) {
        text += " Test metrics are on test samples, which were looked at once; all other metrics, and the target, are on \
                 validation samples.";
    }
    if group.runs().any(|run| run.summary().estimated.is_some()) {
        text += " Metrics are estimates from the devices that evaluated a model; the list of all runs has their standard \
                 errors.";
    }
    text
}

/// What a target that was given for the report does to the runs.
fn given_target_note(group: &Group) -> &'static str {
    match has_given_target(group) {
        true => {
            "The target was given for this report: each run is shown to the first evaluation that reaches it. A run that \
             ended before that did not reach it, and a run in progress is not over. "
        }
        false => "",
    }
}

fn has_given_target(group: &Group) -> bool {
    group.runs().any(|run| run.has_given_target)
}

/// Whether the table counts pilots, and where.
fn pilots_note(group: &Group) -> String {
    match pilot_hours(group).map(|hours| duration(3600.0 * hours)) {
        Some(time) if group.setting.keeps_pilots() => format!(
            "schemes that need α and β continued from their pilots, a pair of which takes {time} and is counted"
        ),
        Some(time) => format!(
            "a pair of pilots takes {time}, counted under “with pilots” for schemes that need α and β"
        ),
        None => "no pilots are at hand, so “with pilots” counts none".to_owned(),
    }
}

/// The schemes whose weighted sum is biased, whoever reports.
fn biased_schemes(group: &Group) -> String {
    let by_name = |name: &str| name.parse::<Scheme>().is_ok_and(|scheme| !scheme.method().is_unbiased());
    // Of a program's scheme there is no more than its promise.
    let promised =
        |name: &str| group.runs().find(|run| run.header.scheme == name).and_then(|run| run.header.unbiased);
    let names = group.schemes.iter().map(|scheme| scheme.scheme.as_str());
    let biased: Vec<&str> =
        names.filter(|name| promised(name).map_or_else(|| by_name(name), |unbiased| !unbiased)).collect();
    match biased.is_empty() {
        true => String::new(),
        false => format!(" The sums of {} are biased by the scheme.", biased.join(", ")),
    }
}

/// A word on rounds that were not what the plan meant them to be.
fn biased(group: &Group) -> String {
    let rounds: u64 = group.runs().map(|run| run.summary().rounds).sum();
    match group.runs().map(|run| run.summary().biased_rounds).sum::<u64>() {
        0 => String::new(),
        biased => format!(
            " In {biased} of {rounds} rounds a device of the cohort did not report: the steps of these rounds are biased."
        ),
    }
}
