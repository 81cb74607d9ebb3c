//! Times to values on the way to the target: what can be compared where a scheme did not get to the end.

use fedflip_fleet::Display;
use fedflip_record::{Point, Target, TargetMode};

use super::Material;
use crate::chart::scale::{nice_step, tick_label};
use crate::collection::{Group, SchemeRuns};
use crate::model::Block;
use crate::numbers::{duration, times};
use crate::run_view::RunView;
use crate::table::{Cell, Field, Table, number, words};

/// From one value of a share to the next.
const STEP_OF_SHARES: f64 = 0.05;

/// How many values there are at most: those that are nearest to the target.
const MILESTONES: usize = 5;

/// The number of consecutive evaluations whose mean has to reach a value, so that a single lucky one does not count.
const IN_A_ROW: usize = 10;

/// The share of a value by which the end of the values lies behind it.
const JUST_BEHIND: f64 = 1e-6;

pub(super) fn once(Material { group, .. }: &Material<'_>) -> Option<Block> {
    let note = "The time to the first evaluation that reaches the value: the mean over seeds, and its ratio to the fastest \
                scheme. A dash means that some seed did not reach the value.";
    Some(Block::Table(table(group, 1)?.named("milestones", "Times to intermediate values", note)))
}

pub(super) fn on_average(Material { group, .. }: &Material<'_>) -> Option<Block> {
    let note = format!(
        "Here the mean of {IN_A_ROW} consecutive evaluations reaches the value, because a single evaluation may reach it by \
         chance. A scheme that is evaluated less often spreads these evaluations over a longer time."
    );
    Some(Block::Table(table(group, IN_A_ROW)?.named(
        "milestones-mean",
        "Times to intermediate values, by a running mean",
        &note,
    )))
}

/// A row a scheme: how long it took to each value of the target's metric. None without a target, or where no scheme reached
/// any of the values.
fn table(group: &Group, in_a_row: usize) -> Option<Table> {
    let target = group.target()?;
    let display = group.display_of(&target.metric);
    let start = match (display, target.mode) {
        (Display::Share, TargetMode::Max) => 0.0,
        (Display::Share, TargetMode::Min) => 1.0,
        (Display::Number, _) => {
            group.runs().find_map(|run| run.fold.curve.of(&target.metric).first().copied())?.1
        }
    };
    let at = if display == Display::Share { target.at.clamp(0.0, 1.0) } else { target.at };
    let end = end_reached(group, &Target { at, ..target.clone() }, in_a_row);
    let step = match display {
        Display::Share => STEP_OF_SHARES,
        // Twice as many as are shown, for values change least near the target.
        Display::Number => nice_step((start - end).abs() / (2 * MILESTONES) as f64),
    };
    let levels = levels(start, end, step);
    let secs: Vec<Vec<Option<f64>>> = group
        .schemes
        .iter()
        .map(|scheme| {
            let to =
                |&level: &f64| mean_secs(scheme, &Target { at: level, ..target.clone() }, step, in_a_row);
            levels.iter().map(to).collect()
        })
        .collect();
    secs.iter().flatten().flatten().next()?;
    let field = |row: &[Option<f64>], place: usize| -> Field {
        let best = secs.iter().filter_map(|row| row[place]).min_by(f64::total_cmp);
        let ratio =
            row[place].zip(best).map_or(String::new(), |(secs, best)| format!(" ({})", times(secs / best)));
        let cell =
            Cell::number(row[place].map(|secs| secs / 3600.0), |hours| duration(3600.0 * hours) + &ratio);
        let (level, unit) = match display {
            Display::Share => (tick_label(100.0 * levels[place], 1.0), " %"),
            Display::Number => (tick_label(levels[place], step), ""),
        };
        number(format!("{level}{unit}"), format!("hours_to_{level}"), cell)
    };
    let row = |(scheme, secs): (&SchemeRuns, &Vec<Option<f64>>)| {
        let fields = (0..levels.len()).map(|place| field(secs, place));
        std::iter::once(words("scheme", "scheme", &scheme.scheme)).chain(fields).collect()
    };
    Table::of(group.schemes.iter().zip(&secs).map(row))
}

