//! Several groups side by side: times and speed-ups over the values that set them apart.

use crate::chart::canvas::{Canvas, Shape};
use crate::chart::figure::Figure;
use crate::chart::legend::{self, Entry};
use crate::chart::palette::SchemeStyle;
use crate::chart::plot_area::{self, Axis, PlotArea};
use crate::collection::{Collection, Group, SchemeRuns};
use crate::model::{Block, Layout, Section};
use crate::numbers::times;
use crate::standing::{Bound, SpeedUp, mean};
use crate::table::{Cell, Field, Table, number, words};

const SIZE: (f64, f64) = (440.0, 340.0);
/// Between two schemes at one value, where two values are 1 apart.
const SPREAD: f64 = 0.05;

/// The schemes that others are measured against, the first that was run everywhere: the paper's Fig. 5 has the
/// first of all.
const REFERENCES: [&str; 4] = ["full", "uniform", "weighted", "paper"];

/// One scheme at one point.
#[derive(Clone, Debug)]
pub struct SweepPoint<'a> {
    /// What sets the group apart, such as `fleet.bandwidth_mbps` and `100`: the same keys at every point.
    pub label: &'a [(String, String)],
    /// How the scheme did.
    pub scheme: &'a SchemeRuns,
    /// The speed-up over the reference.
    pub speed_up: Option<SpeedUp>,
}

/// What a set of groups says together.
#[derive(Clone, Debug)]
pub struct Sweep<'a> {
    /// The keys in which the groups differ.
    pub keys: Vec<&'a str>,
    /// What speed-up is over; none if no such scheme was run everywhere.
    pub reference: Option<&'a str>,
    /// By value, then by scheme.
    pub points: Vec<SweepPoint<'a>>,
}

impl<'a> Sweep<'a> {
    /// None unless there are two groups to compare. Without a given reference it is the first of a
    /// list that was run everywhere. Groups in which a given one was not run have no speed-up.
    pub fn of(collection: &'a Collection, given: Option<&'a str>) -> Option<Self> {
        // Whatever has no scenario cannot say where it belongs.
        let groups =
            collection.groups.iter().filter(|group| !group.schemes.is_empty() && !group.setting.is_empty());
        let groups: Vec<&Group> = groups.collect();
        if groups.len() < 2 {
            return None;
        }
        let everywhere = |scheme: &&str| groups.iter().all(|group| group.scheme(scheme).is_some());
        let reference = given.or_else(|| REFERENCES.into_iter().find(everywhere));
        let mut points = Vec::new();
        for group in &groups {
            let slow = reference.and_then(|name| group.scheme(name));
            points.extend(group.schemes.iter().map(|scheme| {
                let speed_up = slow.and_then(|slow| scheme.standing.speed_up_over(&slow.standing));
                // Over itself it is 1, whatever the seeds.
                let is_reference = reference == Some(&scheme.scheme);
                let std = |up: SpeedUp| up.std.filter(|_| !is_reference);
                let speed_up = speed_up.map(|up| SpeedUp { std: std(up), ..up });
                SweepPoint { label: &group.label, scheme, speed_up }
            }));
        }
        let keys = groups[0].label.iter().map(|(key, _)| key.as_str()).collect();
        Some(Self { keys, reference, points })
    }

    /// In a few words: the keys, or that there are many.
    pub fn title(&self) -> String {
        if self.keys.len() <= 2 { self.keys.join(" and ") } else { format!("{} keys", self.keys.len()) }
    }

    /// The values in order, where they make an axis: those of several keys do not.
    pub fn axis(&self) -> Option<Vec<&'a str>> {
        let first = |point: &SweepPoint<'a>| Some(point.label.first()?.1.as_str());
        let mut axis: Vec<&str> = self.points.iter().filter_map(first).collect();
        axis.dedup();
        (self.keys.len() == 1).then_some(axis)
    }
}

pub(super) fn section(sweep: &Sweep<'_>) -> Section {
    let blocks = figure(sweep).map(Block::Figure).into_iter().chain(table(sweep).map(Block::Table));
    let blocks = Block::together(Layout::Beside, blocks).into_iter().collect();
    Section { id: "sweep", title: format!("Over {}", sweep.title()), blocks }
}

