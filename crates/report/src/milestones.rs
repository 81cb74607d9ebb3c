//! Times to accuracies below the target: what can be compared where a scheme did not get to the end.

use crate::collection::{Group, SchemeRuns};
use crate::numbers::{duration, times};
use crate::run_view::RunView;
use crate::table::{Cell, Column, Table};

/// How many steps there are from 0 to 1.
const STEPS: f64 = 20.0;

/// How many of them.
const MILESTONES: usize = 5;

/// So many evaluations in a row are averaged where a first one by chance should not count.
const IN_A_ROW: usize = 10;

/// A row a scheme: how long it took to each accuracy, once and on average over evaluations in a row; none without a
/// target accuracy.
pub fn milestones_tables(group: &Group) -> Option<[Table; 2]> {
    let levels = levels(group.target_accuracy()?);
    let once = "Time to the first evaluation that is at least so accurate, means over seeds, and how many times that of the \
                fastest scheme; – where some seed did not reach it.";
    let on_average = format!(
        "The same of the mean over {IN_A_ROW} evaluations in a row: what is noisy gets to an accuracy by chance long \
         before it is there. Who is evaluated less often has its ten over a longer time."
    );
    Some([
        table(group, &levels, 1, ("milestones", "On the way"), once),
        table(group, &levels, IN_A_ROW, ("milestones-mean", "On the way, on average"), &on_average),
    ])
}

fn table(group: &Group, levels: &[f64], in_a_row: usize, (name, title): (&str, &str), note: &str) -> Table {
    let secs: Vec<Vec<Option<f64>>> = group
        .schemes
        .iter()
        .map(|scheme| levels.iter().map(|&level| mean_secs(scheme, level, in_a_row)).collect())
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
    Table {
        name: name.to_owned(),
        title: title.to_owned(),
        note: note.to_owned(),
        columns: std::iter::once(Column::words("scheme", "scheme"))
            .chain(levels.iter().map(column))
            .collect(),
        rows: group.schemes.iter().zip(&secs).map(row).collect(),
    }
}

/// The last few whole steps below the target, in order.
fn levels(target: f64) -> Vec<f64> {
    // A target on a step is no step below itself.
    let last = ((target - 1e-9) * STEPS).floor() as usize;
    (last.saturating_sub(MILESTONES - 1).max(1)..=last).map(|step| step as f64 / STEPS).collect()
}

/// None where some seed did not reach the accuracy.
fn mean_secs(scheme: &SchemeRuns, level: f64, in_a_row: usize) -> Option<f64> {
    let first = |run: &RunView| {
        let mut rows = run.evaluated.windows(in_a_row);
        // Steps are not exact in binary.
        let row =
            rows.find(|row| row.iter().map(|at| at.accuracy).sum::<f64>() / row.len() as f64 >= level - 1e-9);
        row?.last().map(|at| at.secs)
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