/// Where the values end: at the target, or just behind the best value that all seeds of some scheme have reached.
fn end_reached(group: &Group, target: &Target, in_a_row: usize) -> f64 {
    // With this sign, larger values are better.
    let sign = if target.mode == TargetMode::Max { 1.0 } else { -1.0 };
    let of_run = |run: &RunView| {
        let evaluated = evaluations(run, target);
        evaluated.windows(in_a_row).map(|row| sign * mean(row)).reduce(f64::max)
    };
    let of_scheme = |scheme: &SchemeRuns| {
        let reached = scheme.runs.iter().map(of_run).collect::<Option<Vec<f64>>>()?;
        reached.into_iter().reduce(f64::min)
    };
    match group.schemes.iter().filter_map(of_scheme).reduce(f64::max) {
        // A value that is exactly reached lies before the end.
        Some(reached) if reached < sign * target.at => sign * (reached + JUST_BEHIND * reached.abs()),
        _ => target.at,
    }
}

fn evaluations(run: &RunView, target: &Target) -> Vec<Point> {
    run.fold.curve.points(&target.metric).filter(|at| at.round > 0).collect()
}

fn mean(row: &[Point]) -> f64 {
    row.iter().map(|point| point.value).sum::<f64>() / row.len() as f64
}

/// The last few multiples of a step between a start and a target, in the order in which they are met.
fn levels(start: f64, target: f64, step: f64) -> Vec<f64> {
    let (low, high) = (start.min(target) / step, start.max(target) / step);
    // A multiple at an end is none between the ends.
    let (first, last) = ((low + 1e-9).floor() + 1.0, (high - 1e-9).ceil() - 1.0);
    let from_target = |place: usize| match start < target {
        true => last - place as f64,
        false => first + place as f64,
    };
    let near = (0..MILESTONES).map(from_target).filter(|number| (first..=last).contains(number));
    let mut levels: Vec<f64> = near.map(|number| number * step).collect();
    levels.reverse();
    levels
}

/// None where some seed did not reach the value.
fn mean_secs(scheme: &SchemeRuns, to: &Target, step: f64, in_a_row: usize) -> Option<f64> {
    // Steps are not exact in binary.
    let reaches = |row: &[Point]| match to.mode {
        TargetMode::Max => mean(row) >= to.at - 1e-8 * step,
        TargetMode::Min => mean(row) <= to.at + 1e-8 * step,
    };
    let first =
        |run: &RunView| Some(evaluations(run, to).windows(in_a_row).find(|row| reaches(row))?.last()?.secs);
    let secs = scheme.runs.iter().map(first).collect::<Option<Vec<f64>>>()?;
    (!secs.is_empty()).then(|| secs.iter().sum::<f64>() / secs.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::{STEP_OF_SHARES, levels};

    #[test]
    fn steps_lie_before_the_target() {
        let percents = |start: f64, target: f64| -> Vec<i64> {
            let levels = levels(start, target, STEP_OF_SHARES);
            levels.iter().map(|level| (100.0 * level).round() as i64).collect()
        };
        assert_eq!(percents(0.0, 0.48), [25, 30, 35, 40, 45]);
        assert_eq!(percents(0.0, 0.6), [35, 40, 45, 50, 55]);
        assert_eq!(percents(0.0, 0.12), [5, 10]);
        assert!(percents(0.0, 0.05).is_empty() && percents(0.0, 0.001).is_empty());
        assert_eq!(percents(1.0, 0.1), [35, 30, 25, 20, 15], "an error rate falls");
    }

    #[test]
    fn no_record_makes_steps_without_end() {
        assert_eq!(
            levels(2.0, 0.5, 0.2),
            [1.4, 1.2, 1.0, 0.8, 0.6].map(|level: f64| (level / 0.2).round() * 0.2)
        );
        for (start, target, step) in [(0.0, 0.0, 0.0), (1e300, -1e300, 1e-300), (1.0, 1.0, f64::NAN)] {
            assert!(levels(start, target, step).len() <= 5);
        }
    }
}
