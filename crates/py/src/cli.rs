//! The command line as a function.

use std::ffi::OsString;
use std::sync::Arc;

use fedflip::CrewRequest;
use fedflip_run::Crews;
use pyo3::prelude::*;

use crate::hosted::PyCrews;

/// Adds what the module has to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(run_command_line, module)?)
}

/// Does what the words of a command line ask for, the name of the program first, and returns the exit code. The words
/// of `program` start the command line in another process. `crews` makes an object `Crews` of what a request says.
#[pyfunction]
fn run_command_line(py: Python<'_>, program: Vec<OsString>, words: Vec<OsString>, crews: Py<PyAny>) -> u8 {
    let make = move |request: &CrewRequest<'_>| Python::attach(|py| made(py, &crews, request));
    py.detach(|| fedflip::run_inside(program, words, Box::new(make)))
}

/// The crew that a person asked for, or the problem and the remedy of the exception.
fn made(
    py: Python<'_>,
    crews: &Py<PyAny>,
    request: &CrewRequest<'_>,
) -> Result<Arc<dyn Crews>, (String, String)> {
    let CrewRequest { kind, address, workers, data_dir, mixed } = *request;
    let made = || -> PyResult<Arc<dyn Crews>> {
        let made = crews.bind(py).call1((kind, address, workers, data_dir, mixed))?;
        let made = made.cast::<PyCrews>()?;
        Ok(Arc::clone(&made.get().0) as Arc<dyn Crews>)
    };
    made().map_err(|error| {
        let value = error.value(py);
        let text = |name: &str| value.getattr(name).and_then(|text| text.extract::<String>());
        let problem = text("problem").unwrap_or_else(|_| error.to_string());
        (problem, text("remedy").unwrap_or_default())
    })
}
