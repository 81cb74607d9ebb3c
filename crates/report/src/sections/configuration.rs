//! Every key of a group's scenarios, and which of them all runs share.

use std::collections::BTreeSet;

use super::Material;
use crate::collection::Group;
use crate::config::Config;
use crate::model::Block;
use crate::table::{Table, words};

/// Where some runs have a key and others have none.
const NOT_SET: &str = "not set";

pub(super) fn block(Material { group, .. }: &Material<'_>) -> Option<Block> {
    table(group).map(Block::Table)
}

/// All keys; where runs differ, every value.
pub fn table(group: &Group) -> Option<Table> {
    let configs: Vec<&Config> = group.all_runs().map(|run| &run.config).collect();
    let keys: BTreeSet<&str> = configs.iter().flat_map(|config| config.iter()).map(|(key, _)| key).collect();
    let row = |key: &str| {
        let mut values: Vec<&str> = Vec::new();
        for config in &configs {
            let value = config.get(key).unwrap_or(NOT_SET);
            if !values.contains(&value) {
                values.push(value);
            }
        }
        let shared = if values.len() == 1 { "yes" } else { "no" };
        vec![
            words("key", "key", key),
            words("value", "value", values.join(" | ")),
            words("in all runs of the group", "shared", shared),
        ]
    };
    let caps = match group.setting.on_devices() {
        false => "A cap on virtual time is the time at which a comparison gives up on a scheme.",
        true => {
            "On real devices times were measured: stop.virtual_hours_max counts real time, and the device types of the \
             fleet and the keys of the world are not used."
        }
    };
    let note = format!("Where runs or pilots differ, all values are listed. {caps}");
    Some(Table::of(keys.into_iter().map(row))?.named("configuration", "Every key of the scenarios", &note))
}
