//! `fedflip report`: runs made visible.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use fedflip_record::atomic;
use fedflip_report::output::{self, Format, OutputFile};
use fedflip_report::{Collection, ReportError};

use super::warn;
use crate::args::{ReportArgs, ReportFormat};
use crate::error::CliError;
use crate::progress::Progress;

pub(super) fn run(args: &ReportArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let progress = (!args.quiet).then(|| Progress::start("reading records"));
    let collection = Collection::read(&args.folders, args.round)?;
    let format = format(args.format);
    let files = output::files(&collection, format, args.title.as_deref())?;
    drop(progress);
    if !args.quiet {
        collection.problems.iter().for_each(|problem| warn(&problem.to_string()));
    }
    match destination(args, format) {
        None => files.iter().try_for_each(|file| output.write_all(&file.bytes))?,
        Some(path) if format.is_one_file() => {
            for OutputFile { bytes, .. } in &files {
                write(&path, bytes)?;
            }
            if !args.quiet {
                writeln!(output, "{}", path.display())?;
            }
        }
        Some(folder) => {
            for OutputFile { path, bytes } in &files {
                let path = folder.join(path);
                write(&path, bytes)?;
                if !args.quiet {
                    writeln!(output, "{}", path.display())?;
                }
            }
        }
    }
    Ok(())
}

fn format(format: ReportFormat) -> Format {
    match format {
        ReportFormat::Html => Format::Html,
        ReportFormat::Svg => Format::Svg,
        ReportFormat::Png => Format::Png,
        ReportFormat::Md => Format::Markdown,
        ReportFormat::Csv => Format::Csv,
        ReportFormat::Json => Format::Json,
    }
}

/// Where to write; none is standard output.
fn destination(args: &ReportArgs, format: Format) -> Option<PathBuf> {
    if args.out.as_deref() == Some(Path::new("-")) && format.is_one_file() {
        return None;
    }
    let default = match format {
        Format::Html => Some("report.html"),
        Format::Svg | Format::Png => Some("figures"),
        Format::Csv => Some("tables"),
        Format::Markdown | Format::Json => None,
    };
    args.out.clone().or(default.map(PathBuf::from))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(ReportError::io(folder, "cannot be made"))?;
    }
    Ok(atomic::write(path, bytes)?)
}
