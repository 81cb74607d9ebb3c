//! What a server does with the sum of the updates of a round.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fedflip_engine::Optimiser;
use fedflip_engine::optimiser::Memory;
use fedflip_fleet::ModelVector;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::error::Failure;
use crate::scenario::PyScenario;

/// The optimiser of a scenario's `[server]`, with the vectors that it keeps between rounds.
#[pyclass(frozen, name = "ServerOptimiser", module = "fedflip._fedflip")]
pub(super) struct PyServerOptimiser {
    optimiser: Optimiser,
    parameters: usize,
    memory: Mutex<Memory>,
}

impl PyServerOptimiser {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wrong_length(&self, what: &str, have: usize) -> Failure {
        let problem = format!("{what} has {have} numbers, and the model has {}", self.parameters);
        Failure::input(problem, "give vectors of the model that the optimiser was made for").at(what)
    }
}

#[pymethods]
impl PyServerOptimiser {
    /// Before the first round.
    #[new]
    fn new(scenario: &PyScenario, model: PyReadonlyArray1<'_, f32>) -> PyResult<Self> {
        let model = Arc::new(ModelVector::new(model.as_slice()?.to_vec()));
        let optimiser = scenario.scenario.server.optimiser();
        let memory = Mutex::new(optimiser.memory(&model));
        Ok(Self { optimiser, parameters: model.as_slice().len(), memory })
    }

    /// Whether the next model is the sum of model and step, and nothing is remembered.
    #[getter]
    fn is_plain(&self) -> bool {
        self.optimiser.is_plain()
    }

    /// The model after a round; `step` is none if nobody reported. None if a number became NaN or infinite: then
    /// everything is as before the round.
    #[pyo3(signature = (round, model, step=None))]
    fn advance<'py>(
        &self,
        py: Python<'py>,
        round: u64,
        model: PyReadonlyArray1<'py, f32>,
        step: Option<PyReadonlyArray1<'py, f32>>,
    ) -> PyResult<Option<Bound<'py, PyArray1<f32>>>> {
        let model = ModelVector::new(model.as_slice()?.to_vec());
        let step = step.map(|step| step.as_slice().map(<[f32]>::to_vec)).transpose()?;
        let lengths =
            [("model", model.as_slice().len()), ("step", step.as_ref().map_or(self.parameters, Vec::len))];
        if let Some((what, have)) = lengths.into_iter().find(|(_, len)| *len != self.parameters) {
            return Err(self.wrong_length(what, have).into());
        }
        let (next, is_finite) = py.detach(|| {
            let mut memory = self.memory();
            let (mut next, mut room) = (model.clone(), memory.room());
            let to = (&mut next, &mut room);
            let is_finite = self.optimiser.advance(round, (&model, &memory), step.as_deref(), to);
            if is_finite {
                *memory = room;
            }
            (next, is_finite)
        });
        Ok(is_finite.then(|| PyArray1::from_slice(py, next.as_slice())))
    }

    /// The average of models that is the result, where there is one.
    fn average<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f32>>> {
        self.memory().average().map(|average| PyArray1::from_slice(py, average.as_slice()))
    }

    /// The vectors that are kept between rounds, in their order.
    fn vectors<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyArray1<f32>>> {
        self.memory().vectors().map(|(_, vector)| PyArray1::from_slice(py, vector)).collect()
    }

    /// Takes back vectors of `vectors`.
    fn restore(&self, vectors: Vec<PyReadonlyArray1<'_, f32>>) -> PyResult<()> {
        let vectors = vectors.iter().map(|vector| vector.as_slice().map(<[f32]>::to_vec));
        let vectors = vectors.collect::<Result<Vec<_>, _>>()?;
        let restored = self.optimiser.restored(vectors, self.parameters);
        *self.memory() = restored.ok_or_else(|| {
            Failure::other(
                "the vectors of the checkpoint are not those of this server optimiser",
                "resume with the same server_optimiser",
            )
        })?;
        Ok(())
    }
}
