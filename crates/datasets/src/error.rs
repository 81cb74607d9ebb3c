//! All that can be wrong with a data set.

use std::path::Path;

use fedflip_fleet::nearest;

use super::catalogue::SETS;

/// Why a data set cannot be had or read. The text names the file and what is wrong with it;
/// [`DataError::hint`] says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// Not the name of a data set.
    #[error("there is no data set {given:?}")]
    UnknownName {
        /// The name as the user wrote it.
        given: String,
    },
    /// The set is not in the data folder.
    #[error("{folder}: the data set {name} is missing")]
    Absent {
        /// The name of the data set.
        name: &'static str,
        /// Where it was looked for.
        folder: String,
    },
    /// A file that should be there is not.
    #[error("{folder}: there is no file {file}, neither plain, nor packed, nor in an archive")]
    Missing {
        /// The name of the file.
        file: String,
        /// Where it was looked for.
        folder: String,
    },
    /// A file is shorter or longer than it must be.
    #[error("{file}: {} {expected} bytes expected, {found} found", length_word(*.expected, *.found))]
    Length {
        /// The name of the file.
        file: String,
        /// How long it must be.
        expected: u64,
        /// How long it is (at least, if reading stopped early).
        found: u64,
    },
    /// The bytes are not those of the published file.
    #[error("{file}: wrong content: the MD5 sum is {found}, not {expected}")]
    Checksum {
        /// The name of the file.
        file: String,
        /// The published MD5 sum.
        expected: String,
        /// The sum of what is there.
        found: String,
    },
    /// A file that belongs to another name.
    #[error("{file}: this is {is} under another name")]
    Swapped {
        /// The name of the file.
        file: String,
        /// What it really is.
        is: String,
    },
    /// The bytes are not of this format.
    #[error("{file}: {problem}")]
    Malformed {
        /// The name of the file.
        file: String,
        /// The problem as the end of a sentence.
        problem: String,
    },
    /// The operating system refused an operation.
    #[error("{file}: cannot {action}: {source}")]
    Io {
        /// The file or folder.
        file: String,
        /// The operation that failed, as a verb.
        action: &'static str,
        /// What the system says.
        source: std::io::Error,
    },
    /// A program that downloads or unpacks is not there.
    #[error("{program} is not installed")]
    NoProgram {
        /// The name of the program.
        program: &'static str,
    },
    /// A program that downloads or unpacks did not do it.
    #[error("`{command}` {problem}")]
    Client {
        /// The command line that failed.
        command: String,
        /// How it ended, with the last it said.
        problem: String,
        /// Its exit code, if it had one.
        code: Option<i32>,
    },
    /// No address is known for this set.
    #[error("{name}: its authors publish no files to download")]
    NoAddress {
        /// The name of the data set.
        name: &'static str,
    },
    /// None of the sources has the data set.
    #[error("{name}: no source has this data set{}", .tried.iter().map(|line| format!("\n  {line}")).collect::<String>())]
    NoSource {
        /// The name of the data set.
        name: &'static str,
        /// Each source in the order tried, and why it failed.
        tried: Vec<String>,
    },
}

impl DataError {
    /// A remedy, without the flags and commands of any program.
    pub fn hint(&self) -> String {
        match self {
            Self::UnknownName { given } => {
                let names = SETS.map(|set| set.name);
                let near = nearest(given, names);
                let meant = near.map_or(String::new(), |near| format!("did you mean {near}? "));
                format!("{meant}The sets are {}", names.join(", "))
            }
            Self::Absent { name, .. } => format!("get the data set {name} first"),
            Self::Missing { .. } => {
                "name the folder that holds the files or the downloaded archive".to_owned()
            }
            Self::Length { .. } | Self::Checksum { .. } | Self::Malformed { .. } => {
                "the file is damaged or not the published one: remove it and get it again".to_owned()
            }
            Self::Swapped { .. } => "give the files their own names, or get them again".to_owned(),
            Self::Io { .. } => {
                "check the permissions and the free space of that folder, or choose another folder".to_owned()
            }
            Self::NoProgram { program } => {
                format!("install {program}, or get the files elsewhere and name their folder")
            }
            Self::Client { .. } => {
                "check the network connection, or get the files elsewhere and name their folder".to_owned()
            }
            Self::NoAddress { name } => {
                format!("get {name} by package, or name an address or a folder that has its files")
            }
            Self::NoSource { .. } => {
                "check the network connection, install a program that is missing, or get the \
                                      files elsewhere and name their folder"
                    .to_owned()
            }
        }
    }

    pub(super) fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let file = path.display().to_string();
        move |source| Self::Io { file, action, source }
    }

    pub(super) fn malformed(file: &str, problem: impl Into<String>) -> Self {
        Self::Malformed { file: file.to_owned(), problem: problem.into() }
    }
}

fn length_word(expected: u64, found: u64) -> &'static str {
    if found < expected { "truncated:" } else { "too long:" }
}
