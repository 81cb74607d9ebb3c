//! `fedflip data list | get | check`.

use std::io::Write;
use std::path::PathBuf;

use fedflip_learn::data::catalogue::{Client, Name};
use fedflip_learn::data::fetch::{self, Outcome, Source};
use fedflip_learn::data::load;
use serde::Serialize;

use super::print_json;
use crate::args::{DataCheckArgs, DataGetArgs, DataListArgs};
use crate::error::CliError;
use crate::render::Table;

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    about: &'static str,
    package: String,
    download_bytes: u64,
    bytes: u64,
    present: bool,
}

pub(super) fn list(args: &DataListArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let folder = data_dir(args.data_dir.as_ref())?;
    let listed = Name::ALL.map(|name| {
        let package = name.package();
        let client = match package.client {
            Client::Npm => "npm",
            Client::Pip => "pip",
            Client::Apt => "apt",
        };
        Listed {
            name: name.as_str(),
            about: name.about(),
            package: format!("{client} {}", package.spec),
            download_bytes: package.archive.bytes,
            bytes: name.bytes(),
            present: load::is_present(name, &folder),
        }
    });
    if args.json {
        return print_json(output, &listed);
    }
    let mut table = Table::new(&["name", "package", "download", "stored", "present"]);
    for set in &listed {
        table.row(vec![
            set.name.to_owned(),
            set.package.clone(),
            megabytes(set.download_bytes),
            megabytes(set.bytes),
            if set.present { "yes" } else { "no" }.to_owned(),
        ]);
    }
    table.write(output)?;
    writeln!(output)?;
    for set in &listed {
        writeln!(output, "  {:13}  {}", set.name, set.about)?;
    }
    writeln!(output, "\n  In {}", folder.display())?;
    Ok(())
}

pub(super) fn get(args: &DataGetArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let name: Name = args.name.parse()?;
    let folder = data_dir(args.data_dir.as_ref())?;
    let source = match (&args.from, &args.url) {
        (Some(folder), _) => Source::Folder(folder.clone()),
        (None, Some(base)) => Source::Address(base.clone()),
        (None, None) => Source::Package,
    };
    let outcome = fetch::get(name, &folder, &source, &mut report)?;
    let word = match outcome {
        Outcome::Present => "was there already, and is whole",
        Outcome::Landed => "is there",
    };
    writeln!(output, "{name} {word}: {}", folder.join(name.as_str()).display())?;
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
    let name: Name = args.name.parse()?;
    let data_dir = data_dir(args.data_dir.as_ref())?;
    load::check(name, &data_dir, &mut report)?;
    let folder = data_dir.join(name.as_str()).display().to_string();
    let (files, bytes) = (name.files().len(), name.bytes());
    if args.json {
        return print_json(output, &Checked { name: name.as_str(), folder, files, bytes, whole: true });
    }
    writeln!(output, "{name} is whole: {files} files, {}, in {folder}", megabytes(bytes))?;
    Ok(())
}

/// The folder asked for, or that of the user's cache.
pub(super) fn data_dir(asked: Option<&PathBuf>) -> Result<PathBuf, CliError> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = || variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    asked.cloned().or_else(|| variable("FEDFLIP_DATA")).or_else(|| Some(cache()?.join("fedflip"))).ok_or(
        CliError::Usage {
            problem: "there is no home folder to keep data sets in",
            hint: "name a folder with --data-dir or in FEDFLIP_DATA",
        },
    )
}

/// A line on what is going on; downloads take long, also where nobody sits at a terminal.
fn report(text: &str) {
    // If nobody listens, the work still counts.
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
