//! The catalogue of data sets, and the samples in their files.

use std::path::PathBuf;

use fedflip_datasets::catalogue::SETS;
use fedflip_datasets::{Dataset, SetSpec, Split, load};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::data::sample_shape;
use super::refused_data;
use crate::call::data_folder;
use crate::error::Failure;

/// Adds what the module has to the extension module.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(datasets, module)?)?;
    module.add_class::<DataSet>()
}

/// One dictionary for each data set.
#[pyfunction]
fn datasets(py: Python<'_>, data_dir: Option<PathBuf>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let folder = data_folder(data_dir);
    let describe = |set: &SetSpec| {
        let dict = PyDict::new(py);
        dict.set_item("name", set.name)?;
        dict.set_item("about", set.about)?;
        dict.set_item("licence", set.licence)?;
        dict.set_item("bytes", set.bytes())?;
        dict.set_item("folder", folder.join(set.name).display().to_string())?;
        dict.set_item("present", load::is_present(set, &folder))?;
        Ok(dict)
    };
    SETS.into_iter().map(describe).collect()
}

/// A data set in memory.
#[pyclass(frozen, module = "fedflip._fedflip")]
pub(crate) struct DataSet {
    set: &'static SetSpec,
    samples: Dataset,
}

#[pymethods]
impl DataSet {
    /// Reads a data set and checks every byte of it.
    #[staticmethod]
    fn load(py: Python<'_>, name: &str, data_dir: Option<PathBuf>) -> PyResult<Self> {
        let set = SetSpec::by_name(name).map_err(|error| refused_data(py, &error))?;
        let folder = data_folder(data_dir);
        let samples = py.detach(|| load::load(set, &folder)).map_err(|error| refused_data(py, &error))?;
        Ok(Self { set, samples })
    }

    #[getter]
    fn name(&self) -> &'static str {
        self.set.name
    }

    #[getter]
    fn classes(&self) -> usize {
        self.samples.classes()
    }

    #[getter]
    fn sample_shape(&self) -> Vec<usize> {
        sample_shape(self.set, self.samples.sample_len())
    }

    /// The numbers of training samples and of test samples.
    #[getter]
    fn lengths(&self) -> (usize, usize) {
        (self.samples.len(Split::Train), self.samples.len(Split::Test))
    }

    /// Samples of a part by their numbers, or all of them, one a row, and their labels.
    #[expect(clippy::type_complexity, reason = "two arrays")]
    fn part<'py>(
        &self,
        py: Python<'py>,
        test: bool,
        numbers: Option<Vec<usize>>,
    ) -> PyResult<(Bound<'py, PyArray2<f32>>, Bound<'py, PyArray1<f32>>)> {
        let split = if test { Split::Test } else { Split::Train };
        let positions = self.positions(py, split, numbers)?;
        let sample_len = self.samples.sample_len();
        let (features, labels) = py.detach(|| {
            let mut features = vec![0.0; positions.len() * sample_len];
            let mut labels = vec![0.0; positions.len()];
            self.samples.write_batch(&positions, &mut features, &mut labels);
            (features, labels)
        });
        let features = PyArray1::from_vec(py, features).reshape([labels.len(), sample_len])?;
        Ok((features, PyArray1::from_vec(py, labels)))
    }
}

impl DataSet {
    fn positions(
        &self,
        py: Python<'_>,
        split: Split,
        numbers: Option<Vec<usize>>,
    ) -> Result<Vec<u32>, Failure> {
        let all: Vec<u32> = self.samples.positions(split).collect();
        let Some(numbers) = numbers else { return Ok(all) };
        let position = |number: usize| {
            all.get(number).copied().ok_or_else(|| {
                let problem = format!("numbers: there is no sample {number} among {}", all.len());
                let remedy = format!("numbers run from 0 to {}", all.len().saturating_sub(1));
                Failure::input(problem, remedy).at("numbers").of(py, number)
            })
        };
        numbers.into_iter().map(position).collect()
    }
}
