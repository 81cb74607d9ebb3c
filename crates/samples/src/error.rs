//! Everything that can be wrong with a file of samples.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::arrange::OtherColumns;

/// Why samples cannot be read or used: the file, and what is wrong with it. [`SamplesError::hint`] says what to do.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", .file.display())]
pub struct SamplesError {
    /// The file, or the pattern that names no file.
    pub file: PathBuf,
    /// What is wrong with the file.
    #[source]
    pub problem: Problem,
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file cannot be opened or read.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// A pattern names no file.
    #[error("no file has this name")]
    NoMatch,
    /// The ending of the name is not that of a known format.
    #[error("the format {ending:?} is not known")]
    UnknownFormat {
        /// The ending, without its dot.
        ending: String,
    },
    /// The content is not of the format that the name promises, or is damaged.
    #[error("not a valid {format} file: {detail}")]
    Malformed {
        /// The name of the format.
        format: &'static str,
        /// What the reader reports.
        detail: String,
    },
    /// An array or a column that must be there is missing.
    #[error("{wanted} is missing; the file has {}", listed(.found))]
    Missing {
        /// What was looked for, such as `array x`.
        wanted: String,
        /// The names that are there.
        found: Vec<String>,
    },
    /// A column without a name, such as an index of pandas, which is no feature.
    #[error("column {column} has no name")]
    Unnamed {
        /// Its position, counted from 1.
        column: usize,
    },
    /// A name that differs from one with a meaning in its capitals alone.
    #[error("{found:?} would not be read as {meant}")]
    Misspelt {
        /// The name in the file.
        found: String,
        /// The name with a meaning.
        meant: &'static str,
    },
    /// A label that is a word.
    #[error("{place}: {value} is a text, and labels are numbers")]
    TextLabel {
        /// Such as `line 7, column label`.
        place: String,
        /// The label as it is written.
        value: String,
    },
    /// Values of a type that cannot be used.
    #[error("{what} has the type {found}; it must be {wanted}")]
    Type {
        /// Such as `array x`.
        what: String,
        /// The type in the file.
        found: String,
        /// The types that can be used.
        wanted: &'static str,
    },
    /// An array of Python objects, which could only be read by running code from the file.
    #[error("{what} holds Python objects, which are never read because that would run code from the file")]
    Objects {
        /// Such as `array x`.
        what: String,
    },
    /// The dimensions cannot be used.
    #[error("{what} has the shape {found}; {wanted}")]
    Shape {
        /// Such as `array x`.
        what: String,
        /// The dimensions that the array has.
        found: Shape,
        /// What would be right, as a sentence.
        wanted: String,
    },
    /// A value that cannot be used.
    #[error("{place}: {value} is not {wanted}")]
    Value {
        /// Such as `line 7, column age`.
        place: String,
        /// The value as it is written.
        value: String,
        /// What would be right.
        wanted: &'static str,
    },
    /// There is not a single sample.
    #[error("there are no samples")]
    Empty,
    /// The samples would take more memory than the limit.
    #[error("the samples would take {bytes} bytes of memory; the limit is {limit}")]
    TooLarge {
        /// The memory that they would take.
        bytes: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The file has other columns than a file that is read with it.
    #[error("the table {}", .columns.beside(&format!("{} does not have", .first.display()), &format!("{} has", .first.display())))]
    Columns {
        /// What it has and lacks.
        columns: OtherColumns,
        /// The file that it is compared with.
        first: PathBuf,
    },
    /// The file does not fit the files before it.
    #[error("{what} is {found}; in {}, which is read with it, {what} is {expected}", .first.display())]
    Differs {
        /// Such as `the shape of a sample`.
        what: &'static str,
        /// The file that was read first.
        first: PathBuf,
        /// As in the first file.
        expected: String,
        /// As in this file.
        found: String,
    },
}

/// Dimensions, as Python writes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape(pub Vec<usize>);

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dimensions: Vec<String> = self.0.iter().map(usize::to_string).collect();
        write!(f, "({})", dimensions.join(", "))
    }
}

impl Problem {
    /// The error of this problem in a file.
    pub fn in_file(self, file: &Path) -> SamplesError {
        SamplesError { file: file.to_owned(), problem: self }
    }

    /// Refuses a name that is `meant` but for its capitals.
    pub(crate) fn of_capitals(names: &[String], meant: &'static str) -> Result<(), Self> {
        let is_near = |name: &&String| name.as_str() != meant && name.eq_ignore_ascii_case(meant);
        match names.iter().find(is_near) {
            Some(found) if names.iter().all(|name| name != meant) => {
                Err(Self::Misspelt { found: found.clone(), meant })
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn malformed(format: &'static str, detail: impl fmt::Display) -> Self {
        Self::Malformed { format, detail: detail.to_string() }
    }
}

impl SamplesError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match &self.problem {
            Problem::Io(_) => "check that the file exists and may be read".to_owned(),
            Problem::NoMatch => "check the spelling; * stands for any characters within one name".to_owned(),
            Problem::UnknownFormat { .. } => {
                format!("name the file with one of the endings {}", crate::files::endings().join(", "))
            }
            Problem::Malformed { .. } => "write the file again with the program that made it".to_owned(),
            Problem::Missing { found, .. } if found.len() == 1 && found[0].contains([';', '\t']) => {
                "separate the values by commas: this file has semicolons or tabs".to_owned()
            }
            Problem::Missing { .. } => {
                "arrays are x, y and optionally device; tables have a column label and optionally device"
                    .to_owned()
            }
            Problem::Unnamed { .. } => {
                "name the column, or leave it out: pandas writes its index unless to_csv has index=False"
                    .to_owned()
            }
            Problem::Misspelt { meant, .. } => {
                format!("did you mean {meant}? Write it like this, or give it a name of its own")
            }
            Problem::TextLabel { .. } => "write classes as whole numbers from 0, in pandas with \
                 rows[\"label\"], names = pandas.factorize(rows[\"label\"], sort=True)"
                .to_owned(),
            Problem::Type { wanted, .. } => format!("convert it to {wanted} before saving"),
            Problem::Objects { .. } => {
                "save numbers, or strings of a fixed width (numpy.array(names, dtype=\"U\"))".to_owned()
            }
            Problem::Shape { wanted, .. } => wanted.clone(),
            Problem::Value { wanted, .. } => format!("replace it by {wanted}, or remove the sample"),
            Problem::Empty => "name a file with at least one sample".to_owned(),
            Problem::TooLarge { .. } => "use fewer samples, or bytes (uint8) instead of floats".to_owned(),
            Problem::Columns { .. } | Problem::Differs { .. } => {
                "files that are read together must have the same shape, type and columns".to_owned()
            }
        }
    }
}

/// At most ten names in a sentence.
pub(crate) fn listed(names: &[String]) -> String {
    let shown: Vec<String> =
        names.iter().take(10).map(|name| fedflip_fleet::printable(name).into_owned()).collect();
    match (names.len(), shown.len()) {
        (0, _) => "nothing".to_owned(),
        (all, some) if all > some => format!("{} and {} more", shown.join(", "), all - some),
        _ => shown.join(", "),
    }
}
