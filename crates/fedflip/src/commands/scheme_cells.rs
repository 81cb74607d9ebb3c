//! The cells that the tables of `compare` and `sweep` share.

use crate::render::{Cell, display_of, metric_value};
use crate::sparkline::{range_of, sparkline};
use fedflip_report::standing::{Bound, SpeedUp};
use fedflip_run::comparison::Entry;
use fedflip_run::verdict::SchemeJson;

/// Of a curve in a table, in characters.
const CURVE_CHARS: usize = 14;

fn bound(scheme: &SchemeJson) -> Bound {
    Bound::lower_if(scheme.lower_bound)
}

/// Hours of a scheme, which are a lower bound where some run ended before the target.
pub(super) fn time(scheme: &SchemeJson, hours: Option<f64>) -> Cell {
    Cell::hours(hours).bounded(bound(scheme))
}

/// Time to the target, unless some run diverged.
pub(super) fn time_to_target(scheme: &SchemeJson) -> Cell {
    if scheme.diverged > 0 {
        Cell::text("diverged")
    } else {
        time(scheme, scheme.hours.map(|hours| hours.mean))
    }
}

/// Standard deviation over the seeds; that of runs that were cut off would say nothing.
pub(super) fn spread(scheme: &SchemeJson) -> Cell {
    Cell::hours(scheme.hours.filter(|_| !scheme.lower_bound).and_then(|hours| hours.std))
}

pub(super) fn ratio_to_reference(scheme: &SchemeJson) -> Cell {
    Cell::ratio(scheme.ratio_to_reference).bounded(bound(scheme))
}

/// A speed-up with the sign of its bound.
pub(super) fn speed_up(up: Option<&SpeedUp>) -> Cell {
    Cell::ratio(up.map(|up| up.ratio)).bounded(up.map_or(Bound::Exact, |up| up.bound))
}

/// The seeds that reached the target. Runs of other shards have not failed, so a shard counts its own.
pub(super) fn reached(scheme: &SchemeJson) -> Cell {
    Cell::text(match scheme.seeds_here {
        Some(here) => format!("{} of {here} here", scheme.reached),
        None => format!("{} of {}", scheme.reached, scheme.seeds),
    })
}

/// A metric on test samples at the end of runs.
pub(super) fn test(scheme: &SchemeJson, metric: &str) -> Cell {
    let mean = scheme.test.get(metric).map(|spread| spread.mean);
    Cell::number(mean, |value| metric_value(display_of(metric), value))
}

fn curve_of(entry: &Entry, metric: &str) -> Vec<(f64, f64)> {
    entry.curve.as_ref().map_or(Vec::new(), |curve| curve.of(metric))
}

/// Draws a metric of each scheme from the first evaluation to its last, all on one scale.
pub(super) struct Curves<'m> {
    metric: &'m str,
    range: (f64, f64),
}

impl<'m> Curves<'m> {
    pub(super) fn of<'e>(metric: &'m str, entries: impl Iterator<Item = &'e Entry>) -> Self {
        let range = range_of(entries.flat_map(|entry| curve_of(entry, metric)).map(|(_, value)| value));
        Self { metric, range }
    }

    pub(super) fn cell(&self, entry: &Entry) -> Cell {
        let curve = sparkline(&curve_of(entry, self.metric), CURVE_CHARS, self.range);
        Cell::text(if curve.is_empty() { "–" } else { &curve })
    }
}
