//! A report in every format: a renderer per file, and a row per format in [`FORMATS`]. A figure is SVG already.
//!
//! A new format is one file here and one row of the table.

mod csv;
mod html;
mod html_blocks;
mod json;
mod latex;
mod markdown;
mod pdf;
mod png;
pub(crate) mod text;
mod vector;

use std::collections::BTreeSet;

use crate::chart::figure::Figure;
use crate::error::ReportError;
use crate::model::{GroupPart, Report};
use crate::table::Table;

/// A format that a report can be written in.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// As people type it.
    pub name: &'static str,
    /// The end of the files' names.
    pub extension: &'static str,
    /// What is written, for `--help`.
    pub about: &'static str,
    /// The file or folder that is written unless another one is named; none is standard output.
    pub default_out: Option<&'static str>,
    renders: Renders,
}

/// What becomes a file.
#[derive(Clone, Copy, Debug)]
enum Renders {
    Whole(fn(&Report) -> String),
    EachTable { with_data: bool, render: fn(&Table) -> String },
    EachFigure(fn(&Figure) -> Result<Vec<u8>, ReportError>),
}

use Renders::{EachFigure, EachTable, Whole};

/// All formats; the first one is the default.
#[rustfmt::skip]
pub const FORMATS: &[Format] = &[
    Format { name: "html",  extension: "html", about: "One page without other files",                    default_out: Some("report.html"), renders: Whole(html::render) },
    Format { name: "svg",   extension: "svg",  about: "One file per figure, for web pages",                  default_out: Some("figures"),     renders: EachFigure(|figure| Ok(figure.standalone().into_bytes())) },
    Format { name: "pdf",   extension: "pdf",  about: "One file per figure, as vectors for papers",          default_out: Some("figures"),     renders: EachFigure(pdf::render) },
    Format { name: "png",   extension: "png",  about: "One file per figure, in pixels",                      default_out: Some("figures"),     renders: EachFigure(png::render) },
    Format { name: "md",    extension: "md",   about: "All tables as Markdown",                              default_out: None,                renders: Whole(markdown::render) },
    Format { name: "text",  extension: "txt",  about: "All tables for a terminal",                           default_out: None,                renders: Whole(text::render) },
    Format { name: "latex", extension: "tex",  about: "One file per table, with booktabs, for papers",       default_out: Some("tables"),      renders: EachTable { with_data: false, render: latex::render } },
    Format { name: "csv",   extension: "csv",  about: "One file per table, and the numbers behind figures",  default_out: Some("tables"),      renders: EachTable { with_data: true, render: csv::render } },
    Format { name: "json",  extension: "json", about: "All tables as one JSON object",                       default_out: None,                renders: Whole(json::render) },
];

/// A file to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFile {
    /// From the folder that is written to; empty for the one file that a format makes.
    pub path: String,
    /// The complete content of the file.
    pub bytes: Vec<u8>,
}

impl Format {
    /// The format of a name in [`FORMATS`].
    pub fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// The format whose files have this ending.
    pub fn of_extension(extension: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.extension == extension)
    }

    /// Whether it is one file rather than a folder of files.
    pub fn is_one_file(&self) -> bool {
        matches!(self.renders, Whole(_))
    }

    /// The report as files. The same report gives the same bytes.
    pub fn files(&self, report: &Report) -> Result<Vec<OutputFile>, ReportError> {
        if let Whole(render) = self.renders {
            return Ok(vec![OutputFile { path: String::new(), bytes: render(report).into_bytes() }]);
        }
        let mut files = Vec::new();
        let mut add = |group: Option<&GroupPart>, name: &str, bytes: Vec<u8>| {
            let folder = group.map_or("", |group| &group.folder);
            files.push(OutputFile { path: format!("{folder}{name}.{}", self.extension), bytes });
        };
        for (group, section) in report.sections() {
            match self.renders {
                Whole(_) => {}
                EachTable { with_data, render } => {
                    for table in section.tables(with_data) {
                        add(group, &table.name, render(table).into_bytes());
                    }
                }
                EachFigure(render) => {
                    for figure in section.figures() {
                        add(group, &figure.name, render(figure)?);
                    }
                }
            }
        }
        Ok(unique(files))
    }
}

/// Gives every file a name of its own: what tells two apart may have been cut off, or be no letters at all.
fn unique(files: Vec<OutputFile>) -> Vec<OutputFile> {
    let mut taken = BTreeSet::new();
    let rename = |mut file: OutputFile| {
        let (stem, ending) = file.path.rsplit_once('.').unwrap_or((&file.path, ""));
        let (stem, ending) = (stem.to_owned(), ending.to_owned());
        let mut number = 2_usize;
        while !taken.insert(file.path.clone()) {
            file.path = format!("{stem}-{number}.{ending}");
            number += 1;
        }
        file
    };
    files.into_iter().map(rename).collect()
}
