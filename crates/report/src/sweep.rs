//! Several groups side by side: speed-up against whatever sets them apart.

use serde::Serialize;

use crate::collection::{Collection, Group};
use crate::standing::best_hours;

/// The scheme that others are measured against, where it was run: the paper's Fig. 5.
const REFERENCE: &str = "full";

/// One scheme at one point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepPoint {
    /// What sets the group apart, such as `100`.
    pub value: String,
    /// Which one.
    pub scheme: String,
    /// To the target.
    pub hours: Option<f64>,
    /// Whether `hours` is a lower bound.
    pub lower_bound: bool,
    /// Hours of the reference by hours of the scheme.
    pub speed_up: Option<f64>,
    /// One standard deviation of `speed_up`, where there are seeds enough.
    pub speed_up_std: Option<f64>,
    /// Whether the reference did not get there, so that `speed_up` is at least this.
    pub at_least: bool,
}

/// What a set of groups says together.
#[derive(Clone, Debug, Serialize)]
pub struct Sweep {
    /// The key or keys in which the groups differ.
    pub key: String,
    /// What speed-up is over: `full`, or `the slowest`.
    pub reference: String,
    /// The values of the key, in order.
    pub values: Vec<String>,
    /// By value, then by scheme.
    pub points: Vec<SweepPoint>,
}

impl Sweep {
    /// None unless there are two groups to compare.
    pub fn of(collection: &Collection) -> Option<Self> {
        let groups: Vec<&Group> =
            collection.groups.iter().filter(|group| !group.schemes.is_empty()).collect();
        if groups.len() < 2 {
            return None;
        }
        let key: Vec<&str> = groups[0].label.iter().map(|(key, _)| key.as_str()).collect();
        let has = |group: &&Group| group.schemes.iter().any(|scheme| scheme.scheme == REFERENCE);
        let by_reference = groups.iter().all(has);
        let mut sweep = Self {
            key: key.join(", "),
            reference: if by_reference { REFERENCE } else { "the slowest scheme" }.to_owned(),
            values: Vec::new(),
            points: Vec::new(),
        };
        for group in groups {
            let value: Vec<&str> = group.label.iter().map(|(_, value)| value.as_str()).collect();
            let value = value.join(", ");
            sweep.values.push(value.clone());
            sweep.points.extend(points(group, &value, by_reference));
        }
        Some(sweep)
    }

    /// The schemes, each once, in the order in which they come.
    pub fn schemes(&self) -> Vec<&str> {
        let mut schemes: Vec<&str> = Vec::new();
        for point in &self.points {
            if !schemes.contains(&point.scheme.as_str()) {
                schemes.push(&point.scheme);
            }
        }
        schemes
    }
}

fn points(group: &Group, value: &str, by_reference: bool) -> Vec<SweepPoint> {
    let reference = if by_reference {
        group.schemes.iter().find(|scheme| scheme.scheme == REFERENCE)
    } else {
        let slower = |hours: f64| {
            group
                .schemes
                .iter()
                .find(move |scheme| scheme.standing.hours.is_some_and(|spread| spread.mean >= hours))
        };
        let hours = group.schemes.iter().filter_map(|scheme| scheme.standing.hours);
        hours.map(|hours| hours.mean).max_by(f64::total_cmp).and_then(slower)
    };
    let reference = reference.map(|scheme| &scheme.standing);
    let any_whole = best_hours(group.schemes.iter().map(|scheme| &scheme.standing)).is_some();
    let point = |scheme: &crate::collection::SchemeRuns| {
        let standing = &scheme.standing;
        let hours = standing.hours;
        let whole = !standing.is_lower_bound();
        // A ratio of two lower bounds says nothing.
        let pair = reference.and_then(|reference| reference.hours).zip(hours).filter(|_| any_whole && whole);
        let speed_up = pair.map(|(slow, fast)| slow.mean / fast.mean);
        let is_reference = reference.is_some_and(|reference| std::ptr::eq(reference, standing));
        let relative = |spread: crate::standing::Spread| spread.std.map(|std| std / spread.mean);
        let speed_up_std = pair
            .filter(|_| !is_reference)
            .and_then(|(slow, fast)| Some(relative(slow)?.hypot(relative(fast)?)))
            .zip(speed_up)
            .map(|(relative, speed_up)| relative * speed_up);
        SweepPoint {
            value: value.to_owned(),
            scheme: scheme.scheme.clone(),
            hours: hours.map(|hours| hours.mean),
            lower_bound: !whole,
            speed_up,
            speed_up_std,
            at_least: reference.is_some_and(crate::standing::Standing::is_lower_bound) && !is_reference,
        }
    };
    group.schemes.iter().map(point).collect()
}
