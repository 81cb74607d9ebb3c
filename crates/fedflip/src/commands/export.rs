//! `fedflip export`: a run's records as a table, or as TensorBoard's events.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use fedflip_fleet::csv_file;
use fedflip_record::export::tensorboard::EventWriter;
use fedflip_record::export::{Table, csv, parquet};
use fedflip_record::folder::{FLEET, RECORDS};
use fedflip_record::reader::{self, Records};
use fedflip_record::{FolderProblem, RecordError, atomic};

use crate::args::{ExportArgs, ExportFormat, ExportTable};
use crate::error::CliError;
use crate::files;

pub(super) fn run(args: &ExportArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let path = args.run.join(RECORDS);
    if fs::metadata(&path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        return Err(RecordError::folder(&args.run, FolderProblem::NoRun).into());
    }
    let format = args.format.map_or_else(|| by_name(args.out.as_deref()), Ok)?;
    if format == ExportFormat::Tensorboard && args.table.is_some() {
        return Err(CliError::usage(
            "--table: TensorBoard takes curves, not a table",
            "leave out --table, or choose --format csv or parquet",
        ));
    }
    let records = reader::read(&path)?;
    let table = |records: &Records| match args.table {
        None | Some(ExportTable::Rounds) => Table::rounds(records),
        Some(ExportTable::Participants) => Table::participants(records, &names(&args.run)),
    };
    let mut bytes = Vec::new();
    match (format, &args.out) {
        (ExportFormat::Csv, _) => csv::write(&table(&records), &mut bytes)?,
        (ExportFormat::Parquet, _) => parquet::write(&table(&records), &mut bytes)?,
        (ExportFormat::Tensorboard, Some(folder)) => return Ok(write_events(folder, &records)?),
        (ExportFormat::Tensorboard, None) => {
            return Err(CliError::usage(
                "TensorBoard reads folders, and --out names none",
                "name one with --out FOLDER; it is created if it does not exist",
            ));
        }
    }
    match &args.out {
        Some(out) => {
            files::check_no_run(out)?;
            Ok(atomic::write_to(out, &bytes)?)
        }
        None => Ok(output.write_all(&bytes)?),
    }
}

/// What the run's fleet calls its devices; nothing where that cannot be read, as numbers go without.
fn names(run: &Path) -> Vec<Arc<str>> {
    let path = run.join(FLEET);
    let fleet = fs::File::open(&path).ok().map(|file| csv_file::read(file, &path.display().to_string()));
    fleet
        .and_then(Result::ok)
        .map_or_else(Vec::new, |fleet| (0..fleet.len()).map(|device| Arc::from(fleet.name(device))).collect())
}

/// Writes the event file that the run would have written with --tensorboard.
fn write_events(folder: &Path, records: &Records) -> Result<(), RecordError> {
    fs::create_dir_all(folder).map_err(RecordError::io(folder, "cannot be made"))?;
    let mut writer = EventWriter::create(folder)?;
    records.initial.iter().try_for_each(|initial| writer.initial(initial))?;
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
        Some(_) => Err(CliError::usage(
            "--out: the file's ending is neither .csv nor .parquet",
            "say which it is with --format csv, parquet or tensorboard",
        )),
    }
}
