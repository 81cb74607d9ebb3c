//! Servers and devices of deployed runs.
//!
//! - `join`: a device; `training`: a Python learner on it; `calls`: calls of its threads to the thread of the caller.
//! - `deployment`: a server; `refusal`: why it cannot begin or continue.
//! - `logs`: the log of both, for Python's `logging`.

mod calls;
mod deployment;
mod join;
mod logs;
mod refusal;
mod training;

use pyo3::prelude::*;

/// Adds what the module has to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(join::join, module)?)?;
    module.add_function(wrap_pyfunction!(deployment::serve, module)?)
}
