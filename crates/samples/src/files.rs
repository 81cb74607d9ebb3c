//! Which files are meant, and who reads each: the table of formats.

use std::path::{Path, PathBuf};

use crate::error::{Problem, SamplesError};
use crate::table::{Difference, Table};
use crate::{csv_file, npz, parquet_file, safetensors_file, text_file};

/// A format: the ending of its files, and its reader.
struct Format {
    ending: &'static str,
    read: fn(&Path) -> Result<Table, Problem>,
}

const FORMATS: &[Format] = &[
    Format { ending: "npz", read: npz::read },
    Format { ending: "safetensors", read: safetensors_file::read },
    Format { ending: "parquet", read: parquet_file::read },
    Format { ending: "csv", read: csv_file::read },
];

/// The endings of all files that can be read, with their dots.
pub fn endings() -> Vec<String> {
    let tables = FORMATS.iter().map(|format| format.ending);
    tables.chain([TEXT]).map(|ending| format!(".{ending}")).collect()
}

/// The ending of files for models of characters.
pub const TEXT: &str = "txt";

/// The files that names, folders and patterns such as `part-*.npz` stand for, each once, in the order of names for a
/// pattern or a folder.
/// Relative names start in `folder`.
pub fn found(folder: &Path, patterns: &[String]) -> Result<Vec<PathBuf>, SamplesError> {
    let mut files: Vec<PathBuf> = Vec::new();
    for pattern in patterns {
        let whole = folder.join(pattern);
        // A file whose very name has a star in it is meant, too, and a folder stands for its files.
        let matched: Vec<PathBuf> = if whole.is_dir() {
            in_folder(&whole).map_err(|error| Problem::from(error).in_file(&whole))?
        } else if whole.exists() {
            vec![whole.clone()]
        } else {
            let wrong = |error| Problem::malformed("pattern", error).in_file(&whole);
            glob::glob(&whole.to_string_lossy()).map_err(wrong)?.filter_map(Result::ok).collect()
        };
        if matched.is_empty() {
            return Err(Problem::NoMatch.in_file(&whole));
        }
        for file in matched {
            if !files.contains(&file) {
                files.push(file);
            }
        }
    }
    Ok(files)
}

/// The files in a folder that can be read, in the order of their names.
fn in_folder(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let known = endings();
    let entries = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    let is_known = |file: &PathBuf| file.is_file() && known.contains(&format!(".{}", ending(file)));
    let mut files: Vec<PathBuf> = entries.iter().map(std::fs::DirEntry::path).filter(is_known).collect();
    files.sort();
    Ok(files)
}

/// Reads files of samples as one table.
pub fn read(files: &[PathBuf]) -> Result<Table, SamplesError> {
    let mut all: Option<Table> = None;
    for file in files {
        let table = read_one(file).map_err(|problem| problem.in_file(file))?;
        match &mut all {
            None => all = Some(table),
            Some(all) => all.append(table).map_err(|difference| {
                let Difference { what, expected, found } = difference;
                Problem::Differs { what, first: files[0].clone(), expected, found }.in_file(file)
            })?,
        }
    }
    all.ok_or_else(|| Problem::NoMatch.in_file(Path::new("")))
}

fn read_one(file: &Path) -> Result<Table, Problem> {
    let ending = ending(file);
    let format = FORMATS.iter().find(|format| format.ending == ending);
    let format = format.ok_or(Problem::UnknownFormat { ending })?;
    let table = (format.read)(file)?;
    match table.not_finite() {
        None => Ok(table),
        Some((sample, value)) => Err(Problem::Value {
            place: format!("sample {sample}"),
            value: value.to_string(),
            wanted: "a finite number",
        }),
    }
}

/// Reads text files, one text each.
pub fn read_texts(files: &[PathBuf]) -> Result<Vec<String>, SamplesError> {
    files.iter().map(|file| text_file::read(file).map_err(|problem| problem.in_file(file))).collect()
}

/// Whether all files are texts, which have no columns.
pub fn are_texts(files: &[PathBuf]) -> bool {
    files.iter().all(|file| ending(file) == TEXT)
}

fn ending(file: &Path) -> String {
    file.extension().unwrap_or_default().to_string_lossy().to_lowercase()
}
