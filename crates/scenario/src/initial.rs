//! The model that a run begins with, from a file; and what an external task takes from it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use fedflip_fleet::ModelVector;
use fedflip_learn::layer::ParamSpec;
use fedflip_learn::task::{ExternalTask, TaskError};
use fedflip_learn::{LearnError, model_file};
use sha2::{Digest, Sha256};

use crate::Scenario;
use crate::error::{KeyError, Place, Refusal};
use crate::resolve::Keys;

/// The largest file: a billion parameters and their names.
const FILE_BYTES_MAX: u64 = 4_100_000_000;

/// A model in a file, as a scenario names it.
#[derive(Clone, Debug, PartialEq)]
pub struct InitialModel {
    /// The path in the scenario.
    pub name: String,
    /// The content of the file, for a copy in the run's folder.
    pub bytes: Vec<u8>,
    /// The digest of the content, in hexadecimal.
    pub sha256: String,
}

impl InitialModel {
    /// The name of the copy in a run's folder.
    pub const COPY: &str = "initial.safetensors";

    pub(crate) fn read(path: &Path, name: &str) -> Result<Self, Refusal> {
        let refuse = |problem: String| Refusal {
            problem: format!("{} {problem}", path.display()),
            hint: "name a safetensors file from the scenario's folder".to_owned(),
        };
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes));
        read.map_err(|error| refuse(format!("cannot be read: {error}")))?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(refuse(format!("is larger than {FILE_BYTES_MAX} bytes")));
        }
        Ok(Self::new(name, bytes))
    }

    /// The content of a safetensors file.
    pub fn new(name: &str, bytes: Vec<u8>) -> Self {
        let sha256 = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        Self { name: name.to_owned(), bytes, sha256 }
    }

    /// The model, if its tensors are `params` and its numbers are finite.
    pub fn model(&self, params: &[(String, ParamSpec)]) -> Result<ModelVector, LearnError> {
        let model = model_file::read(params, &self.bytes, &self.name)?;
        match model.iter().all(|number| number.is_finite()) {
            true => Ok(ModelVector::new(model)),
            false => Err(LearnError::ModelFile {
                file: self.name.clone(),
                problem: "it holds a number that is not finite".to_owned(),
            }),
        }
    }
}

impl Scenario {
    /// What devices are told about an external task; none of a task that fedflip includes.
    pub fn external(&self) -> Result<Option<ExternalTask>, TaskError> {
        let (true, Some(initial)) = (self.task.is_external(), &self.initial) else { return Ok(None) };
        let settings = self.external_settings.iter().map(|(key, value)| format!("{key} = {value}\n"));
        let tensors = model_file::tensors(&initial.bytes, &initial.name)?;
        ExternalTask::new(settings.collect(), tensors).map(Some)
    }

    /// The model of the scenario's `initial`, if it has one; `params` are the tensors of the network.
    pub fn initial_model(&self, params: &[(String, ParamSpec)]) -> Result<Option<ModelVector>, LearnError> {
        self.initial.as_ref().map(|initial| initial.model(params)).transpose()
    }
}

/// Refuses a first model that is not one of the task, and an external task without one.
pub(crate) fn check(scenario: &Scenario, given: &Keys<'_>, whole_file: &Place) -> Result<(), KeyError> {
    let place = given.place("task", "initial", whole_file);
    let refuse = |key: &str, problem: &str, hint: &str| {
        Refusal { problem: problem.to_owned(), hint: hint.to_owned() }.at(whole_file.clone(), key)
    };
    let bad_model = |error: TaskError| {
        Refusal { problem: error.to_string(), hint: error.hint() }.at(place.clone(), "task.initial")
    };
    if !scenario.task.is_external() {
        // A network that follows from data is compared when these are read.
        let Ok(network) = scenario.task.network() else { return Ok(()) };
        return scenario.initial_model(&network.params()).map(drop).map_err(|error| bad_model(error.into()));
    }
    if scenario.initial.is_none() {
        let hint = "write initial = \"FILE\" below [task]: a safetensors file with the model's tensors";
        return Err(refuse("task.initial", "is missing, and an external task begins with it", hint));
    }
    if let Some(task) = scenario.external().map_err(bad_model)? {
        scenario.initial_model(task.params()).map_err(|error| bad_model(error.into()))?;
    }
    Ok(())
}
