//! `fedflip export`: a run's records as a table.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use fedflip_record::export::{Table, csv, parquet};
use fedflip_record::folder::RECORDS;
use fedflip_record::{RecordError, atomic, reader};

use crate::args::{ExportArgs, ExportFormat, ExportTable};
use crate::error::CliError;

pub(super) fn run(args: &ExportArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let path = args.run.join(RECORDS);
    if fs::metadata(&path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        return Err(RecordError::NoRun { folder: args.run.display().to_string() }.into());
    }
    let records = reader::read(&path)?;
    let table = match args.table {
        ExportTable::Rounds => Table::rounds(&records),
        ExportTable::Participants => Table::participants(&records),
    };
    let mut bytes = Vec::new();
    let by_name = || match args.out.as_ref().and_then(|out| out.extension()) {
        Some(extension) if extension == "parquet" => ExportFormat::Parquet,
        _ => ExportFormat::Csv,
    };
    match args.format.unwrap_or_else(by_name) {
        ExportFormat::Csv => csv::write(&table, &mut bytes)?,
        ExportFormat::Parquet => parquet::write(&table, &mut bytes)?,
    }
    match &args.out {
        Some(out) => Ok(write_to(out, &bytes)?),
        None => Ok(output.write_all(&bytes)?),
    }
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
