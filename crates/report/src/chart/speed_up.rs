//! Speed-up against the values of a sweep: evenly spaced, for values grow by factors or are no numbers.

use super::canvas::{Canvas, Shape};
use super::figure::Figure;
use super::frame::Frame;
use super::legend::{self, Entry, Sign};
use super::palette::Look;
use crate::numbers::times;
use crate::sweep::{Sweep, SweepPoint};

const SIZE: (f64, f64) = (560.0, 400.0);
/// Between two schemes at one value, where two values are 1 apart.
const SPREAD: f64 = 0.05;

pub(crate) fn draw(sweep: &Sweep) -> Figure {
    let schemes = sweep.schemes();
    let entries: Vec<Entry> = schemes
        .iter()
        .map(|scheme| Entry {
            text: (*scheme).to_owned(),
            sign: Sign::Line(Look::of_scheme(scheme).line_class()),
        })
        .collect();
    let most = |point: &SweepPoint| point.speed_up.map(|ratio| ratio + point.speed_up_std.unwrap_or(0.0));
    let high = sweep.points.iter().filter_map(most).fold(1.0, f64::max);
    let legend_px = legend::height_px(&entries, SIZE.0 - 72.0);
    let ends = (-0.4, sweep.values.len() as f64 - 0.6);
    let frame = Frame::new(SIZE, legend_px + 14.0, ends, (0.0, 1.08 * high));
    let mut canvas = Canvas::default();
    legend::draw(&mut canvas, &entries, (frame.left(), 2.0), SIZE.0 - 72.0);
    let ticks: Vec<(f64, String)> =
        sweep.values.iter().enumerate().map(|(place, value)| (place as f64, value.clone())).collect();
    frame.draw(
        &mut canvas,
        &title_of(&sweep.key),
        &format!("speed-up over {} (×)", sweep.reference),
        Some(&ticks),
    );
    canvas.line("rule", frame.at(ends.0, 1.0), frame.at(ends.1, 1.0));
    let middle = (schemes.len() as f64 - 1.0) / 2.0;
    for (number, scheme) in schemes.into_iter().enumerate() {
        // A little beside each other, so that deviations do not lie on one another.
        let aside = SPREAD * (number as f64 - middle);
        let look = Look::of_scheme(scheme);
        let points: Vec<(f64, f64, &SweepPoint)> = (0..)
            .zip(&sweep.values)
            .filter_map(|(place, value)| {
                let same = |point: &&SweepPoint| point.value == *value && point.scheme == scheme;
                let point = sweep.points.iter().find(same)?;
                Some((f64::from(place) + aside, point.speed_up?, point))
            })
            .collect();
        canvas.curve(&look.line_class(), points.iter().map(|&(x, y, _)| frame.at(x, y)));
        for (x, y, point) in points {
            if let Some(std) = point.speed_up_std {
                let class = format!("thin c{}", look.colour);
                canvas.line(&class, frame.at(x, y - std), frame.at(x, y + std));
            }
            // Hollow and pointing up: it is at least this.
            let (class, shape, least) = if point.at_least {
                (format!("hollow c{}", look.colour), Shape::Triangle, "at least ")
            } else {
                (format!("dot f{}", look.colour), Shape::Circle, "")
            };
            let hover = format!("{scheme} at {}: {least}{}", point.value, times(y));
            canvas.mark(&class, shape, frame.at(x, y), 4.2, &hover);
        }
    }
    let title = format!("Speed-up over {} against {}", sweep.reference, sweep.key);
    let caption = "Time to the target of the reference by that of the scheme, with one standard deviation over seeds. \
                   A hollow triangle is a lower bound: the reference ended before its target.";
    Figure::new("speed-up", &title, caption, SIZE, canvas)
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
