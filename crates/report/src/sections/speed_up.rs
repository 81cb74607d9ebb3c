//! Speed-up against the values of a sweep: evenly spaced, for values grow by factors or are no numbers.

use crate::chart::canvas::{Canvas, Shape};
use crate::chart::figure::Figure;
use crate::chart::legend::{self, Entry, Sign};
use crate::chart::palette::SchemeStyle;
use crate::chart::plot_area::PlotArea;
use crate::numbers::times;
use crate::standing::{Bound, SpeedUp};
use crate::sweep::{Sweep, SweepPoint};

const SIZE: (f64, f64) = (440.0, 340.0);
/// Between two schemes at one value, where two values are 1 apart.
const SPREAD: f64 = 0.05;

/// None where there is no axis, or nothing to be faster than.
pub(crate) fn draw(sweep: &Sweep) -> Option<Figure> {
    let reference = sweep.reference.filter(|_| sweep.has_axis())?;
    let (schemes, axis) = (sweep.schemes(), sweep.axis());
    let entries: Vec<Entry> = schemes
        .iter()
        .map(|scheme| Entry {
            text: (*scheme).to_owned(),
            sign: Sign::Line(SchemeStyle::of(scheme).line_class()),
        })
        .collect();
    let most = |point: &SweepPoint| point.speed_up.map(|up| up.ratio + up.std.unwrap_or(0.0));
    let high = sweep.points.iter().filter_map(most).fold(1.0, f64::max);
    let legend_px = legend::height_px(&entries, SIZE.0 - 72.0);
    let ends = (-0.4, axis.len() as f64 - 0.6);
    let frame = PlotArea::new(SIZE, legend_px + 14.0, ends, (0.0, 1.08 * high));
    let mut canvas = Canvas::default();
    legend::draw(&mut canvas, &entries, (frame.left(), 2.0), SIZE.0 - 72.0);
    // As many labels as there is room for.
    let room = axis.iter().map(|value| legend::width_px(value) + 8.0).fold(1.0, f64::max);
    let every = (room * axis.len() as f64 / (frame.right() - frame.left())).ceil().max(1.0) as usize;
    let labelled = axis.iter().enumerate().step_by(every);
    let ticks: Vec<(f64, String)> =
        labelled.map(|(place, value)| (place as f64, (*value).to_owned())).collect();
    frame.draw(
        &mut canvas,
        &title_of(&sweep.title()),
        &format!("speed-up over {reference} (×)"),
        Some(&ticks),
    );
    canvas.line("rule", frame.at(ends.0, 1.0), frame.at(ends.1, 1.0));
    for (number, scheme) in schemes.iter().enumerate() {
        // A little beside each other, so that deviations do not lie on one another.
        let aside = SPREAD * (number as f64 - (schemes.len() as f64 - 1.0) / 2.0);
        draw_scheme(&mut canvas, frame, &points_of(sweep, &axis, scheme, aside), scheme);
    }
    let title = format!("Speed-up over {reference} against {}", sweep.title());
    let caption = "Time to the target of the reference by that of the scheme, with one standard deviation over seeds. \
                   A hollow triangle is a lower bound (the reference ended before its target), a hollow square an upper \
                   bound (the scheme did).";
    Some(Figure::new("speed-up", &title, caption, SIZE, canvas))
}

/// Where a scheme stands at each value: place on the axis, value, and speed-up.
fn points_of<'a>(sweep: &Sweep, axis: &[&'a str], scheme: &str, aside: f64) -> Vec<(f64, &'a str, SpeedUp)> {
    let point = |(place, value): (usize, &&'a str)| {
        let same = |point: &&SweepPoint| {
            point.values.first().is_some_and(|at| at == value) && point.scheme == scheme
        };
        let point = sweep.points.iter().find(same)?;
        Some((place as f64 + aside, *value, point.speed_up?))
    };
    axis.iter().enumerate().filter_map(point).collect()
}

fn draw_scheme(canvas: &mut Canvas, frame: PlotArea, points: &[(f64, &str, SpeedUp)], scheme: &str) {
    let style = SchemeStyle::of(scheme);
    canvas.curve(&style.line_class(), points.iter().map(|&(x, _, up)| frame.at(x, up.ratio)));
    for &(x, value, SpeedUp { ratio, std, bound }) in points {
        if let Some(std) = std {
            let class = format!("thin c{}", style.colour);
            canvas.line(&class, frame.at(x, ratio - std), frame.at(x, ratio + std));
        }
        let (class, shape) = match bound {
            Bound::Exact => (format!("dot f{}", style.colour), Shape::Circle),
            // Hollow and pointing up, or not.
            Bound::AtLeast => (format!("hollow c{}", style.colour), Shape::Triangle),
            Bound::AtMost => (format!("hollow c{}", style.colour), Shape::Square),
        };
        let hover = format!("{scheme} at {value}: {}{}", bound.sign(), times(ratio));
        canvas.mark(&class, shape, frame.at(x, ratio), 4.2, &hover);
    }
}

/// A scenario's key with its unit as people write it.
fn title_of(key: &str) -> String {
    let units = [
        ("_mbps", "Mbit/s"),
        ("_mbit", "Mbit"),
        ("_secs", "s"),
        ("_gflop", "GFLOP"),
        ("_hours", "hours"),
        ("_db", "dB"),
    ];
    let name = key.rsplit('.').next().unwrap_or(key);
    let unit = units.iter().find_map(|(end, unit)| Some((name.strip_suffix(end)?, *unit)));
    match unit {
        Some((name, unit)) if !key.contains(',') => format!("{} ({unit})", name.replace('_', " ")),
        _ => key.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn keys_become_titles_with_units() {
        assert_eq!(super::title_of("fleet.bandwidth_mbps"), "bandwidth (Mbit/s)");
        assert_eq!(super::title_of("train.learning_rate"), "train.learning_rate");
    }
}
