//! Times to accuracies below the target: what can be compared where a scheme did not get to the end.

use crate::collection::{Group, SchemeRuns};
use crate::numbers::{duration, times};
use crate::table::{Cell, Column, Table};

/// How many steps there are from 0 to 1.
const STEPS: f64 = 20.0;

/// How many of them.
const MILESTONES: usize = 5;

/// A row a scheme: how long it took to each accuracy; none without a target accuracy.
pub fn milestones_table(group: &Group) -> Option<Table> {
    let levels = levels(group.target_accuracy()?);
    let secs: Vec<Vec<Option<f64>>> = group
        .schemes
        .iter()
        .map(|scheme| levels.iter().map(|&level| mean_secs(scheme, level)).collect())
        .collect();
    let best = |column: usize| secs.iter().filter_map(|row| row[column]).min_by(f64::total_cmp);
    let best: Vec<Option<f64>> = (0..levels.len()).map(best).collect();
    let cell = |(secs, best): (&Option<f64>, &Option<f64>)| {
        let ratio =
            secs.zip(*best).map_or(String::new(), |(secs, best)| format!(" ({})", times(secs / best)));
        Cell::number(secs.map(|secs| secs / 3600.0), |hours| duration(3600.0 * hours) + &ratio)
    };
    let row = |(scheme, secs): (&SchemeRuns, &Vec<Option<f64>>)| {
        std::iter::once(Cell::text(&scheme.scheme)).chain(secs.iter().zip(&best).map(cell)).collect()
    };
    let column = |level: &f64| {
        let percent = format!("{:.0}", 100.0 * level);
        Column::number(&format!("{percent} %"), &format!("hours_to_{percent}"))
    };
    Some(Table {
        name: "milestones".to_owned(),
        title: "On the way".to_owned(),
        note: "Time to the first evaluation that is at least so accurate, means over seeds, and how many times that \
               of the fastest scheme; – where some seed did not get there."
            .to_owned(),
        columns: std::iter::once(Column::words("scheme", "scheme")).chain(levels.iter().map(column)).collect(),
        rows: group.schemes.iter().zip(&secs).map(row).collect(),
    })
}

/// The last few whole steps below the target, in order.
fn levels(target: f64) -> Vec<f64> {
    // A target on a step is no step below itself.
    let last = ((target - 1e-9) * STEPS).floor() as usize;
    (last.saturating_sub(MILESTONES - 1).max(1)..=last).map(|step| step as f64 / STEPS).collect()
}

/// None where some seed did not get there.
fn mean_secs(scheme: &SchemeRuns, level: f64) -> Option<f64> {
    let first = |run: &crate::run_view::RunView| {
        // Steps are not exact in binary.
        run.evaluated.iter().find(|at| at.accuracy >= level - 1e-9).map(|at| at.secs)
    };
    let secs = scheme.runs.iter().map(first).collect::<Option<Vec<f64>>>()?;
    (!secs.is_empty()).then(|| secs.iter().sum::<f64>() / secs.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::levels;

    #[test]
    fn steps_lie_below_the_target() {
        let percents = |target: f64| -> Vec<i64> {
            levels(target).iter().map(|level| (100.0 * level).round() as i64).collect()
        };
        assert_eq!(percents(0.48), [25, 30, 35, 40, 45]);
        assert_eq!(percents(0.6), [35, 40, 45, 50, 55]);
        assert_eq!(percents(0.12), [5, 10]);
        assert!(percents(0.05).is_empty() && percents(0.001).is_empty());
    }
}
