//! The command line as a function.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Adds what the module has to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(run_command_line, module)?)
}

/// Does what the words of a command line ask for, the name of the program first, and returns the exit code. The words
/// of `program` start the command line in another process.
#[pyfunction]
fn run_command_line(py: Python<'_>, program: Vec<OsString>, words: Vec<OsString>) -> u8 {
    py.detach(|| fedflip::run_inside(program, words))
}
