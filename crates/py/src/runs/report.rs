//! Reports on run folders.

use std::path::PathBuf;

use fedflip_report::{Collection, FORMATS, Format, GivenTarget, Options, Report, ReportError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::Failure;

/// Adds what the module has to the extension module.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(report_formats, module)?)?;
    module.add_function(wrap_pyfunction!(render_report, module)?)
}

/// The formats of reports: name, ending of files, and whether the report is one file.
#[pyfunction]
fn report_formats() -> Vec<(&'static str, &'static str, bool)> {
    FORMATS.iter().map(|format| (format.name, format.extension, format.is_one_file())).collect()
}

/// Files with their paths, and problems.
type Rendered<'py> = (Vec<(String, Bound<'py, PyBytes>)>, Vec<String>);

/// A report on all runs at and below folders: files with their paths, and what could not be read, a sentence each. The one
/// file of a format has an empty path.
#[pyfunction]
#[pyo3(signature = (folders, format, title=None, reference=None, round=None, target=None))]
fn render_report<'py>(
    py: Python<'py>,
    folders: Vec<PathBuf>,
    format: &str,
    title: Option<&str>,
    reference: Option<&str>,
    round: Option<u64>,
    target: Option<&str>,
) -> PyResult<Rendered<'py>> {
    let (files, problems) = py.detach(move || {
        let unknown = || Failure::input(format!("there is no format {format:?}"), "").at("format");
        let format = Format::named(format).ok_or_else(unknown)?;
        let given = target.map(given_target).transpose()?;
        let refused = |error| refused(&error, target);
        let collection = Collection::read(&folders, round, given.as_ref()).map_err(refused)?;
        let report = Report::of(&collection, &Options { title, reference }).map_err(refused)?;
        Ok::<_, Failure>((format.files(&report).map_err(refused)?, collection.problems))
    })?;
    let files = files.into_iter().map(|file| (file.path, PyBytes::new(py, &file.bytes))).collect();
    Ok((files, problems))
}

fn given_target(text: &str) -> Result<GivenTarget, Failure> {
    text.parse().map_err(|remedy: &str| {
        let failure = Failure::input(format!("target: {text:?} is not a metric with a value"), remedy);
        Python::attach(|py| failure.at("target").of(py, text))
    })
}

/// The error for the caller, who gave this target.
fn refused(error: &ReportError, target: Option<&str>) -> Failure {
    match error {
        ReportError::NoRuns { problems, .. } => {
            let remedy = format!("name folders of runs that can be read ({})", problems.join("; "));
            Failure::input(error, remedy).at("runs")
        }
        ReportError::NoSuchScheme { scheme, nearest, known } => {
            let remedy = one_of(nearest.as_deref(), known);
            Python::attach(|py| Failure::input(error, remedy).at("reference").of(py, scheme))
        }
        ReportError::NoSuchMetric { nearest, known, .. } => {
            let remedy = one_of(nearest.as_deref(), known);
            Python::attach(|py| Failure::input(error, remedy).at("target").of(py, target))
        }
        ReportError::NoShare { metric, .. } => {
            let remedy = format!("give a share from 1e-9 to 1: 70 % {metric} is 0.7");
            Python::attach(|py| Failure::input(error, remedy).at("target").of(py, target))
        }
        _ => Failure::other(error, "choose another format"),
    }
}

fn one_of(nearest: Option<&str>, known: &[String]) -> String {
    nearest
        .map_or_else(|| format!("name one of {}", known.join(", ")), |name| format!("did you mean {name}?"))
}
