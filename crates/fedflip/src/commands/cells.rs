//! The cells that the tables of `compare` and `sweep` share.

use crate::render::{duration, times};
use crate::sparkline::{range_of, sparkline};
use fedflip_report::standing::SpeedUp;
use fedflip_run::comparison::Entry;
use fedflip_run::verdict::SchemeJson;

/// Of a curve in a table, in characters.
const CURVE_CHARS: usize = 14;

/// What stands where there is nothing to say.
pub(super) fn none() -> String {
    "–".to_owned()
}

/// Hours as a time; a lower bound is shown as one.
pub(super) fn time(scheme: &SchemeJson, hours: Option<f64>) -> String {
    let least = if scheme.lower_bound { "> " } else { "" };
    hours.map_or_else(none, |hours| format!("{least}{}", duration(3600.0 * hours)))
}

/// How long it took to the target, unless the model diverged.
pub(super) fn time_to_target(scheme: &SchemeJson) -> String {
    if scheme.diverged > 0 {
        "diverged".to_owned()
    } else {
        time(scheme, scheme.hours.map(|hours| hours.mean))
    }
}

/// How far the seeds lie apart.
pub(super) fn spread(scheme: &SchemeJson) -> String {
    // Of runs that were cut off at some point it would say nothing.
    let std = scheme.hours.filter(|_| !scheme.lower_bound).and_then(|hours| hours.std);
    std.map_or_else(none, |std| duration(3600.0 * std))
}

pub(super) fn ratio_to_reference(scheme: &SchemeJson) -> String {
    let least = if scheme.lower_bound { "> " } else { "" };
    scheme.ratio_to_reference.map_or_else(none, |ratio| format!("{least}{}", times(ratio)))
}

/// `3.1 ×`, with a sign where it is a bound.
pub(super) fn speed_up(up: &SpeedUp) -> String {
    format!("{}{}", up.bound.sign(), times(up.ratio))
}

pub(super) fn reached(scheme: &SchemeJson) -> String {
    format!("{} of {}", scheme.reached, scheme.seeds)
}

/// Draws the accuracy of each scheme from the first round to its last, all on one scale.
pub(super) struct Curves((f64, f64));

impl Curves {
    pub(super) fn of<'e>(entries: impl Iterator<Item = &'e Entry>) -> Self {
        Self(range_of(entries.flat_map(|entry| entry.curve.of("accuracy")).map(|(_, accuracy)| accuracy)))
    }

    pub(super) fn cell(&self, entry: &Entry) -> String {
        let curve = sparkline(&entry.curve.of("accuracy"), CURVE_CHARS, self.0);
        if curve.is_empty() { none() } else { curve }
    }
}
