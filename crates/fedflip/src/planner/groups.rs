//! Devices by type, for tables that stay readable with a million devices.

use std::collections::BTreeMap;

use fedflip_fleet::{Fleet, type_of};

/// More types than this are no summary.
const TYPES_MAX: usize = 20;

/// The devices of one type.
pub(crate) struct Group {
    pub name: String,
    pub positions: Vec<usize>,
}

/// Within a type, times differ by less than this factor; otherwise the name says nothing about the device.
const ALIKE: f64 = 3.0;

/// Devices grouped by type, in the order in which the types first appear; none if that is no summary.
pub(crate) fn by_type(fleet: &Fleet) -> Option<Vec<Group>> {
    let mut index: BTreeMap<&str, usize> = BTreeMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for position in 0..fleet.len() {
        let name = type_of(fleet.name(position));
        let place = *index.entry(name).or_insert(groups.len());
        if place == groups.len() {
            if groups.len() == TYPES_MAX {
                return None;
            }
            groups.push(Group { name: crate::render::name(name), positions: Vec::new() });
        }
        groups[place].positions.push(position);
    }
    let alike = |group: &Group, of: &[f64]| {
        let (low, high) = group.range(of);
        high <= ALIKE * low
    };
    let summary =
        groups.iter().all(|group| alike(group, fleet.compute_secs()) && alike(group, fleet.comm_secs()));
    (summary && groups.len() < fleet.len()).then_some(groups)
}

impl Group {
    /// The sum of a quantity over the group.
    pub(crate) fn sum(&self, of: &[f64]) -> f64 {
        self.positions.iter().map(|&n| of[n]).sum()
    }

    /// The smallest and the largest value in the group.
    pub(crate) fn range(&self, of: &[f64]) -> (f64, f64) {
        self.positions.iter().fold((f64::INFINITY, 0.0), |(low, high), &n| (of[n].min(low), of[n].max(high)))
    }
}
