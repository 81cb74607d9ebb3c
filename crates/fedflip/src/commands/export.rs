//! `fedflip export`: a run's records as a table, or as TensorBoard's events.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use fedflip_record::export::tensorboard::EventWriter;
use fedflip_record::export::{Table, csv, parquet};
use fedflip_record::folder::RECORDS;
use fedflip_record::reader::{self, Records};
use fedflip_record::{RecordError, atomic};

use crate::args::{ExportArgs, ExportFormat, ExportTable};
use crate::error::CliError;

pub(super) fn run(args: &ExportArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let path = args.run.join(RECORDS);
    if fs::metadata(&path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        return Err(RecordError::NoRun { folder: args.run.display().to_string() }.into());
    }
    let by_name = || match args.out.as_ref().and_then(|out| out.extension()) {
        Some(extension) if extension == "parquet" => ExportFormat::Parquet,
        _ => ExportFormat::Csv,
    };
    let format = args.format.unwrap_or_else(by_name);
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
        Some(out) => Ok(write_to(out, &bytes)?),
        None => Ok(output.write_all(&bytes)?),
    }
}

/// Writes the event file that the run would have written with --tensorboard.
fn write_events(folder: &Path, records: &Records) -> Result<(), RecordError> {
    fs::create_dir_all(folder).map_err(RecordError::io(folder, "cannot be made"))?;
    let mut writer = EventWriter::create(folder, &records.rounds)?;
    records.end.as_ref().map_or(Ok(()), |end| writer.end(end))
}

/// Replaces a file, also one at the end of a link; writes into what is no file, such as a pipe.
fn write_to(out: &Path, bytes: &[u8]) -> Result<(), RecordError> {
    match fs::metadata(out) {
        Ok(found) if found.is_file() => {
            let file = fs::canonicalize(out).map_err(RecordError::io(out, "cannot be written"))?;
            atomic::write(&file, bytes)
        }
        Ok(_) => {
            let opened = File::options().write(true).open(out);
            opened
                .and_then(|mut file| file.write_all(bytes))
                .map_err(RecordError::io(out, "cannot be written"))
        }
        Err(_) => atomic::write(out, bytes),
    }
}
