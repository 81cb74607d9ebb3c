//! The list of a report's sections, and a file for each thing that is shown: a figure, a table or a text.
//!
//! Something new is one file here and one line in `OF_A_GROUP`.

pub mod configuration;
pub mod curves;
mod curves_data;
mod finding;
mod overview;
pub mod participation;
mod participation_data;
pub mod pilot_runs;
pub mod predictions;
mod round_times;
mod rounds;
pub mod run_list;
mod speed_up;
pub mod sweep_values;
pub mod time_to_target;

use serde_json::{Map, Value, json};

use crate::chart::figure::file_name;
use crate::collection::{Collection, Group};
use crate::explain::Explained;
use crate::model::{Block, GroupPart, Report, Section};
use crate::pilots::Measured;
use crate::sweep::Sweep;
use crate::{deployed, fits, milestones};

/// A group with what is computed from it once.
struct Material<'a> {
    group: &'a Group,
    explained: Vec<Explained>,
    measured: Measured,
}

/// What makes blocks: none if the runs have nothing of the kind.
type Maker = fn(&Material<'_>) -> Vec<Block>;

/// The sections of a group in order: id, title and what they show. A section without blocks is left out.
const OF_A_GROUP: &[(&str, &str, &[Maker])] = &[
    ("table", "Time to target", &[time_to_target::blocks]),
    ("curves", "Accuracy and loss", &[curves::blocks, on_the_way, curves_data::blocks]),
    ("plan", "The plan, explained", &[constants, predictions::blocks, plans_held, pilots]),
    ("participation", "Participation", &[participation::blocks, devices, participation_data::blocks]),
    ("times", "Round times", &[round_times::blocks]),
    ("round", "One round", &[rounds::blocks]),
    ("configuration", "Configuration", &[configuration::blocks]),
];

/// Builds the report of a collection; `title` instead of tasks and targets.
pub(crate) fn report(collection: &Collection, title: Option<&str>) -> Report {
    let sweep = Sweep::of(collection);
    let mut facts = Map::new();
    if let Some(sweep) = &sweep {
        facts.insert("sweep_over".to_owned(), json!(sweep.keys));
        facts.insert("sweep_reference".to_owned(), json!(sweep.reference));
    }
    Report {
        title: overview::title(collection, title),
        overview: overview::sentence(collection),
        facts,
        before: sweep.iter().map(sweep_section).collect(),
        groups: collection.groups.iter().map(|group| part(collection, group)).collect(),
        after: vec![Section {
            id: "runs",
            title: "All runs".to_owned(),
            blocks: run_list::blocks(collection),
        }],
        problems: collection.problems.iter().map(ToString::to_string).collect(),
        origin: collection.versions().join(", "),
    }
}

fn sweep_section(sweep: &Sweep) -> Section {
    let figure = speed_up::draw(sweep).map(Block::Figure);
    let table = Block::Table(sweep_values::table(sweep));
    let blocks = vec![Block::Beside(figure.into_iter().chain([table]).collect())];
    Section { id: "sweep", title: format!("Over {}", sweep.title()), blocks }
}

fn part(collection: &Collection, group: &Group) -> GroupPart {
    let explained = group.schemes.iter().filter_map(Explained::of).collect();
    let material = Material { group, explained, measured: Measured::of(group) };
    let section = |&(id, title, makers): &(&'static str, &str, &[Maker])| Section {
        id,
        title: title.to_owned(),
        blocks: makers.iter().flat_map(|make| make(&material)).collect(),
    };
    let sections: Vec<Section> = OF_A_GROUP.iter().map(section).collect();
    GroupPart {
        title: group.title(),
        folder: folder_of(collection, group),
        finding: finding::sentences(group),
        facts: facts(&material),
        sections: sections.into_iter().filter(|section| !section.blocks.is_empty()).collect(),
    }
}

/// Where a group's files go: a folder of their own where there are several groups.
fn folder_of(collection: &Collection, group: &Group) -> String {
    if collection.groups.len() == 1 {
        return String::new();
    }
    let parts: Vec<String> = group.label.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let name = file_name(&parts.join("_"));
    format!("{}/", if name.is_empty() { "group" } else { &name })
}

fn facts(Material { group, measured, .. }: &Material<'_>) -> Map<String, Value> {
    let label: Map<String, Value> =
        group.label.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect();
    let constants = measured.constants().map(|constants| {
        let ends = |ends: Option<fedflip_plan::Interval>| ends.map(|ends| [ends.low, ends.high]);
        json!({
            "alpha": constants.alpha(),
            "beta": constants.beta(),
            "alpha_interval": ends(measured.fit.and_then(|fit| fit.alpha_interval)),
            "beta_interval": ends(measured.fit.and_then(|fit| fit.beta_interval)),
        })
    });
    let facts = [
        ("label", label.into()),
        ("task", json!(group.task())),
        ("target_accuracy", json!(group.target_accuracy())),
        ("constants", json!(constants)),
    ];
    facts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn on_the_way(material: &Material<'_>) -> Vec<Block> {
    let tables = milestones::milestones_tables(material.group).filter(|_| !material.group.schemes.is_empty());
    tables.into_iter().flatten().map(Block::Table).collect()
}

fn constants(material: &Material<'_>) -> Vec<Block> {
    vec![Block::Text(material.measured.sentences())]
}

fn plans_held(material: &Material<'_>) -> Vec<Block> {
    deployed::plans_table(material.group).map(Block::Table).into_iter().collect()
}

fn devices(material: &Material<'_>) -> Vec<Block> {
    deployed::devices_table(material.group).map(Block::Table).into_iter().collect()
}

fn pilots(material: &Material<'_>) -> Vec<Block> {
    let group = material.group;
    if group.pilots.is_empty() {
        return Vec::new();
    }
    let fits = fits::fits_table(group).map(Block::Table);
    let blocks = std::iter::once(Block::Table(pilot_runs::table(group))).chain(fits).collect();
    vec![Block::Details { summary: "The pilots".to_owned(), open: group.schemes.is_empty(), blocks }]
}
