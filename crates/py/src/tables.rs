//! Record batches of Arrow for whoever reads the PyCapsule interface.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, LargeStringArray, RecordBatch,
    RecordBatchIterator, RecordBatchOptions,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use fedflip_record::export::{Column, Table};
use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PyString};

use crate::error::Failure;

/// Adds what the module has to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<TableData>()
}

/// Named columns of one length, as one record batch of Arrow.
#[pyclass(frozen, module = "fedflip._fedflip")]
pub(crate) struct TableData {
    batch: RecordBatch,
}

impl TableData {
    /// The table of an export, whose numbers are not copied.
    pub(crate) fn new(table: Table) -> Result<Self, Failure> {
        let rows = table.rows();
        let columns = table.columns.into_iter().map(|(name, column)| {
            let (array, nullable): (ArrayRef, bool) = match column {
                Column::Whole(values) => (Arc::new(Int64Array::from(values)), false),
                Column::Number(values) => (Arc::new(Float64Array::from(values)), false),
                Column::Optional(values) => (Arc::new(Float64Array::from(values)), true),
                Column::Text(values) => (Arc::new(LargeStringArray::from_iter_values(values)), false),
            };
            (name, array, nullable)
        });
        Self::of(columns, rows)
    }

    fn of(columns: impl Iterator<Item = (String, ArrayRef, bool)>, rows: usize) -> Result<Self, Failure> {
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns
            .map(|(name, array, nullable)| (Field::new(name, array.data_type().clone(), nullable), array))
            .unzip();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options);
        Ok(Self { batch: batch.map_err(|error| refused(&error))? })
    }

    fn column(&self, name: &str) -> Result<&ArrayRef, Failure> {
        let found = self.batch.column_by_name(name);
        found.ok_or_else(|| Failure::input(format!("the table has no column {name:?}"), ""))
    }
}

#[pymethods]
impl TableData {
    /// Makes a table of columns: each a name, an array of numbers or booleans or a list of words, and whether values may be
    /// missing. A number that may be missing is NaN where it is; a word is None.
    #[staticmethod]
    fn from_columns(columns: Vec<(String, Bound<'_, PyAny>, bool)>, rows: usize) -> PyResult<Self> {
        let arrays = columns.into_iter().map(|(name, values, nullable)| {
            let array = array_of(&name, &values, nullable)?;
            Ok((name, array, nullable))
        });
        let arrays: Vec<_> = arrays.collect::<Result<_, Failure>>()?;
        Ok(Self::of(arrays.into_iter(), rows)?)
    }

    /// The names of the columns, in their order.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Whether values of a column may be missing.
    fn is_nullable(&self, name: &str) -> PyResult<bool> {
        let schema = self.batch.schema_ref();
        let field = schema.field_with_name(name).map_err(|error| refused(&error))?;
        Ok(field.is_nullable())
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The values of a column: a read-only array of numbers or booleans, or a list of words. A missing number is NaN.
    fn values<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let column = self.column(name)?;
        match column.data_type() {
            DataType::Int64 => Ok(read_only(py, column.as_primitive::<Int64Type>().values().to_vec())),
            DataType::Float64 => {
                let numbers = column.as_primitive::<Float64Type>();
                let or_nan = |number: Option<f64>| number.unwrap_or(f64::NAN);
                Ok(match numbers.null_count() {
                    0 => read_only(py, numbers.values().to_vec()),
                    _ => read_only(py, numbers.iter().map(or_nan).collect()),
                })
            }
            DataType::Boolean => {
                Ok(read_only(py, column.as_boolean().iter().map(Option::unwrap_or_default).collect()))
            }
            _ => Ok(words(py, column.as_string::<i64>())?.into_any()),
        }
    }

    /// The schema for readers of Arrow.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema =
            FFI_ArrowSchema::try_from(self.batch.schema_ref().as_ref()).map_err(|error| refused(&error))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// A new stream over all rows for readers of Arrow. The columns are shared and not copied; no other schema is offered.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The protocol lets a producer keep its own schema.
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }
}

fn refused(error: &ArrowError) -> Failure {
    Failure::input(
        format!("the table cannot be made: {error}"),
        "give columns of one length with names of their own",
    )
    .at("columns")
}

/// An array of Arrow of what Python has.
fn array_of(name: &str, values: &Bound<'_, PyAny>, nullable: bool) -> Result<ArrayRef, Failure> {
    if let Ok(numbers) = values.extract::<PyReadonlyArray1<'_, i64>>() {
        return Ok(Arc::new(Int64Array::from_iter_values(numbers.as_array().iter().copied())));
    }
    if let Ok(numbers) = values.extract::<PyReadonlyArray1<'_, f64>>() {
        let numbers = numbers.as_array();
        let or_missing = |number: &f64| (!nullable || !number.is_nan()).then_some(*number);
        return Ok(Arc::new(numbers.iter().map(or_missing).collect::<Float64Array>()));
    }
    if let Ok(flags) = values.extract::<PyReadonlyArray1<'_, bool>>() {
        return Ok(Arc::new(flags.as_array().iter().copied().map(Some).collect::<BooleanArray>()));
    }
    if let Ok(words) = values.extract::<Vec<Option<String>>>() {
        return Ok(Arc::new(LargeStringArray::from(words)));
    }
    let problem = format!("column {name:?} holds neither numbers, nor booleans, nor words");
    let remedy = "give an array of int64, float64 or bool, or a list of str";
    Err(Failure::input(problem, remedy).at(format!("columns[{name:?}]")))
}

/// A numpy array that nobody writes to by mistake.
fn read_only<T: Element>(py: Python<'_>, values: Vec<T>) -> Bound<'_, PyAny> {
    let array = PyArray1::from_vec(py, values);
    array.readwrite().make_nonwriteable();
    array.into_any()
}

/// A list of words, of which many are the same: each is one object.
fn words<'py>(py: Python<'py>, column: &LargeStringArray) -> PyResult<Bound<'py, PyList>> {
    let mut known: BTreeMap<&str, Bound<'py, PyString>> = BTreeMap::new();
    let list = PyList::empty(py);
    for word in column {
        let object = word.map(|word| &*known.entry(word).or_insert_with(|| PyString::new(py, word)));
        list.append(object)?;
    }
    Ok(list)
}
