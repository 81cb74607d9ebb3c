//! `fedflip report`: pages, figures and tables from records.

use std::fs;
use std::io::Write;
use std::path::{Component, Path, PathBuf};

use fedflip_record::{RecordError, atomic};
use fedflip_report::{Collection, Format, Options, OutputFile, Report};

use crate::args::ReportArgs;
use crate::error::CliError;
use crate::files;
use crate::progress::{Line, warn};

pub(super) fn run(args: &ReportArgs, output: &mut dyn Write) -> Result<(), CliError> {
    check_destination(args)?;
    let progress = (!args.quiet).then(|| Line::while_alive("reading records"));
    let collection = Collection::read(&args.folders, args.round, args.target.as_ref())?;
    let format = format(args);
    let options = Options { title: args.title.as_deref(), reference: args.reference.as_deref() };
    let files = format.files(&Report::of(&collection, &options)?)?;
    drop(progress);
    // With --quiet too: what could not be read belongs to the result.
    collection.problems.iter().for_each(|problem| warn(problem));
    match destination(args, format) {
        None => files.iter().try_for_each(|file| output.write_all(&file.bytes))?,
        Some(path) if format.is_one_file() => {
            files::check_no_run(&path)?;
            for OutputFile { bytes, .. } in &files {
                write(&path, bytes)?;
            }
            if !args.quiet {
                writeln!(output, "{}", path.display())?;
            }
        }
        Some(folder) => {
            // All or nothing: a refusal leaves no half of a report behind.
            files.iter().try_for_each(|file| files::check_no_run(&within(&folder, &file.path)))?;
            for OutputFile { path, bytes } in &files {
                let path = within(&folder, path);
                write(&path, bytes)?;
                if !args.quiet {
                    writeln!(output, "{}", path.display())?;
                }
            }
        }
    }
    Ok(())
}

/// Before anything is read: a mistake should not cost the wait.
fn check_destination(args: &ReportArgs) -> Result<(), CliError> {
    let format = format(args);
    let one_file = format.is_one_file();
    match args.out.as_deref() {
        // A page in figure.pdf, or a folder of that name, is not what anybody means.
        Some(out) if let Some(meant) = other_format(out, format) => {
            let (out, folder) = (out.display(), out.with_extension(""));
            Err(match meant.is_one_file() {
                true => CliError::usage(
                    format!("--out {out}: the report is {}", format.name),
                    format!("add --format {}, or choose another ending", meant.name),
                ),
                false => CliError::usage(
                    format!("--out {out}: a report as {} is several files", meant.name),
                    format!(
                        "name a folder and the format: --format {} --out {}",
                        meant.name,
                        folder.display()
                    ),
                ),
            })
        }
        Some(out) if !one_file && out == Path::new("-") => Err(CliError::usage(
            "--out -: several files do not go to standard output",
            "name a folder, or choose html, md, text or json, which are one file",
        )),
        Some(out) if one_file && out.is_dir() => Err(CliError::usage(
            "--out: a folder, where one file is written",
            "name a file in it, such as report.html",
        )),
        Some(out) if !one_file && out.is_file() => Err(CliError::usage(
            "--out: a file, where several files are written",
            "name a folder; it is created if it does not exist",
        )),
        _ => Ok(()),
    }
}

/// The format that the ending of a path names, if it is another one or several files.
fn other_format(out: &Path, format: &Format) -> Option<&'static Format> {
    let ending = out.extension()?.to_str()?.to_lowercase();
    let meant = Format::of_extension(&ending)?;
    (meant.name != format.name || !meant.is_one_file()).then_some(meant)
}

fn format(args: &ReportArgs) -> &'static Format {
    Format::named("json").filter(|_| args.json).unwrap_or(args.format)
}

/// Where to write; none is standard output.
fn destination(args: &ReportArgs, format: &Format) -> Option<PathBuf> {
    if args.out.as_deref() == Some(Path::new("-")) && format.is_one_file() {
        return None;
    }
    args.out.clone().or(format.default_out.map(PathBuf::from))
}

/// A path below a folder, whatever stands in it: names come from records.
fn within(folder: &Path, path: &str) -> PathBuf {
    let plain = Path::new(path).components().filter(|part| matches!(part, Component::Normal(_)));
    plain.fold(folder.to_owned(), |path, part| path.join(part))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(RecordError::io(folder, "cannot be made"))?;
    }
    Ok(atomic::write_to(path, bytes)?)
}
