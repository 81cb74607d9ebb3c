//! `fedflip export`: a run's records as a table.

use std::io::Write;

use fedflip_record::export::{Table, csv, parquet};
use fedflip_record::folder::RECORDS;
use fedflip_record::{RecordError, atomic, reader};

use crate::args::{ExportArgs, ExportFormat, ExportTable};
use crate::error::CliError;

pub(super) fn run(args: &ExportArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let path = args.run.join(RECORDS);
    if !path.is_file() {
        return Err(RecordError::NoRun { folder: args.run.display().to_string() }.into());
    }
    let records = reader::read(&path)?;
    let table = match args.table {
        ExportTable::Rounds => Table::rounds(&records),
        ExportTable::Participants => Table::participants(&records),
    };
    let mut bytes = Vec::new();
    match args.format {
        ExportFormat::Csv => csv::write(&table, &mut bytes)?,
        ExportFormat::Parquet => parquet::write(&table, &mut bytes)?,
    }
    match &args.out {
        Some(out) => Ok(atomic::write(out, &bytes)?),
        None => Ok(output.write_all(&bytes)?),
    }
}
