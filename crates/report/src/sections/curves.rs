//! Accuracy and loss over time: the paper's Fig. 2–4.

use super::Material;
use crate::chart::figure::Figure;
use crate::chart::line::{Curve, LineChart};
use crate::collection::Group;
use crate::curve::{Measure, curve};
use crate::model::Block;

pub(super) fn blocks(Material { group, .. }: &Material<'_>) -> Vec<Block> {
    if group.schemes.is_empty() {
        return Vec::new();
    }
    let figures = [Measure::Accuracy, Measure::Loss].map(|measure| Block::Figure(figure(group, measure)));
    vec![Block::Beside(figures.into())]
}

/// A curve for each scheme, with the range of its seeds.
pub fn figure(group: &Group, measure: Measure) -> Figure {
    let curves: Vec<Curve<'_>> = group
        .schemes
        .iter()
        .map(|scheme| Curve {
            scheme: &scheme.scheme,
            points: curve(&scheme.runs, measure),
            reached: scheme.standing.is_whole(),
        })
        .collect();
    let seeds = group.schemes.iter().map(|scheme| scheme.runs.len()).max().unwrap_or(1);
    let over = if seeds > 1 {
        "Lines are means over seeds and bands go from the least to the most; a seed that has ended counts with its last value. "
    } else {
        ""
    };
    let caption = format!(
        "{over}A filled dot ends a scheme that reached its target with every seed, a hollow one any other."
    );
    let (task, time) = (group.task(), group.time());
    match measure {
        Measure::Accuracy => LineChart {
            name: "accuracy",
            title: &format!("Accuracy on {task} against {time}"),
            caption: &caption,
            x_title: time,
            y_title: "test accuracy (%)",
            y_factor: 100.0,
            y_range: (0.0, 100.0 * accuracy_top(&curves, group.target_accuracy())),
            target: group.target_accuracy(),
            curves,
        }
        .draw(),
        Measure::Loss => {
            let y_range = loss_range(&curves);
            LineChart {
                name: "loss",
                title: &format!("Loss on {task} against {time}"),
                caption: &caption,
                x_title: time,
                y_title: "test loss",
                y_factor: 1.0,
                y_range,
                target: None,
                curves,
            }
            .draw()
        }
    }
}

/// A little above the target and the best, but never above all.
fn accuracy_top(curves: &[Curve<'_>], target: Option<f64>) -> f64 {
    let best = curves.iter().flat_map(|curve| &curve.points).map(|point| point.high).fold(0.0, f64::max);
    (1.1 * best.max(target.unwrap_or(0.0))).clamp(0.1, 1.0)
}

/// From 0 to a little above the peak that half of the curves stay below: one that diverges leaves the figure.
fn loss_range(curves: &[Curve<'_>]) -> (f64, f64) {
    let peak = |curve: &Curve<'_>| {
        let losses = curve.points.iter().map(|point| point.mean).filter(|loss| loss.is_finite());
        losses.max_by(f64::total_cmp)
    };
    let mut peaks: Vec<f64> = curves.iter().filter_map(peak).collect();
    peaks.sort_unstable_by(f64::total_cmp);
    let middle = peaks.get(peaks.len() / 2).copied().unwrap_or(0.0);
    (0.0, if middle > 0.0 { 1.15 * middle } else { 1.0 })
}
