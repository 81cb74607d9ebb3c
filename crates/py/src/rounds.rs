//! Rounds that a program of Python runs itself, such as a Flower app: their clock, their records and their server.
//!
//! - `clock`: the virtual time of a round; `writer`: run folders; `optimiser`: what the server does with a sum.

mod clock;
mod optimiser;
mod writer;

use pyo3::prelude::*;

/// Adds what the module has to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<clock::PyVirtualClock>()?;
    module.add_class::<optimiser::PyServerOptimiser>()?;
    module.add_class::<writer::RunWriter>()
}
