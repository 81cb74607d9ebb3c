//! Times and speed-ups over the values that set groups apart.

use crate::standing::Bound;
use crate::sweep::Sweep;
use crate::table::{Cell, Column, Table};

/// A row for each value and scheme.
pub fn table(sweep: &Sweep) -> Table {
    let rows = sweep.points.iter().map(|point| {
        let bound = point.speed_up.map_or(Bound::Exact, |up| up.bound);
        let of_scheme = [
            Cell::text(&point.scheme),
            Cell::hours(point.hours).bounded(Bound::lower_if(point.lower_bound)),
            Cell::ratio(point.speed_up.map(|up| up.ratio)).bounded(bound),
            Cell::ratio(point.speed_up.and_then(|up| up.std)),
        ];
        point.values.iter().map(|value| Cell::word_or_number(value)).chain(of_scheme).collect()
    });
    let reference = sweep.reference.map_or(String::new(), |name| {
        format!(
            "Speed-up: time of {name} divided by time of the scheme. “>” marks a lower bound ({name} ended before the \
             target), “<” an upper bound (the scheme did). ± is one standard deviation over seeds."
        )
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
                Column::bounded("time to target", "hours"),
                Column::bounded("speed-up", "speed_up"),
                Column::number("±", "speed_up_std"),
            ])
            .collect(),
        rows: rows.collect(),
    }
}

fn is_number(value: &str) -> bool {
    value.parse::<f64>().is_ok()
}
