//! Devices by type, for tables that stay readable with a million devices.

use std::collections::BTreeMap;

use fedflip_fleet::Fleet;

use crate::render::type_of;

/// More types than this are no summary.
const TYPES_MAX: usize = 20;

/// The devices of one type.
pub(crate) struct Group {
    pub name: String,
    pub positions: Vec<usize>,
}

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
            groups.push(Group { name: name.to_owned(), positions: Vec::new() });
        }
        groups[place].positions.push(position);
    }
    (groups.len() < fleet.len()).then_some(groups)
}

impl Group {
    /// The mean of a quantity over the group.
    pub(crate) fn mean(&self, of: &[f64]) -> f64 {
        self.sum(of) / self.positions.len() as f64
    }

    /// The sum of a quantity over the group.
    pub(crate) fn sum(&self, of: &[f64]) -> f64 {
        self.positions.iter().map(|&n| of[n]).sum()
    }

    /// The smallest and the largest value in the group.
    pub(crate) fn range(&self, of: &[f64]) -> (f64, f64) {
        self.positions.iter().fold((f64::INFINITY, 0.0), |(low, high), &n| (of[n].min(low), of[n].max(high)))
    }
}