/// A row for each value and scheme.
pub fn table(sweep: &Sweep<'_>) -> Option<Table> {
    let is_number = |value: &str| value.parse::<f64>().is_ok();
    let all_numbers = |place: usize| sweep.points.iter().all(|point| is_number(&point.label[place].1));
    let are_numbers: Vec<bool> = (0..sweep.keys.len()).map(all_numbers).collect();
    let row = |point: &SweepPoint<'_>| -> Vec<Field> {
        let values = point.label.iter().zip(&sweep.keys).zip(&are_numbers);
        let values = values.map(|(((_, value), key), are_numbers)| {
            let key = (*key).to_owned();
            let mut field = number(key.clone(), key, Cell::word_or_number(value));
            field.column.numeric = *are_numbers;
            field
        });
        let (standing, up) = (&point.scheme.standing, point.speed_up);
        let of_scheme = [
            words("scheme", "scheme", &point.scheme.scheme),
            number("time to target", "hours", Cell::hours(mean(standing.hours))).bounded(standing.bound()),
            number("speed-up", "speed_up", Cell::ratio(up.map(|up| up.ratio)))
                .bounded(up.map_or(Bound::Exact, |up| up.bound)),
            number("±", "speed_up_std", Cell::ratio(up.and_then(|up| up.std))),
        ];
        values.chain(of_scheme).collect()
    };
    let note = sweep.reference.map_or(String::new(), |name| {
        format!(
            "Speed-up: time of {name} divided by time of the scheme. “>” marks a lower bound ({name} ended before the \
             target), “<” an upper bound (the scheme did). ± is one standard deviation over seeds."
        )
    });
    let table = Table::of(sweep.points.iter().map(row))?;
    Some(table.named("sweep", &format!("Over {}", sweep.title()), &note))
}

/// Values are evenly spaced, for they grow by factors or are no numbers. None where there is no axis, or nothing to be
/// faster than.
fn figure(sweep: &Sweep<'_>) -> Option<Figure> {
    let (axis, reference) = (sweep.axis()?, sweep.reference?);
    let mut schemes: Vec<&str> = Vec::new();
    for point in &sweep.points {
        if !schemes.contains(&point.scheme.scheme.as_str()) {
            schemes.push(&point.scheme.scheme);
        }
    }
    let entries: Vec<Entry> = schemes.iter().map(|scheme| Entry::of_scheme(scheme)).collect();
    let most = |point: &SweepPoint<'_>| point.speed_up.map(|up| up.ratio + up.std.unwrap_or(0.0));
    let high = sweep.points.iter().filter_map(most).fold(1.0, f64::max);
    // As many labels as there is room for.
    let room = axis.iter().map(|value| legend::width_px(value) + 8.0).fold(1.0, f64::max);
    let every = (room * axis.len() as f64 / plot_area::width_px(SIZE.0)).ceil().max(1.0) as usize;
    let labelled = axis.iter().enumerate().step_by(every);
    let labelled = labelled.map(|(place, value)| (place as f64, (*value).to_owned())).collect();
    let ends = (-0.4, axis.len() as f64 - 0.6);
    let x = Axis { named: Some(labelled), ..Axis::new(title_of(&sweep.title()), ends) };
    let y = Axis::new(format!("speed-up over {reference} (×)"), (0.0, 1.08 * high));
    let mut canvas = Canvas::default();
    let area = PlotArea::draw(&mut canvas, SIZE, &entries, x, &y);
    canvas.line("rule", area.at(ends.0, 1.0), area.at(ends.1, 1.0));
    for (number, scheme) in schemes.iter().enumerate() {
        // A little beside each other, so that deviations do not lie on one another.
        let aside = SPREAD * (number as f64 - (schemes.len() as f64 - 1.0) / 2.0);
        let of_scheme = sweep.points.iter().filter(|point| point.scheme.scheme == *scheme);
        let points = of_scheme.filter_map(|point| {
            let value = point.label.first()?.1.as_str();
            let place = axis.iter().position(|at| *at == value)?;
            Some((place as f64 + aside, value, point.speed_up?))
        });
        draw_scheme(&mut canvas, area, &points.collect::<Vec<_>>(), scheme);
    }
    let title = format!("Speed-up over {reference} against {}", sweep.title());
    let caption = "Time to the target of the reference by that of the scheme, with one standard deviation over seeds. \
                   A hollow triangle is a lower bound (the reference ended before its target), a hollow square an upper \
                   bound (the scheme did).";
    Some(Figure::new("speed-up", &title, caption, SIZE, canvas))
}
fn draw_scheme(canvas: &mut Canvas, area: PlotArea, points: &[(f64, &str, SpeedUp)], scheme: &str) {
    let style = SchemeStyle::of(scheme);
    canvas.curve(&style.line_class(), points.iter().map(|&(x, _, up)| area.at(x, up.ratio)));
    for &(x, value, SpeedUp { ratio, std, bound }) in points {
        if let Some(std) = std {
            let class = format!("thin c{}", style.colour);
            canvas.line(&class, area.at(x, ratio - std), area.at(x, ratio + std));
        }
        let (class, shape) = match bound {
            Bound::Exact => (format!("dot f{}", style.colour), Shape::Circle),
            // Hollow and pointing up, or not.
            Bound::AtLeast => (format!("hollow c{}", style.colour), Shape::Triangle),
            Bound::AtMost => (format!("hollow c{}", style.colour), Shape::Square),
        };
        let hover = format!("{scheme} at {value}: {}{}", bound.sign(), times(ratio));
        canvas.mark(&class, shape, area.at(x, ratio), 4.2, &hover);
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
