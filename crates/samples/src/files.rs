//! Which files are meant, and who reads each: the table of formats.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

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
    expanded(&patterns.iter().map(|pattern| folder.join(pattern)).collect::<Vec<PathBuf>>())
}

/// The files that paths stand for, as in [`found`].
pub fn expanded(paths: &[PathBuf]) -> Result<Vec<PathBuf>, SamplesError> {
    let mut files: Vec<PathBuf> = Vec::new();
    let mut known: BTreeSet<PathBuf> = BTreeSet::new();
    for whole in paths {
        // A file whose very name has a star in it is meant, too, and a folder stands for its files.
        let matched = if whole.is_dir() {
            in_folder(whole)?.used
        } else if whole.exists() {
            vec![whole.clone()]
        } else {
            matches(whole)?
        };
        if matched.is_empty() {
            return Err(Problem::NoMatch.in_file(whole));
        }
        for file in matched {
            if known.insert(file.clone()) {
                files.push(file);
            }
        }
    }
    Ok(files)
}

/// The texts in folders that are not read, because the folder has tables, too: usually notes about these.
pub fn left_out(folder: &Path, patterns: &[String]) -> Result<Vec<PathBuf>, SamplesError> {
    let folders = patterns.iter().map(|pattern| folder.join(pattern)).filter(|whole| whole.is_dir());
    let left_out = folders.map(|folder| Ok(in_folder(&folder)?.left_out));
    Ok(left_out.collect::<Result<Vec<_>, SamplesError>>()?.concat())
}

/// The files that a pattern matches. One that cannot be looked at is refused: samples would be missing otherwise.
fn matches(whole: &Path) -> Result<Vec<PathBuf>, SamplesError> {
    let wrong = |error| Problem::malformed("pattern", error).in_file(whole);
    let unreadable = |error: glob::GlobError| {
        let path = error.path().to_owned();
        Problem::Io(error.into()).in_file(&path)
    };
    let found = glob::glob(&as_pattern(whole)).map_err(wrong)?;
    found.map(|path| path.map_err(unreadable)).collect()
}

/// A path as a pattern, in which the folders that exist stand for themselves: `b[1]` may be one.
fn as_pattern(whole: &Path) -> String {
    let mut folder = PathBuf::new();
    let mut pattern = PathBuf::new();
    for part in whole.components() {
        folder.push(part);
        let text = part.as_os_str().to_string_lossy();
        match folder.is_dir() && !matches!(part, Component::RootDir | Component::Prefix(_)) {
            true => pattern.push(glob::Pattern::escape(&text)),
            false => pattern.push(part),
        }
    }
    pattern.to_string_lossy().into_owned()
}

/// The files in a folder that have a known ending, in the order of their names.
struct InFolder {
    used: Vec<PathBuf>,
    left_out: Vec<PathBuf>,
}

/// A folder of tables may hold a text about them, which is no sample.
fn in_folder(folder: &Path) -> Result<InFolder, SamplesError> {
    let unreadable = |error: std::io::Error| Problem::from(error).in_file(folder);
    let known = endings();
    let entries = std::fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let is_known = |file: &PathBuf| file.is_file() && known.contains(&format!(".{}", ending(file)));
    let paths = entries.map_err(unreadable)?.into_iter().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = paths.filter(is_known).collect();
    files.sort();
    let (texts, tables): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| ending(file) == TEXT);
    Ok(match tables.is_empty() {
        true => InFolder { used: texts, left_out: tables },
        false => InFolder { used: tables, left_out: texts },
    })
}

/// Reads files of samples as one table.
pub fn read(files: &[PathBuf]) -> Result<Table, SamplesError> {
    let mut all: Option<Table> = None;
    for file in files {
        let table = read_one(file).map_err(|problem| problem.in_file(file))?;
        match &mut all {
            None => all = Some(table),
            Some(all) => all.append(table).map_err(|difference| {
                let first = &files[0];
                match difference {
                    Difference::Columns(columns) => columns.between(file, first),
                    Difference::Of { what, expected, found } => {
                        Problem::Differs { what, first: first.clone(), expected, found }.in_file(file)
                    }
                }
            })?,
        }
    }
    all.ok_or_else(|| Problem::NoMatch.in_file(Path::new("")))
}

fn read_one(file: &Path) -> Result<Table, Problem> {
    let ending = ending(file);
    let format = FORMATS.iter().find(|format| format.ending == ending);
    let format = format.ok_or(Problem::UnknownFormat { ending })?;
    // Reading a pipe would wait for whoever writes to it.
    if std::fs::metadata(file).is_ok_and(|found| !found.is_file()) {
        return Err(Problem::malformed("file", "it is not a regular file"));
    }
    let table = (format.read)(file).map_err(|problem| match problem {
        Problem::Io(error) => of_content(error, format.ending),
        other => other,
    })?;
    match table.not_finite() {
        None => Ok(table),
        Some((sample, value)) => Err(Problem::Value {
            place: format!("sample {sample}"),
            value: value.to_string(),
            wanted: "a finite number",
        }),
    }
}

/// An error of a reader about the content of a file, or of the system about the file.
fn of_content(error: std::io::Error, format: &'static str) -> Problem {
    match error.kind() {
        ErrorKind::UnexpectedEof => Problem::malformed(format, "the file ends too early"),
        ErrorKind::InvalidData | ErrorKind::InvalidInput => Problem::malformed(format, error),
        _ => Problem::Io(error),
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
