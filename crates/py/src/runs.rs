//! Runs in folders and in memory: records, models and reports.
//!
//! - `folder`: what a run folder holds, and which runs are below a folder that holds none.
//! - `models`: the models of a run, from its files, its checkpoint or memory.
//! - `state`: a run as plain values, for pickling, and as a run folder.
//! - `report`: reports on run folders.

mod folder;
mod models;
mod report;
mod state;

use std::path::PathBuf;
use std::sync::Arc;

use fedflip_fleet::{Fleet, ModelVector};
use fedflip_learn::layer::ParamSpec;
use fedflip_plan::Scheme;
use fedflip_record::export::Table;
use fedflip_record::reader::Records;
use fedflip_record::{Fold, Line};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::Failure;
use crate::fleet::PyFleet;
use crate::tables::TableData;
use models::{Models, Tensors};

/// Adds what the module has to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<RunData>()?;
    report::register(module)
}

/// A part of a run that may be missing, with the reason in words.
type Part<T> = Result<T, String>;

/// A run: its records, its devices, its scenario and its models.
#[pyclass(frozen, module = "fedflip._fedflip")]
pub(crate) struct RunData {
    records: Records,
    /// The last round before the present plan; 0 if there was no other plan.
    planned_after: u64,
    /// The text of `run.toml`.
    run_toml: Part<String>,
    fleet: Part<Arc<Fleet>>,
    /// The share of the rounds in which each device is to take part.
    q: Part<Vec<f64>>,
    models: Models,
}

impl RunData {
    /// A run without a folder: its records, its devices and their mean q, its scenario as `run.toml` has it, and its model.
    pub(crate) fn in_memory(
        records: Records,
        fleet: Arc<Fleet>,
        q: Vec<f64>,
        run_toml: String,
        params: Vec<(String, ParamSpec)>,
        model: Arc<ModelVector>,
    ) -> Self {
        let models = Models::Memory { model: Some(Tensors { params, numbers: model }), best: None };
        Self { records, planned_after: 0, run_toml: Ok(run_toml), fleet: Ok(fleet), q: Ok(q), models }
    }

    fn scheme(&self) -> Option<Scheme> {
        self.records.header.scheme.parse().ok()
    }

    fn names(&self) -> Vec<Arc<str>> {
        let names =
            |fleet: &Arc<Fleet>| (0..fleet.len()).map(|device| Arc::from(fleet.name(device))).collect();
        self.fleet.as_ref().map(names).unwrap_or_default()
    }
}

#[pymethods]
impl RunData {
    /// Reads the run in a folder. Its models are read when they are asked for.
    #[staticmethod]
    fn from_folder(py: Python<'_>, folder: PathBuf) -> PyResult<Self> {
        Ok(py.detach(move || folder::read(&folder))?)
    }

    /// Makes a run of the values of `state`.
    #[staticmethod]
    fn from_state(py: Python<'_>, values: state::Values) -> PyResult<Self> {
        Ok(py.detach(|| state::restored(values))?)
    }

    /// All of the run as plain values.
    fn state(&self, py: Python<'_>) -> PyResult<state::Values> {
        Ok(py.detach(|| state::values(self))?)
    }

    /// The number of rounds.
    fn __len__(&self) -> usize {
        self.records.rounds.len()
    }

    /// The first line of the records as JSON.
    #[getter]
    fn header(&self) -> PyResult<String> {
        json(serde_json::to_string(&self.records.header))
    }

    /// The run in a few numbers, as JSON.
    #[getter]
    fn summary(&self) -> PyResult<String> {
        let mut fold = Fold::new(&self.records.header);
        self.records.initial.iter().for_each(|initial| fold.initial(initial));
        self.records.rounds.iter().for_each(|round| fold.round(round));
        self.records.end.iter().for_each(|end| fold.end(end));
        json(serde_json::to_string(&fold.summary))
    }

    /// The last line of the records as JSON; none if the run was interrupted.
    #[getter]
    fn end(&self) -> PyResult<Option<String>> {
        self.records.end.as_ref().map(|end| json(serde_json::to_string(end))).transpose()
    }

