//! All that can keep a report from being made.

use std::path::Path;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// Nothing to show.
    #[error("{folders}: no run that can be read, there or below")]
    NoRuns {
        /// Those that were named.
        folders: String,
        /// What was found instead, a line each.
        problems: Vec<String>,
    },
    /// The system said no.
    #[error("{path}: {action}: {source}")]
    Io {
        /// Which file.
        path: String,
        /// What was tried, such as `cannot be written`.
        action: &'static str,
        /// What the system says.
        source: std::io::Error,
    },
    /// A figure that cannot be turned into pixels.
    #[error("the figure {name} cannot be drawn: {problem}")]
    Draw {
        /// Which one.
        name: String,
        /// As the library says.
        problem: String,
    },
}

impl ReportError {
    /// For `map_err`, with the file and what was tried.
    pub fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::Io { path, action, source }
    }

    /// What to do.
    pub fn hint(&self) -> String {
        match self {
            Self::NoRuns { problems, .. } if !problems.is_empty() => {
                let mut lines = problems.clone();
                lines.push("name what --out was in run, compare or sweep, or a folder above".to_owned());
                lines.join("\n        ")
            }
            Self::NoRuns { .. } => {
                "name what --out was in run, compare or sweep: a folder with records.jsonl in it or below"
                    .to_owned()
            }
            Self::Io { .. } => "see that the place is there and can be read and written".to_owned(),
            Self::Draw { .. } => "--format svg writes it as text, which needs no drawing".to_owned(),
        }
    }
}
