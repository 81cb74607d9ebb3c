//! Several groups side by side: speed-up against whatever sets them apart.

use crate::collection::{Collection, Group, SchemeRuns};
use crate::standing::SpeedUp;

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
    /// Over the reference.
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
    /// None unless there are two groups to compare. The reference is the one that is given, if it was run everywhere.
    pub fn of(collection: &'a Collection, given: Option<&'a str>) -> Option<Self> {
        // Whatever has no scenario cannot say where it belongs.
        let groups =
            collection.groups.iter().filter(|group| !group.schemes.is_empty() && !group.setting.is_empty());
        let groups: Vec<&Group> = groups.collect();
        if groups.len() < 2 {
            return None;
        }
        let everywhere = |scheme: &&str| groups.iter().all(|group| group.scheme(scheme).is_some());
        let reference = given.into_iter().chain(REFERENCES).find(everywhere);
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
