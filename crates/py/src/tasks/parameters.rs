//! The parameters of tasks as Python values.

use fedflip_learn::task::{ParamKind, ParamValue, Sizes, Task, TaskError, TaskRow};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};

use super::refused_task;
use crate::error::Failure;

/// Name, sentence, allowed values and default of each parameter.
pub(super) fn describe<'py>(py: Python<'py>, row: &TaskRow) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let parameter = |param: &fedflip_learn::task::Param| {
        let dict = PyDict::new(py);
        dict.set_item("name", param.name)?;
        dict.set_item("about", param.about)?;
        dict.set_item("wanted", param.wanted())?;
        dict.set_item("default", value(py, &param.default)?)?;
        Ok(dict)
    };
    row.params.iter().map(parameter).collect()
}

fn value<'py>(py: Python<'py>, value: &ParamValue<'_>) -> PyResult<Bound<'py, PyAny>> {
    match value {
        ParamValue::Flag(flag) => flag.into_bound_py_any(py),
        ParamValue::Count(count) => count.into_bound_py_any(py),
        ParamValue::Number(number) => number.into_bound_py_any(py),
        ParamValue::Choice(name) => name.into_bound_py_any(py),
        ParamValue::Sizes(sizes) => sizes.as_slice().to_vec().into_bound_py_any(py),
    }
}

/// The task with the parameters of a dictionary.
pub(super) fn task_with(name: &str, parameters: &Bound<'_, PyDict>) -> Result<Task, Failure> {
    let py = parameters.py();
    let mut task = Task::by_name(name).map_err(|error| refused_task(py, &error))?;
    for (name, value) in parameters.iter() {
        let name: String = name.extract()?;
        set(&mut task, &name, &value)
            .map_err(|error| refused_task(py, &error).at(&name).of(py, value.clone()))?;
    }
    Ok(task)
}

fn set(task: &mut Task, name: &str, value: &Bound<'_, PyAny>) -> Result<(), TaskError> {
    let declared = task.row().params.iter().find(|param| param.name == name);
    let Some(param) = declared else {
        // The row refuses the name, whatever the value is.
        return task.set(name, ParamValue::Flag(false));
    };
    let wrong = || TaskError::BadParam {
        name: param.name,
        value: value.repr().map_or_else(|_| "something else".to_owned(), |text| text.to_string()),
        wanted: param.wanted(),
    };
    let is_flag = value.is_instance_of::<PyBool>();
    let choice: String;
    let value = match &param.kind {
        ParamKind::Flag => ParamValue::Flag(value.extract().map_err(|_| wrong())?),
        _ if is_flag => return Err(wrong()),
        ParamKind::Count(_) => ParamValue::Count(value.extract().map_err(|_| wrong())?),
        ParamKind::Number(_) => ParamValue::Number(value.extract().map_err(|_| wrong())?),
        ParamKind::Choice(_) => {
            choice = value.extract().map_err(|_| wrong())?;
            ParamValue::Choice(&choice)
        }
        ParamKind::Sizes(_) => {
            let list: Vec<usize> = value.extract().map_err(|_| wrong())?;
            ParamValue::Sizes(Sizes::new(&list).ok_or_else(wrong)?)
        }
    };
    task.set(name, value)
}
