//! `fedflip data list | get | check`.

use std::io::Write;
use std::path::Path;

use fedflip_datasets::catalogue::{SETS, SetSpec};
use fedflip_datasets::fetch::{self, Outcome, Source};
use fedflip_datasets::programs::Programs;
use fedflip_datasets::{Progress, load};
use serde::Serialize;

use super::print_json;
use crate::args::{DataCheckArgs, DataGetArgs, DataListArgs};
use crate::error::CliError;
use crate::progress::{Line, Stage, be_quiet};

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    about: &'static str,
    licence: &'static str,
    bytes: u64,
    present: bool,
    sources: Vec<ListedSource>,
}

/// Something that `get` tries, in the order in which it does.
#[derive(Serialize)]
struct ListedSource {
    source: String,
    download_bytes: u64,
    /// What gets it; nothing is needed for what is installed.
    program: Option<&'static str>,
    at_hand: bool,
}

pub(super) fn list(args: &DataListArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let folder = args.data.folder();
    let programs = programs();
    let listed = SETS.map(|set| Listed {
        name: set.name,
        about: set.about,
        licence: set.licence,
        bytes: set.bytes(),
        present: load::is_present(set, &folder),
        sources: sources(set, &programs),
    });
    if args.json {
        return print_json(output, &listed);
    }
    for set in &listed {
        let here = if set.present { "here" } else { "not here" };
        writeln!(output, "{:13}  {here}; {} when stored", set.name, megabytes(set.bytes))?;
        writeln!(output, "{:13}  {} ({})", "", set.about, set.licence)?;
        for (number, source) in set.sources.iter().enumerate() {
            let from = if number == 0 { "from" } else { "or" };
            write!(output, "{:13}  {from:4}  {}", "", source.source)?;
            match source.program {
                None => write!(output, ", installed")?,
                Some(_) if source.at_hand => write!(output, ", {}", megabytes(source.download_bytes))?,
                Some(program) => {
                    let download = megabytes(source.download_bytes);
                    write!(output, ", {download}: {program} is not installed")?;
                }
            }
            writeln!(output)?;
        }
        writeln!(output)?;
    }
    writeln!(output, "In {}. Sources are tried from top to bottom.", folder.display())?;
    Ok(())
}

fn sources(set: &SetSpec, programs: &Programs) -> Vec<ListedSource> {
    let mut sources = Vec::new();
    let installed = set.packages.iter().filter_map(|package| package.installed);
    for folder in installed.filter(|folder| Path::new(folder).is_dir()) {
        let source = folder.to_owned();
        sources.push(ListedSource { source, download_bytes: 0, program: None, at_hand: true });
    }
    for package in set.packages {
        let names = package.client.programs();
        let found = names.iter().copied().find(|program| programs.find(program).is_some());
        sources.push(ListedSource {
            source: package.to_string(),
            download_bytes: package.archive.bytes,
            program: found.or(names.first().copied()),
            at_hand: found.is_some(),
        });
    }
    let curl = programs.find("curl").is_some();
    sources.extend(set.addresses.iter().map(|&address| ListedSource {
        source: address.to_owned(),
        download_bytes: set.published_bytes(),
        program: Some("curl"),
        at_hand: curl,
    }));
    sources
}

#[derive(Serialize)]
struct Got {
    name: &'static str,
    folder: String,
    landed: bool,
}

pub(super) fn get(args: &DataGetArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let set = SetSpec::by_name(&args.name)?;
    let data_dir = args.data.folder();
    let source = match (&args.from, &args.url) {
        (Some(folder), _) => Source::Folder(folder.clone()),
        (None, Some(base)) => Source::Address(base.clone()),
        (None, None) => Source::Any,
    };
    if args.quiet {
        be_quiet();
    }
    let mut report = Report::new();
    let outcome = fetch::get(set, &data_dir, &source, &programs(), &mut |progress| report.tell(progress));
    report.line.clear();
    let landed = outcome? == Outcome::Landed;
    let folder = data_dir.join(set.name).display().to_string();
    if args.json {
        return print_json(output, &Got { name: set.name, folder, landed });
    }
    let word = if landed { "is there" } else { "is there already, and is complete" };
    writeln!(output, "{} {word}: {folder}", set.name)?;
    Ok(())
}

#[derive(Serialize)]
struct Checked {
    name: &'static str,
    folder: String,
    files: usize,
    bytes: u64,
    whole: bool,
}

pub(super) fn check(args: &DataCheckArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let set = SetSpec::by_name(&args.name)?;
    let data_dir = args.data.folder();
    let mut report = Report::new();
    load::check(set, &data_dir, &mut |progress| report.tell(progress))?;
    let folder = data_dir.join(set.name).display().to_string();
    let (files, bytes) = (set.files.len(), set.bytes());
    if args.json {
        return print_json(output, &Checked { name: set.name, folder, files, bytes, whole: true });
    }
    writeln!(output, "{} is complete: {files} files, {}, in {folder}", set.name, megabytes(bytes))?;
    Ok(())
}

fn programs() -> Programs {
    Programs::on(std::env::var_os("PATH").unwrap_or_default())
}

/// What is in progress, on standard error: downloads take long, also where nobody sits at a terminal.
struct Report {
    stage: Stage,
    line: Line,
    /// The per cent shown last.
    shown: Option<u64>,
}

impl Report {
    /// Per cent between two lines where lines stay; a terminal overwrites them.
    const STEP: u64 = 10;

    fn new() -> Self {
        Self { stage: Stage::now(), line: Line::new("{wide_msg}"), shown: None }
    }

    fn tell(&mut self, progress: Progress<'_>) {
        let terminal = self.stage == Stage::Terminal;
        match (progress, progress.percent()) {
            _ if self.stage == Stage::Quiet => {}
            (Progress::Download { file, total, .. }, Some(percent)) => {
                let percent = if terminal { percent } else { percent - percent % Self::STEP };
                if self.shown.replace(percent) != Some(percent) {
                    let text = format!("{file}: {percent} % of {}", megabytes(total));
                    if terminal { self.line.say(text) } else { say(&text) }
                }
            }
            (Progress::Step(text), _) | (Progress::Download { file: text, .. }, None) => {
                self.line.clear();
                self.shown = None;
                say(text);
            }
        }
    }
}

fn say(text: &str) {
    // If nobody listens, the work still counts.
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
