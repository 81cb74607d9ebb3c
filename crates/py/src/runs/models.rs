//! The models of a run, from its files, its checkpoint or memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fedflip_engine::State;
use fedflip_engine::optimiser::AVERAGE;
use fedflip_fleet::ModelVector;
use fedflip_learn::layer::ParamSpec;
use fedflip_learn::model_file;
use fedflip_record::folder::{self, BEST, MODEL, RUN};
use fedflip_record::reader::Records;
use fedflip_record::{Header, RecordError};
use fedflip_scenario::Scenario;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::Failure;
use crate::learner::specs;

/// The models that a server of real devices keeps between rounds.
const ROUND_MODELS: &str = "models";
/// The name of all parameters of a network that follows from data, which are not read here.
const PARAMETERS: &str = "model";

/// Where the models of a run are.
pub(super) enum Models {
    /// In the run's folder, until they are asked for.
    Folder(PathBuf),
    /// Both models are in memory.
    Memory { model: Option<Tensors>, best: Option<Tensors> },
}

/// A model: names and shapes, and all numbers one after the other.
#[derive(Clone)]
pub(super) struct Tensors {
    pub(super) params: Vec<(String, ParamSpec)>,
    pub(super) numbers: Arc<ModelVector>,
}

impl Models {
    /// The model at the end of the run, or at the last checkpoint of a run that was interrupted.
    pub(super) fn last(&self, records: &Records) -> Result<Tensors, Failure> {
        match self {
            Self::Memory { model: Some(model), .. } => Ok(model.clone()),
            Self::Memory { model: None, .. } => Err(no_model("the run")),
            Self::Folder(folder) if records.end.is_some() => {
                Tensors::read(&folder.join(MODEL))?.ok_or_else(|| no_model(folder.display()))
            }
            Self::Folder(folder) => match round_model(folder, records.rounds.len() as u64)? {
                Some(path) => deployed(folder, &path),
                None => checkpointed(folder, &records.header),
            },
        }
    }

    /// The best model, if the run kept one.
    pub(super) fn best(&self) -> Result<Option<Tensors>, Failure> {
        match self {
            Self::Memory { best, .. } => Ok(best.clone()),
            Self::Folder(folder) => Tensors::read(&folder.join(BEST)),
        }
    }
}

impl Tensors {
    /// The model of a safetensors file; none if there is no such file.
    fn read(path: &Path) -> Result<Option<Self>, Failure> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(RecordError::io(path, "cannot be read")(error).into()),
        };
        Self::from_bytes(&bytes, &path.display().to_string()).map(Some)
    }

    /// The model in the bytes of a safetensors file.
    pub(super) fn from_bytes(bytes: &[u8], file: &str) -> Result<Self, Failure> {
        let params = specs(model_file::tensors(bytes, file)?);
        let numbers = model_file::read(&params, bytes, file)?;
        Ok(Self { params, numbers: Arc::new(ModelVector::new(numbers)) })
    }

    /// The bytes of a safetensors file.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, Failure> {
        Ok(model_file::write(&self.params, self.numbers.as_slice())?)
    }

    /// Read-only arrays by name, in the order of the names.
    pub(super) fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut rest = self.numbers.as_slice();
        let mut arrays = Vec::with_capacity(self.params.len());
        for (name, spec) in &self.params {
            let (numbers, after) = rest.split_at_checked(spec.len()).ok_or_else(|| self.wrong_length())?;
            rest = after;
            let array = PyArray1::from_slice(py, numbers);
            array.readwrite().make_nonwriteable();
            arrays.push((name, array.reshape(spec.shape.clone())?));
        }
        arrays.sort_by_key(|(name, _)| *name);
        let dict = PyDict::new(py);
        arrays.into_iter().try_for_each(|(name, array)| dict.set_item(name, array))?;
        Ok(dict)
    }

    fn wrong_length(&self) -> Failure {
        let problem =
            format!("the model has {} parameters, and its tensors have more", self.numbers.as_slice().len());
        Failure::other(problem, "restore the run folder from a copy")
    }
}

/// The newest model that a server of real devices wrote by a round. A server that was killed may leave a model behind whose
/// round was not committed; one that has continued since keeps only newer models.
fn round_model(folder: &Path, rounds: u64) -> Result<Option<PathBuf>, Failure> {
    let folder = folder.join(ROUND_MODELS);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(RecordError::io(&folder, "cannot be read")(error).into()),
    };
    let of_round = |path: PathBuf| {
        let stem = path.file_name()?.to_str()?.strip_suffix(".safetensors")?;
        Some((stem.parse::<u64>().ok()?, path))
    };
    let mut found: Vec<(u64, PathBuf)> =
        entries.filter_map(Result::ok).filter_map(|entry| of_round(entry.path())).collect();
    found.sort_unstable();
    let committed = found.iter().rposition(|(round, _)| *round <= rounds);
    Ok(committed.map(|place| found.swap_remove(place)).or_else(|| found.pop()).map(|(_, path)| path))
}

/// The result among a server's model and the vectors that are kept with it.
fn deployed(folder: &Path, path: &Path) -> Result<Tensors, Failure> {
    let Some(all) = Tensors::read(path)? else { return Err(no_model(folder.display())) };
    let scenario = Scenario::read(&folder.join(RUN), &[])?;
    let kept = scenario.server.optimiser().names();
    let result = if kept.contains(&AVERAGE) { Some(AVERAGE) } else { None };
    let mut at = 0;
    let (mut params, mut numbers) = (Vec::new(), Vec::new());
    for (name, spec) in all.params {
        let end = at + spec.len();
        let vector = name.split_once('/').filter(|(vector, _)| kept.contains(vector));
        let own_name = vector.map_or(name.as_str(), |(_, rest)| rest);
        if vector.map(|(vector, _)| vector) == result {
            numbers.extend_from_slice(all.numbers.as_slice().get(at..end).unwrap_or_default());
            params.push((own_name.to_owned(), spec));
        }
        at = end;
    }
    Ok(Tensors { params, numbers: Arc::new(ModelVector::new(numbers)) })
}

/// The result at the last checkpoint of a simulated run.
fn checkpointed(folder: &Path, header: &Header) -> Result<Tensors, Failure> {
    let Some(checkpoint) = folder::last_checkpoint(folder)? else { return Err(no_model(folder.display())) };
    let scenario = Scenario::read(&folder.join(RUN), &[])?;
    let state = State::resumed(checkpoint, header.parameters, &scenario.server.optimiser());
    let state = state.ok_or_else(|| {
        let problem = format!("{}: the checkpoint is not one of this run", folder.display());
        Failure::other(problem, "restore the folder from a copy, or run again in another folder")
    })?;
    let network = || scenario.task.network().map(|network| network.params());
    let params = match scenario.external()? {
        Some(task) => task.params().to_vec(),
        None => network().unwrap_or_default(),
    };
    let fits = params.iter().map(|(_, spec)| spec.len()).sum::<usize>() == header.parameters;
    let flat = || specs(vec![(PARAMETERS.to_owned(), vec![header.parameters])]);
    Ok(Tensors { params: if fits { params } else { flat() }, numbers: Arc::clone(state.result()) })
}

fn no_model(run: impl std::fmt::Display) -> Failure {
    let remedy = "archives of runs keep no models; run the scenario again to have one";
    Failure::other(format!("{run}: there is no model"), remedy)
}
