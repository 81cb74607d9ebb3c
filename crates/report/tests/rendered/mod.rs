//! Reports in all formats.

use fedflip_report::{Collection, Format, Options, OutputFile, Report};

fn report(collection: &Collection, title: Option<&str>) -> Report {
    Report::of(collection, &Options { title, reference: None }).unwrap()
}

/// The report of a collection in a format.
pub(crate) fn files(collection: &Collection, format: &str) -> Vec<OutputFile> {
    Format::named(format).unwrap().files(&report(collection, None)).unwrap()
}

/// The one page of a collection.
pub(crate) fn html(collection: &Collection, title: Option<&str>) -> String {
    let mut files = Format::named("html").unwrap().files(&report(collection, title)).unwrap();
    String::from_utf8(files.remove(0).bytes).unwrap()
}
