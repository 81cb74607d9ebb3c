//! `fedflip export`: a run's records as a table, or as TensorBoard's events.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::Path;

use fedflip_record::RecordError;
use fedflip_record::export::tensorboard::EventWriter;
use fedflip_record::export::{Table, csv, parquet};
use fedflip_record::folder::RECORDS;
use fedflip_record::reader::{self, Records};

use crate::args::{ExportArgs, ExportFormat, ExportTable};
use crate::error::CliError;
use crate::files;

pub(super) fn run(args: &ExportArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let path = args.run.join(RECORDS);
    if fs::metadata(&path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        return Err(RecordError::NoRun { folder: args.run.display().to_string() }.into());
    }
    let format = args.format.map_or_else(|| by_name(args.out.as_deref()), Ok)?;
    if format == ExportFormat::Tensorboard && args.table.is_some() {
        return Err(CliError::Usage {
            problem: "--table: TensorBoard takes curves, not a table",
            hint: "leave out --table, or choose --format csv or parquet",
        });
    }
    let records = reader::read(&path)?;
    let table = match args.table {
        None | Some(ExportTable::Rounds) => Table::rounds,
        Some(ExportTable::Participants) => Table::participants,
    };
    let mut bytes = Vec::new();
    match (format, &args.out) {
        (ExportFormat::Csv, _) => csv::write(&table(&records), &mut bytes)?,
        (ExportFormat::Parquet, _) => parquet::write(&table(&records), &mut bytes)?,
        (ExportFormat::Tensorboard, Some(folder)) => return Ok(write_events(folder, &records)?),
        (ExportFormat::Tensorboard, None) => {
            return Err(CliError::Usage {
                problem: "TensorBoard reads folders, and none is named",
                hint: "name one with --out FOLDER; it is made if it is not there",
            });
        }
    }
    match &args.out {
        Some(out) => Ok(files::write(out, &bytes)?),
        None => Ok(output.write_all(&bytes)?),
    }
}

/// Writes the event file that the run would have written with --tensorboard.
fn write_events(folder: &Path, records: &Records) -> Result<(), RecordError> {
    fs::create_dir_all(folder).map_err(RecordError::io(folder, "cannot be made"))?;
    let mut writer = EventWriter::create(folder)?;
    records.rounds.iter().try_for_each(|round| writer.round(round))?;
    writer.publish()?;
    records.end.as_ref().map_or(Ok(()), |end| writer.end(end))
}

/// What a file's name says that it is.
fn by_name(out: Option<&Path>) -> Result<ExportFormat, CliError> {
    match out.and_then(Path::extension).and_then(OsStr::to_str) {
        Some("parquet") => Ok(ExportFormat::Parquet),
        // A device or a pipe has no ending.
        None | Some("csv") => Ok(ExportFormat::Csv),
        Some(_) => Err(CliError::Usage {
            problem: "--out: the file's ending is neither .csv nor .parquet",
            hint: "say which it is with --format csv, parquet or tensorboard",
        }),
    }
}
