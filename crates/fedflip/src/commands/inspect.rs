//! `fedflip data inspect`: what is in files of samples, and what would be refused.

use std::io::Write;
use std::path::{Path, PathBuf};

use fedflip_learn::task::TaskError;
use fedflip_samples::inspect::{Channels, DeviceSummary, LabelSummary};
use fedflip_samples::{Inspection, files};
use serde::Serialize;

use super::outcome::line;
use super::print_json;
use crate::args::DataInspectArgs;
use crate::error::CliError;
use crate::render::{count, significant};

/// Classes and devices that are listed one by one.
const LISTED_MAX: usize = 12;

#[derive(Serialize)]
struct InspectJson<'a> {
    files: Vec<String>,
    #[serde(flatten)]
    found: &'a Inspection,
    /// What is allowed and probably not meant.
    remarks: Vec<String>,
}

#[derive(Serialize)]
struct TextJson {
    files: Vec<String>,
    characters: usize,
    /// Characters that the alphabet does not have; all of them count as one symbol.
    unknown_characters: usize,
}

pub(super) fn inspect(args: &DataInspectArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let found = files::found(Path::new(""), &args.files).map_err(TaskError::from)?;
    let names: Vec<String> = found.iter().map(|file| file.display().to_string()).collect();
    if files::are_texts(&found) {
        return inspect_text(&found, names, args.json, output);
    }
    let table = files::read(&found).map_err(TaskError::from)?;
    let inspected = table.inspect();
    let left_out = files::left_out(Path::new(""), &args.files).map_err(TaskError::from)?;
    let left_out = left_out.iter().map(|file| format!("{} is left out beside tables", file.display()));
    let remarks: Vec<String> = left_out.chain(remarks(&inspected)).collect();
    if args.json {
        return print_json(output, &InspectJson { files: names, found: &inspected, remarks });
    }
    writeln!(output, "{}", names.join(", "))?;
    write_table(output, &inspected)?;
    for remark in remarks {
        writeln!(output, "note: {remark}")?;
    }
    Ok(())
}

fn inspect_text(
    found: &[PathBuf],
    names: Vec<String>,
    json: bool,
    output: &mut dyn Write,
) -> Result<(), CliError> {
    let texts = files::read_texts(found).map_err(TaskError::from)?;
    let all = || texts.iter().flat_map(|text| text.chars());
    let unknown = all().filter(|c| fedflip_datasets::alphabet::encode(*c) == 0 && *c != '\r').count();
    let text = TextJson { files: names, characters: all().count(), unknown_characters: unknown };
    if json {
        return print_json(output, &text);
    }
    writeln!(output, "{}", text.files.join(", "))?;
    line(output, "characters", &count(text.characters))?;
    line(output, "outside alphabet", &format!("{}, which count as one symbol", count(unknown)))?;
    line(output, "devices", &format!("{}: every file can be a device (by-device)", count(texts.len())))
}

fn write_table(output: &mut dyn Write, found: &Inspection) -> Result<(), CliError> {
    let Inspection { samples, shape, channels, columns, kind, bytes, range, mean, std, labels, devices } =
        found;
    line(output, "samples", &count(*samples))?;
    let channels = match channels {
        Some(Channels::First) => ", channels first",
        Some(Channels::Last) => ", channels last",
        None => "",
    };
    line(output, "shape", &format!("{}{channels}", shape_text(shape)))?;
    if !columns.is_empty() {
        let names: Vec<String> =
            columns.iter().map(|name| fedflip_fleet::printable(name).into_owned()).collect();
        line(output, "columns", &listed(&names))?;
    }
    let [low, high] = range.map(|value| significant(value, 4));
    line(output, "values", &format!("{kind} from {low} to {high}"))?;
    line(output, "memory", &format!("{:.1} MB", *bytes as f64 / 1e6))?;
    line(output, "mean", &numbers(mean))?;
    line(output, "std", &numbers(std))?;
    match labels {
        LabelSummary::Classes(classes) => {
            let shown: Vec<String> =
                classes.iter().map(|(class, samples)| format!("{class} ({})", count(*samples))).collect();
            line(output, "classes", &listed(&shown))?;
        }
        LabelSummary::Numbers { range, mean, std } => {
            let [low, high, mean, std] = [range[0], range[1], *mean, *std].map(|value| significant(value, 4));
            line(output, "labels", &format!("numbers from {low} to {high}, mean {mean}, std {std}"))?;
        }
    }
    match devices {
        Some(devices) => {
            let shown: Vec<String> = devices
                .iter()
                .map(|DeviceSummary { name, samples }| {
                    format!("{} ({})", fedflip_fleet::printable(name), count(*samples))
                })
                .collect();
            line(output, "devices", &listed(&shown))
        }
        None => line(output, "devices", "not named"),
    }
}

fn shape_text(shape: &[usize]) -> String {
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("({})", sizes.join(", "))
}

/// The number of all, and the first of them.
fn listed(all: &[String]) -> String {
    let first = all.iter().take(LISTED_MAX).cloned().collect::<Vec<_>>().join(", ");
    let more = if all.len() > LISTED_MAX { ", …" } else { "" };
    format!("{}: {first}{more}", count(all.len()))
}

fn numbers(values: &[f64]) -> String {
    let first: Vec<String> = values.iter().take(LISTED_MAX).map(|value| significant(*value, 4)).collect();
    let more = if values.len() > LISTED_MAX { ", …" } else { "" };
    format!("{}{more}", first.join(", "))
}

/// What is allowed and probably not meant.
fn remarks(found: &Inspection) -> Vec<String> {
    let many = found.many_classes();
    let many = many.map(|many| format!("{many}; task.loss = \"squared-error\" takes them for numbers"));
    let mut remarks: Vec<String> = many.into_iter().collect();
    match &found.labels {
        LabelSummary::Classes(classes) => {
            let most = classes.keys().max().map_or(0, |most| *most as usize + 1);
            if classes.len() == 1 {
                remarks.push("all samples have the same class, so there is nothing to learn".to_owned());
            } else if classes.len() < most {
                remarks.push(format!(
                    "{} of {} classes have no samples here; classes count from 0",
                    count(most - classes.len()),
                    count(most)
                ));
            }
        }
        LabelSummary::Numbers { range: [low, high], .. } if low == high => {
            remarks.push("all labels are the same number, so there is nothing to learn".to_owned());
        }
        LabelSummary::Numbers { .. } => {
            remarks.push(
                "labels are numbers, so this is a regression; classes are whole numbers from 0 to 65535"
                    .to_owned(),
            );
        }
    }
    if found.kind == "uint8" && found.range[1] <= 1.0 {
        remarks.push("bytes are divided by 255, and these are 0 or 1; save them as float32".to_owned());
    }
    let small = found.devices.iter().flatten().filter(|device| device.samples < 2).count();
    if small > 0 {
        remarks.push(format!("{} devices have a single sample", count(small)));
    }
    remarks
}
