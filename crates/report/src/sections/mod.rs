//! The list of a report's sections, and a file for each thing that is shown: a figure, a table or a text.
//!
//! Something new is one file here and one line in `OF_A_GROUP`.

pub mod configuration;
pub mod curves;
pub mod deployed;
mod finding;
mod milestones;
mod overview;
mod participation;
mod pilot_runs;
mod predictions;
mod round_times;
mod rounds;
pub mod run_list;
pub mod sweep;
pub mod time_to_target;

use std::collections::BTreeSet;

use fedflip_plan::Interval;
use serde_json::{Map, Value, json};

use self::sweep::Sweep;
use crate::chart::figure::file_name;
use crate::collection::{Collection, Group, SchemeRuns};
use crate::explain::Explained;
use crate::model::{Block, GroupPart, Options, Report, Section};
use crate::pilots::Measured;

/// A group with what is computed from it once.
struct Material<'a> {
    group: &'a Group,
    /// What ratios are to.
    reference: Option<&'a SchemeRuns>,
    explained: Vec<Explained<'a>>,
    measured: Measured,
}

/// What makes a block: none if the runs have nothing of the kind.
type Maker = fn(&Material<'_>) -> Option<Block>;

/// The sections of a group in order: id, title and what they show. Without a title of its own a section is named by the
/// metrics. A section without blocks is left out.
#[rustfmt::skip]
const OF_A_GROUP: &[(&str, Option<&str>, &[Maker])] = &[
    ("table",         Some("Time to target"),      &[time_to_target::block]),
    ("curves",        None,                        &[curves::figures, milestones::once, milestones::on_average, curves::data]),
    ("plan",          Some("Explanation of the plan"), &[constants, predictions::block, deployed::plans, pilot_runs::block]),
    ("participation", Some("Participation"),       &[participation::figures, deployed::devices, participation::data]),
    ("times",         Some("Round times"),         &[round_times::figures]),
    ("round",         Some("One round"),           &[rounds::block]),
    ("configuration", Some("Configuration"),       &[configuration::block]),
];

/// Builds the report of a collection.
pub(crate) fn report(collection: &Collection, options: &Options<'_>) -> Report {
    let sweep = Sweep::of(collection, options.reference);
    let mut facts = Map::new();
    if let Some(sweep) = &sweep {
        facts.insert("sweep_over".to_owned(), json!(sweep.keys));
        facts.insert("sweep_reference".to_owned(), json!(sweep.reference));
    }
    let versions: BTreeSet<&str> = collection.all_runs().map(|run| run.header.fedflip.as_str()).collect();
    let runs = run_list::block(collection).into_iter().collect();
    let reference = options.reference.unwrap_or(REFERENCE);
    Report {
        title: overview::title(collection, options.title),
        overview: overview::sentence(collection),
        facts,
        before: sweep.iter().map(sweep::section).collect(),
        groups: collection.groups.iter().map(|group| part(collection, group, reference)).collect(),
        after: vec![Section { id: "runs", title: "All runs".to_owned(), blocks: runs }],
        problems: collection.problems.clone(),
        origin: versions.into_iter().collect::<Vec<_>>().join(", "),
    }
}

/// The scheme that ratios are to by default, as in the paper's Table I.
const REFERENCE: &str = "paper";

fn part(collection: &Collection, group: &Group, reference: &str) -> GroupPart {
    let explained = group.schemes.iter().filter_map(Explained::of).collect();
    let reference = group.scheme(reference);
    let material = Material { group, reference, explained, measured: Measured::of(group) };
    let section = |&(id, title, makers): &(&'static str, Option<&str>, &[Maker])| Section {
        id,
        title: title.map_or_else(|| metrics_title(group), str::to_owned),
        blocks: makers.iter().filter_map(|make| make(&material)).collect(),
    };
    let sections = OF_A_GROUP.iter().map(section);
    GroupPart {
        title: group.title(),
        folder: folder_of(collection, group),
        finding: finding::sentences(group),
        facts: facts(&material),
        sections: sections.filter(|section| !section.blocks.is_empty()).collect(),
    }
}

/// Where a group's files go: a folder of their own where there are several groups.
fn folder_of(collection: &Collection, group: &Group) -> String {
    if collection.groups.len() == 1 {
        return String::new();
    }
    let parts: Vec<String> = group.label.iter().map(|(key, value)| format!("{key}={value}")).collect();
    format!("{}/", file_name(&parts.join("_")))
}

fn facts(Material { group, reference, measured, .. }: &Material<'_>) -> Map<String, Value> {
    let label: Map<String, Value> =
        group.label.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect();
    let constants = measured.constants().map(|constants| {
        let ends = |ends: Option<Interval>| ends.map(|ends| [ends.low, ends.high]);
        json!({
            "alpha": constants.alpha(),
            "beta": constants.beta(),
            "alpha_interval": ends(measured.fitted().and_then(|fit| fit.alpha_interval)),
            "beta_interval": ends(measured.fitted().and_then(|fit| fit.beta_interval)),
        })
    });
    let facts = json!({
        "label": label,
        "task": group.task(),
        "metrics": group.metrics(),
        "target": group.target(),
        "reference": reference.map(|scheme| &scheme.scheme),
        "constants": constants,
    });
    let mut facts = facts.as_object().cloned().unwrap_or_default();
    // As in compare.json, the target has a short form where it is an accuracy.
    if let Some(accuracy) = group.target().and_then(|target| target.of("accuracy")) {
        facts.insert("target_accuracy".to_owned(), accuracy.into());
    }
    facts
}

/// Such as `Accuracy and loss`.
fn metrics_title(group: &Group) -> String {
    let names: Vec<&str> = group.metrics().iter().map(|metric| metric.name.as_ref()).collect();
    let text = match names.as_slice() {
        [] => "curves".to_owned(),
        [only] => (*only).to_owned(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    };
    sentence(&text)
}

fn constants(material: &Material<'_>) -> Option<Block> {
    Some(Block::Text(material.measured.sentences()))
}

/// A text that begins with a capital letter.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}
