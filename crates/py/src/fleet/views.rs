//! Columns of numbers that numpy reads where they are.

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A column of a native object. `numpy.asarray` makes a read-only view of it, and the view keeps the object alive.
#[pyclass(frozen, module = "fedflip._fedflip")]
pub(crate) struct Column {
    address: usize,
    len: usize,
    /// Immutable, and never freed before its last view.
    _owner: Py<PyAny>,
}

impl Column {
    /// A column of `owner`, whose numbers neither move nor change while it lives.
    pub(crate) fn of<T>(owner: &Bound<'_, T>, numbers: &[f64]) -> Self {
        let address = numbers.as_ptr() as usize;
        Self { address, len: numbers.len(), _owner: owner.clone().into_any().unbind() }
    }
}

#[pymethods]
impl Column {
    /// The place, the type and the length of the numbers, as numpy asks for them.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        const READ_ONLY: bool = true;
        let byte_order = if cfg!(target_endian = "little") { "<f8" } else { ">f8" };
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", byte_order)?;
        interface.set_item("shape", (self.len,))?;
        interface.set_item("data", (self.address, READ_ONLY))?;
        Ok(interface)
    }

    fn __len__(&self) -> usize {
        self.len
    }
}