    /// The end in words: the end of a sentence that begins with the run.
    #[getter]
    fn end_in_words(&self) -> Option<&'static str> {
        let deployed = self.records.header.deployed.is_some();
        self.records.end.as_ref().map(|end| end.reason.in_words(deployed))
    }

    /// Whether there are rounds; under a scheme without them, a round of the records is a step of the server.
    #[getter]
    fn has_rounds(&self) -> bool {
        let buffered = |scheme: Scheme| scheme.method().buffer().is_some();
        !self.scheme().is_some_and(buffered) && self.records.rounds.iter().all(|round| round.lags.is_empty())
    }

    /// Whether q is known before a run: not where there are no rounds, and not where reports of devices decide.
    #[getter]
    fn has_q(&self) -> bool {
        let depends = |scheme: Scheme| scheme.method().depends_on_reports();
        self.has_rounds() && !self.scheme().is_some_and(depends)
    }

    /// The last round before the present plan; 0 if there was no other plan.
    #[getter]
    fn planned_after(&self) -> u64 {
        self.planned_after
    }

    /// The text of `run.toml`.
    #[getter]
    fn run_toml(&self) -> PyResult<String> {
        Ok(self.run_toml.clone().map_err(|problem| missing(&problem))?)
    }

    /// The mean q of each device.
    #[getter]
    fn q<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let q = self.q.as_ref().map_err(|problem| missing(problem))?;
        let array = PyArray1::from_slice(py, q);
        array.readwrite().make_nonwriteable();
        Ok(array)
    }

    /// Whether the devices of the run are known.
    #[getter]
    fn has_fleet(&self) -> bool {
        self.fleet.is_ok()
    }

    /// The devices of the run.
    #[getter]
    fn fleet(&self) -> PyResult<PyFleet> {
        Ok(PyFleet(Arc::clone(self.fleet.as_ref().map_err(|problem| missing(problem))?)))
    }

    /// A row for each round.
    fn rounds(&self, py: Python<'_>) -> PyResult<TableData> {
        Ok(py.detach(|| TableData::new(Table::rounds(&self.records)))?)
    }

    /// A row for each device in each round that it took part in.
    fn participants(&self, py: Python<'_>) -> PyResult<TableData> {
        Ok(py.detach(|| TableData::new(Table::participants(&self.records, &self.names())))?)
    }

    /// A row for each evaluation.
    fn evaluations(&self, py: Python<'_>) -> PyResult<TableData> {
        Ok(py.detach(|| TableData::new(Table::evaluations(&self.records)))?)
    }

    /// Who did what when in some rounds, which are counted from 1.
    fn times(&self, py: Python<'_>, rounds: Vec<usize>) -> PyResult<TableData> {
        let fleet = self.fleet.as_ref().ok().map(Arc::as_ref);
        let all = &self.records.rounds;
        let chosen = rounds.into_iter().filter_map(|round| all.get(round.checked_sub(1)?));
        Ok(py.detach(|| TableData::new(Table::times(chosen, fleet)))?)
    }

    /// The tensors of the last model by name.
    fn model<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tensors = py.detach(|| self.models.last(&self.records))?;
        tensors.to_dict(py)
    }

    /// The tensors of the best model by name; none if no best model was kept.
    fn best_model<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let tensors = py.detach(|| self.models.best())?;
        tensors.map(|tensors| tensors.to_dict(py)).transpose()
    }

    /// The last model as the bytes of a safetensors file.
    fn safetensors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.models.last(&self.records)?.to_bytes())?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes the run into a new folder, for programs that read run folders.
    fn write_folder(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        Ok(py.detach(move || state::write_folder(self, &folder))?)
    }
}

/// The lines of the records, as a file has them.
fn lines(records: &Records) -> impl Iterator<Item = Line> {
    let header = std::iter::once(Line::Header(records.header.clone()));
    let initial = records.initial.clone().map(Line::Initial);
    let rounds = records.rounds.iter().cloned().map(Line::Round);
    let end = records.end.clone().map(Line::End);
    header.chain(initial).chain(rounds).chain(end)
}

fn json(text: serde_json::Result<String>) -> PyResult<String> {
    Ok(text.map_err(|error| Failure::other(format!("the records cannot be shown: {error}"), ""))?)
}

fn missing(problem: &str) -> Failure {
    Failure::other(problem, "restore the file from a copy; all other parts of the run can be read")
}
