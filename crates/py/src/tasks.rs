//! The built-in tasks and data sets.
//!
//! - `data`: the samples and the network of a task.
//! - `parameters`: the parameters of tasks as Python values; `datasets`: the catalogue and its files.

mod data;
mod datasets;
mod parameters;

use fedflip_datasets::DataError;
use fedflip_learn::LearnError;
use fedflip_learn::task::{Source, Task, TaskError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::Failure;

/// Adds what the module has to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(tasks, module)?)?;
    module.add_class::<data::TaskData>()?;
    datasets::register(module)
}

/// One dictionary for each built-in task.
#[pyfunction]
fn tasks(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let describe = |task: Task| {
        let row = task.row();
        let dict = PyDict::new(py);
        dict.set_item("name", row.name)?;
        dict.set_item("about", row.about)?;
        dict.set_item("parameters", parameters::describe(py, row)?)?;
        dict.set_item("sharings", row.sharings)?;
        dict.set_item("metrics", task.metrics())?;
        let (source, dataset) = match task.source() {
            Source::Synthetic(_) => ("synthetic", None),
            Source::DataSet(set) => ("dataset", Some(set.name)),
            _ => ("own", None),
        };
        dict.set_item("source", source)?;
        dict.set_item("dataset", dataset)?;
        Ok(dict)
    };
    Task::all().map(describe).collect()
}

/// An error of a data set as an `InputError` with place, value and remedy.
pub(crate) fn refused_data(py: Python<'_>, error: &DataError) -> Failure {
    let failure = Failure::input(error, error.hint());
    match error {
        DataError::UnknownName { given } => failure.at("name").of(py, given),
        DataError::Absent { name, folder } => {
            let remedy = format!(
                "get it with the command `fedflip data get {name}`, or name the folder that has it: data_dir"
            );
            Failure::input(error, remedy).at("data_dir").of(py, folder)
        }
        DataError::Missing { folder, .. } => failure.at("data_dir").of(py, folder),
        DataError::Length { file, .. }
        | DataError::Checksum { file, .. }
        | DataError::Swapped { file, .. }
        | DataError::Malformed { file, .. }
        | DataError::Io { file, .. } => failure.at(file).of(py, file),
        _ => failure,
    }
}

/// An error of a task as an `InputError` with place, value and remedy.
pub(crate) fn refused_task(py: Python<'_>, error: &TaskError) -> Failure {
    let failure = Failure::input(error, error.hint());
    match error {
        TaskError::Data(error) => refused_data(py, error),
        TaskError::Unknown { name } => failure.at("name").of(py, name),
        TaskError::UnknownParam { name, known } => match fedflip_fleet::nearest(name, known) {
            Some(meant) => Failure::input(error, format!("did you mean {meant}? {}", error.hint())).at(name),
            None => failure.at(name),
        },
        TaskError::BadParam { name, value, .. } => failure.at(name).of(py, value),
        TaskError::NoSuchSharing { sharing, .. } => failure.at("sharing").of(py, *sharing),
        TaskError::Partition(_) => failure.at("devices"),
        TaskError::Learn(LearnError::BadSetting { name, value, .. }) => failure.at(name).of(py, *value),
        _ => failure,
    }
}
