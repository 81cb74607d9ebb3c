//! A report as files: one page, or the single figures and tables.

use std::collections::BTreeSet;

use crate::chart::figure::file_name;
use crate::collection::{Collection, Group};
use crate::curve::Measure;
use crate::error::ReportError;
use crate::explain::Explained;
use crate::fits::fits_table;
use crate::milestones::milestones_tables;
use crate::pilots::Measured;
use crate::png::Painter;
use crate::sweep::Sweep;
use crate::table::{Table, markdown_text};
use crate::{Figure, data, deployed, figures, page, tables};

/// What a report is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One page.
    Html,
    /// A file a figure.
    Svg,
    /// A file a figure.
    Png,
    /// One text with all tables.
    Markdown,
    /// A file a table, with the numbers behind the figures.
    Csv,
    /// One object with all tables.
    Json,
}

impl Format {
    /// Whether it is one file rather than a folder of files.
    pub fn is_one_file(self) -> bool {
        matches!(self, Self::Html | Self::Markdown | Self::Json)
    }
}

/// A file to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFile {
    /// From the folder that is written to; empty for the one file that a format makes.
    pub path: String,
    /// All of it.
    pub bytes: Vec<u8>,
}

/// Renders a collection.
pub fn files(
    collection: &Collection,
    format: Format,
    title: Option<&str>,
) -> Result<Vec<OutputFile>, ReportError> {
    let one = |text: String| Ok(vec![OutputFile { path: String::new(), bytes: text.into_bytes() }]);
    match format {
        Format::Html => one(page::render(collection, title)),
        Format::Markdown => one(markdown(collection, title)),
        Format::Json => one(format!("{:#}\n", json(collection))),
        Format::Csv => Ok(unique(
            all_tables(collection, true)
                .into_iter()
                .map(|(folder, table)| OutputFile {
                    path: format!("{folder}{}.csv", table.name),
                    bytes: table.csv().into_bytes(),
                })
                .collect(),
        )),
        Format::Svg => Ok(unique(
            all_figures(collection)
                .into_iter()
                .map(|(folder, figure)| OutputFile {
                    path: format!("{folder}{}.svg", figure.name),
                    bytes: figure.standalone().into_bytes(),
                })
                .collect(),
        )),
        Format::Png => {
            let painter = Painter::new();
            let paint = |(folder, figure): (String, Figure)| {
                Ok(OutputFile {
                    path: format!("{folder}{}.png", figure.name),
                    bytes: painter.paint(&figure)?,
                })
            };
            let painted: Result<Vec<OutputFile>, ReportError> =
                all_figures(collection).into_iter().map(paint).collect();
            painted.map(unique)
        }
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

/// Gives every file a name of its own: what tells two apart may have been cut off, or be no letters at all.
fn unique(files: Vec<OutputFile>) -> Vec<OutputFile> {
    let mut taken = BTreeSet::new();
    let rename = |mut file: OutputFile| {
        let (stem, ending) = file.path.rsplit_once('.').unwrap_or((&file.path, ""));
        let (stem, ending) = (stem.to_owned(), ending.to_owned());
        let mut number = 2_usize;
        while !taken.insert(file.path.clone()) {
            file.path = format!("{stem}-{number}.{ending}");
            number += 1;
        }
        file
    };
    files.into_iter().map(rename).collect()
}

/// Every figure with the folder it belongs to.
fn all_figures(collection: &Collection) -> Vec<(String, Figure)> {
    let mut all: Vec<(String, Figure)> = Vec::new();
    all.extend(Sweep::of(collection).and_then(|sweep| Some((String::new(), figures::sweep(&sweep)?))));
    for group in collection.groups.iter().filter(|group| !group.schemes.is_empty()) {
        let mut of_group =
            vec![figures::curves(group, Measure::Accuracy), figures::curves(group, Measure::Loss)];
        for scheme in &group.schemes {
            of_group.extend(figures::participation(scheme));
            of_group.extend(Explained::of(scheme).map(|explained| figures::round_times(scheme, &explained)));
            // The one that is shown first: the chosen one, and no other, or the one with most participants.
            let wanted = scheme.runs.iter().all(|run| !run.kept.is_choosy())
                || scheme.runs.iter().any(|run| run.kept.has_chosen());
            of_group.extend(
                figures::timelines(scheme).into_iter().next().filter(|_| wanted).map(|(_, figure)| figure),
            );
        }
        let folder = folder_of(collection, group);
        all.extend(of_group.into_iter().map(|figure| (folder.clone(), figure)));
    }
    all
}

/// Every table with the folder it belongs to; `with_data` also the numbers behind the figures.
fn all_tables(collection: &Collection, with_data: bool) -> Vec<(String, Table)> {
    let mut all: Vec<(String, Table)> = Vec::new();
    all.extend(Sweep::of(collection).map(|sweep| (String::new(), tables::sweep_table(&sweep))));
    for group in &collection.groups {
        let explained: Vec<Explained> = group.schemes.iter().filter_map(Explained::of).collect();
        let mut of_group =
            vec![tables::table_one(group), tables::plan_table(&explained), tables::pilot_table(group)];
        of_group.splice(1..1, milestones_tables(group).into_iter().flatten());
        of_group.extend(fits_table(group));
        of_group.extend([deployed::plans_table(group), deployed::devices_table(group)].into_iter().flatten());
        if with_data {
            of_group.extend([data::curves(group), data::participation(group)]);
        }
        of_group.push(tables::config_table(group));
        let folder = folder_of(collection, group);
        let filled = of_group.into_iter().filter(|table| !table.rows.is_empty());
        all.extend(filled.map(|table| (folder.clone(), table)));
    }
    all.push((String::new(), tables::runs_table(collection)));
    all
}

fn markdown(collection: &Collection, title: Option<&str>) -> String {
    let mut text = format!("# {}\n\n", markdown_text(&page::title_of(collection, title)));
    for group in &collection.groups {
        let of = if group.label.is_empty() { String::new() } else { format!("{}: ", group.title()) };
        let of = markdown_text(&of);
        text += &format!("{of}{}\n\n", Measured::of(group).sentences());
    }
    for (folder, table) in all_tables(collection, false) {
        let of = folder.strip_suffix('/').map_or(String::new(), |group| format!(" ({group})"));
        text += &format!("## {}{of}\n\n{}\n", table.title, table.markdown());
        if !table.note.is_empty() {
            text += &format!("{}\n\n", table.note);
        }
    }
    for problem in &collection.problems {
        text += &format!("- not read: {}\n", markdown_text(&problem.to_string()));
    }
    text.trim_end().to_owned() + "\n"
}

fn json(collection: &Collection) -> serde_json::Value {
    let group = |group: &Group| {
        let explained: Vec<Explained> = group.schemes.iter().filter_map(Explained::of).collect();
        let label: serde_json::Map<String, serde_json::Value> =
            group.label.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect();
        let measured = Measured::of(group);
        let constants = measured.constants().map(|constants| {
            let ends = |ends: Option<fedflip_plan::Interval>| ends.map(|ends| [ends.low, ends.high]);
            serde_json::json!({
                "alpha": constants.alpha(),
                "beta": constants.beta(),
                "alpha_interval": ends(measured.fit.and_then(|fit| fit.alpha_interval)),
                "beta_interval": ends(measured.fit.and_then(|fit| fit.beta_interval)),
            })
        });
        let milestones = milestones_tables(group);
        serde_json::json!({
            "label": label,
            "task": group.task(),
            "target_accuracy": group.target_accuracy(),
            "constants": constants,
            "table1": tables::table_one(group).json(),
            "milestones": milestones.as_ref().map(|[once, _]| once.json()),
            "milestones_mean": milestones.as_ref().map(|[_, mean]| mean.json()),
            "plan": tables::plan_table(&explained).json(),
            "pilots": tables::pilot_table(group).json(),
            "fits": fits_table(group).map(|table| table.json()),
            "plans": deployed::plans_table(group).map(|table| table.json()),
            "devices": deployed::devices_table(group).map(|table| table.json()),
            "configuration": tables::config_table(group).json(),
        })
    };
    let problems: Vec<String> = collection.problems.iter().map(ToString::to_string).collect();
    serde_json::json!({
        "sweep": Sweep::of(collection),
        "groups": collection.groups.iter().map(group).collect::<Vec<_>>(),
        "runs": tables::runs_table(collection).json(),
        "problems": problems,
    })
}
