//! Several groups side by side: speed-up against whatever sets them apart.

use serde::Serialize;

use crate::collection::{Collection, Group};
use crate::standing::SpeedUp;

/// The schemes that others are measured against, the first that was run everywhere: the paper's Fig. 5 has the
/// first of all.
const REFERENCES: [&str; 4] = ["full", "uniform", "weighted", "paper"];

/// One scheme at one point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepPoint {
    /// What sets the group apart, such as `100`: a value for each key.
    pub values: Vec<String>,
    /// Which one.
    pub scheme: String,
    /// To the target.
    pub hours: Option<f64>,
    /// Whether `hours` is a lower bound.
    pub lower_bound: bool,
    /// Over the reference.
    pub speed_up: Option<SpeedUp>,
}

/// What a set of groups says together.
#[derive(Clone, Debug, Serialize)]
pub struct Sweep {
    /// The keys in which the groups differ.
    pub keys: Vec<String>,
    /// What speed-up is over; none if no such scheme was run everywhere.
    pub reference: Option<&'static str>,
    /// By value, then by scheme.
    pub points: Vec<SweepPoint>,
}

impl Sweep {
    /// None unless there are two groups to compare.
    pub fn of(collection: &Collection) -> Option<Self> {
        // Whatever has no scenario cannot say where it belongs.
        let groups =
            collection.groups.iter().filter(|group| !group.schemes.is_empty() && !group.setting.is_empty());
        let groups: Vec<&Group> = groups.collect();
        if groups.len() < 2 {
            return None;
        }
        let everywhere = |scheme: &&str| groups.iter().all(|group| group.scheme(scheme).is_some());
        let reference = REFERENCES.into_iter().find(everywhere);
        let mut sweep = Self {
            keys: groups[0].label.iter().map(|(key, _)| key.clone()).collect(),
            reference,
            points: Vec::new(),
        };
        for group in groups {
            let values: Vec<String> = group.label.iter().map(|(_, value)| value.clone()).collect();
            let slow = reference.and_then(|name| group.scheme(name));
            sweep.points.extend(group.schemes.iter().map(|scheme| SweepPoint {
                values: values.clone(),
                scheme: scheme.scheme.clone(),
                hours: scheme.standing.hours.map(|hours| hours.mean),
                lower_bound: scheme.standing.is_lower_bound(),
                speed_up: slow.and_then(|slow| {
                    let speed_up = scheme.standing.speed_up_over(&slow.standing)?;
                    // Over itself it is 1, whatever the seeds.
                    Some(if std::ptr::eq(slow, scheme) {
                        SpeedUp { std: None, ..speed_up }
                    } else {
                        speed_up
                    })
                }),
            }));
        }
        Some(sweep)
    }

    /// In a few words: the keys, or that there are many.
    pub fn title(&self) -> String {
        if self.keys.len() <= 2 { self.keys.join(" and ") } else { format!("{} keys", self.keys.len()) }
    }

    /// Whether the values make an axis: those of several keys do not.
    pub fn has_axis(&self) -> bool {
        self.keys.len() == 1
    }

    /// The values of the axis, in order.
    pub fn axis(&self) -> Vec<&str> {
        let mut axis: Vec<&str> =
            self.points.iter().filter_map(|point| point.values.first()).map(String::as_str).collect();
        axis.dedup();
        axis
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
