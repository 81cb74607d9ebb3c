//! The figures of a report.

use fedflip_fleet::type_of;
use fedflip_record::Round;

use crate::chart::figure::Figure;
use crate::chart::histogram::{Histogram, Rule};
use crate::chart::line::{Curve, LineChart};
use crate::chart::palette::Look;
use crate::chart::scatter::{Point, Scatter};
use crate::chart::speed_up;
use crate::chart::timeline::{Row, Timeline};
use crate::collection::{Group, SchemeRuns};
use crate::curve::{Measure, curve};
use crate::explain::Explained;
use crate::numbers::{count, duration, percent, significant};
use crate::run_view::RunView;
use crate::sweep::Sweep;

/// Devices drawn in one figure; of more, every so manieth.
const DEVICES_MAX: usize = 400;
/// Device types with a colour and a shape of their own.
const KINDS_MAX: usize = 8;

/// Accuracy or loss over time: the paper's Fig. 2–4.
pub fn curves(group: &Group, measure: Measure) -> Figure {
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

/// Planned q against realised frequency.
pub fn participation(scheme: &SchemeRuns) -> Option<Figure> {
    let devices = scheme.devices.as_ref()?;
    // Under other plans q was another.
    let rounds = scheme.rounds_of_plan();
    let all = devices.fleet.len();
    let mut kinds: Vec<String> = Vec::new();
    let kind_of = |name: &str, kinds: &mut Vec<String>| {
        let kind = type_of(name);
        let place = kinds.iter().position(|known| known == kind).unwrap_or_else(|| {
            kinds.push(if kinds.len() + 1 < KINDS_MAX { kind } else { "others" }.to_owned());
            kinds.len() - 1
        });
        kinds.truncate(KINDS_MAX);
        place.min(KINDS_MAX - 1)
    };
    let mut points = Vec::new();
    for device in (0..all).step_by(all.div_ceil(DEVICES_MAX).max(1)) {
        let name = devices.fleet.name(device);
        let taken = scheme.participations_of_plan(device);
        let (planned, realised) = (devices.q[device], taken as f64 / (rounds as f64).max(1.0));
        let hover = format!(
            "{name}: planned {}, took part in {} of {} rounds ({})",
            percent(planned),
            count(taken as usize),
            count(rounds as usize),
            percent(realised)
        );
        points.push(Point { hover, kind: kind_of(name, &mut kinds), planned, realised });
    }
    let some = if points.len() < all {
        format!(" {} of {} devices are shown.", count(points.len()), count(all))
    } else {
        String::new()
    };
    let in_cycles = match devices.schedule.quiet() {
        Some(_) => ", by the mean of usual and quiet rounds over a whole number of cycles",
        None => "",
    };
    let since = if rounds < scheme.rounds() { " since the last plan" } else { "" };
    let figure = Scatter {
        name: &format!("participation-{}", scheme.scheme),
        title: &format!("Participation under {}", scheme.scheme),
        caption: &format!(
            "A point a device, over {} rounds of all seeds{since}. Devices on the dashed line took part as often as planned{in_cycles}; chance alone keeps 95 % of them within the grey area.{some}",
            count(rounds as usize)
        ),
        kinds: &kinds,
        points,
        flips: rounds,
    };
    Some(figure.draw())
}

/// How long rounds took, against E[T̂] and the bounds.
pub fn round_times(scheme: &SchemeRuns, explained: &Explained) -> Figure {
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
        colour: Look::of_scheme("weighted").colour,
        secs: &secs,
        rounds,
        rules,
    }
    .draw()
}

/// The rounds of a scheme's first run that are worth a look: why, and the figure.
pub fn timelines(scheme: &SchemeRuns) -> Vec<(String, Figure)> {
    // The first seed that has the round that somebody wants to see, or the first.
    let chosen = scheme.runs.iter().find(|run| run.kept.has_chosen());
    let Some(run) = chosen.or(scheme.runs.first()) else { return Vec::new() };
    let kept = run.kept.all().into_iter();
    kept.map(|(why, round)| (format!("round {} ({why})", round.round), timeline(scheme, run, round)))
        .collect()
}

fn timeline(scheme: &SchemeRuns, run: &RunView, round: &Round) -> Figure {
    let fleet = scheme.devices.as_ref().map(|devices| &devices.fleet).filter(|fleet| {
        // Records may name devices that the fleet beside them does not have.
        round.cohort.iter().all(|&device| device < fleet.len())
    });
    let rows = round.cohort.iter().enumerate().map(|(place, &device)| {
        let mbps = round.mbps.get(place).copied().map_or(0.0, f64::from);
        let recorded = |secs: &[f32]| secs.get(place).copied().map(f64::from);
        let compute_secs = recorded(&round.compute_secs).or(fleet.map(|fleet| fleet.compute_secs()[device]));
        let upload_secs =
            recorded(&round.upload_secs).or(fleet.map(|fleet| fleet.comm_secs()[device] / mbps));
        Row {
            device: fleet.map_or_else(|| format!("device {device}"), |fleet| fleet.name(device).to_owned()),
            compute_secs: compute_secs.unwrap_or(0.0),
            upload_secs: upload_secs.filter(|secs| secs.is_finite()).unwrap_or(0.0),
            mbps,
            lost: round.lost.iter().find(|lost| lost.device == device).map(|lost| lost.reason.clone()),
        }
    });
    let number = round.round;
    let participants = round.cohort.len();
    Timeline {
        name: &format!("timeline-{}-round-{number}", scheme.scheme),
        title: &format!("Round {number} under {}, seed {}", scheme.scheme, run.header.seed),
        caption: &format!(
            "{participants} {} took part; the round took {}, with {} Mbit/s for all together.",
            if participants == 1 { "device" } else { "devices" },
            duration(round.round_secs),
            significant(run.header.bandwidth_mbps, 3)
        ),
        round_secs: round.round_secs,
        band_mbps: run.header.bandwidth_mbps,
        rows: rows.collect(),
    }
    .draw()
}

/// Speed-up against what sets the groups apart: the paper's Fig. 5.
pub fn sweep(sweep: &Sweep) -> Option<Figure> {
    speed_up::draw(sweep)
}
