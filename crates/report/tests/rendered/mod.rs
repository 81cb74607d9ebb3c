//! Reports in all formats.

use fedflip_report::{Collection, Format, OutputFile, Report};

/// The report of a collection in a format.
pub(crate) fn files(collection: &Collection, format: &str) -> Vec<OutputFile> {
    Format::named(format).unwrap().files(&Report::of(collection, None)).unwrap()
}

/// The one page of a collection.
pub(crate) fn html(collection: &Collection, title: Option<&str>) -> String {
    let mut files = Format::named("html").unwrap().files(&Report::of(collection, title)).unwrap();
    String::from_utf8(files.remove(0).bytes).unwrap()
}
