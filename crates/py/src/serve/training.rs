//! A Python learner as an agent trains it.

use std::sync::{Arc, Mutex, PoisonError};

use fedflip_fleet::ModelVector;
use fedflip_learn::task::TaskSettings;
use fedflip_learn::{LearnError, TrainKey};
use fedflip_net::NetError;
use fedflip_net::agent::{DeviceTraining, OfferedTask, PrepareTask};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use super::calls::Calls;
use crate::error::foreign;
use crate::signals::Signals;

/// What the threads of a device share with the thread of the caller.
#[derive(Clone)]
pub(super) struct Caller {
    pub(super) calls: Calls,
    pub(super) signals: Arc<Signals>,
    /// The last failure of the learner, for a caller who wants to know.
    pub(super) failure: Arc<Mutex<Option<PyErr>>>,
}

impl Caller {
    /// The result of Python code on the caller's thread.
    fn ask<T: Send + 'static>(
        &self,
        code: impl FnOnce(Python<'_>) -> PyResult<T> + Send + 'static,
    ) -> Result<T, LearnError> {
        let (signals, failure) = (Arc::clone(&self.signals), Arc::clone(&self.failure));
        let asked = self.calls.ask(move |py| {
            let (result, raised) = match code(py) {
                Ok(result) => (Ok(result), None),
                Err(error) => (Err(foreign(py, &error)), Some(error)),
            };
            match raised {
                Some(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => signals.raise(error),
                // Nobody is told of a failure after which the learner has worked again.
                raised => *failure.lock().unwrap_or_else(PoisonError::into_inner) = raised,
            }
            result
        });
        asked.unwrap_or_else(|| Err(LearnError::WorkerLost { problem: "the device is leaving".to_owned() }))
    }
}

/// Prepares a Python learner for the task that a server offers.
pub(super) struct PyTasks {
    pub(super) caller: Caller,
    /// A function of the façade: task, settings and tensors in, an object with the methods that are called here out.
    pub(super) prepare: Py<PyAny>,
}

impl PrepareTask for PyTasks {
    fn prepare(&self, offered: &OfferedTask) -> Result<Box<dyn DeviceTraining>, NetError> {
        let (task, settings) = match offered {
            OfferedTask::External(task) => ("external", task.settings().to_owned()),
            OfferedTask::BuiltIn(settings) => (settings.task.name(), told(settings)),
        };
        let tensors: Vec<(String, Vec<usize>)> =
            offered.params()?.into_iter().map(|(name, spec)| (name, spec.shape)).collect();
        let params_len = tensors.iter().map(|(_, shape)| shape.iter().product::<usize>()).sum();
        let prepare = Python::attach(|py| self.prepare.clone_ref(py));
        let (learner, samples) = self.caller.ask(move |py| {
            let learner = prepare.bind(py).call1((task, settings, tensors))?;
            let samples: Vec<usize> = learner.call_method0("counts")?.extract()?;
            Ok((learner.unbind(), samples))
        })?;
        let samples = Mutex::new(samples);
        Ok(Box::new(PyTraining { caller: self.caller.clone(), learner, params_len, samples }))
    }
}

/// The settings of a task of fedflip, for learners that train it in their own way.
fn told(settings: &TaskSettings) -> String {
    let sgd = &settings.sgd;
    let steps = match sgd.steps {
        fedflip_learn::sgd::Steps::Iterations(steps) => format!("iterations = {steps}"),
        fedflip_learn::sgd::Steps::Epochs(epochs) => format!("epochs = {epochs}"),
    };
    format!("learning_rate = {:?}\nbatch = {}\n{steps}\n", sgd.learning_rate, sgd.batch)
}

struct PyTraining {
    caller: Caller,
    learner: Py<PyAny>,
    params_len: usize,
    /// The number of samples of each device of the learner; the one of this device is renewed with each training.
    samples: Mutex<Vec<usize>>,
}

impl PyTraining {
    /// The position of this device's count: a learner of one device holds this device's data, whatever its slot.
    fn place(samples: &[usize], slot: usize) -> usize {
        if samples.len() == 1 { 0 } else { slot }
    }

    fn learner(&self) -> Py<PyAny> {
        Python::attach(|py| self.learner.clone_ref(py))
    }

    fn checked(&self, update: &[f32], loss: f64) -> Result<f64, LearnError> {
        if update.len() != self.params_len {
            return Err(LearnError::WrongLength { have: update.len(), want: self.params_len });
        }
        if let Some(value) = update.iter().find(|number| !number.is_finite()) {
            return Err(LearnError::NotFinite { what: "learner's update".into(), value: f64::from(*value) });
        }
        match loss.is_finite() {
            true => Ok(loss),
            false => Err(LearnError::NotFinite { what: "learner's training loss".into(), value: loss }),
        }
    }
}

impl DeviceTraining for PyTraining {
    fn params_len(&self) -> usize {
        self.params_len
    }

    fn samples(&self, slot: usize) -> usize {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        samples.get(Self::place(&samples, slot)).copied().unwrap_or(0)
    }

    fn initial_model(&self, seed: u64) -> ModelVector {
        let learner = self.learner();
        let made = self.caller.ask(move |py| {
            let model = learner.bind(py).call_method1("initial", (seed,))?;
            Ok(model.extract::<PyReadonlyArray1<'_, f32>>()?.as_slice()?.to_vec())
        });
        // The model is there to time a training. A learner that makes none may still train others.
        let fits = made.ok().filter(|model| model.len() == self.params_len);
        ModelVector::new(fits.unwrap_or_else(|| vec![0.0; self.params_len]))
    }

    fn train(&self, model: &[f32], key: TrainKey, update: &mut [f32]) -> Result<f64, LearnError> {
        let (learner, model) = (self.learner(), model.to_vec());
        let (trained, loss, count) = self.caller.ask(move |py| {
            let model = PyArray1::from_vec(py, model);
            model.call_method1("setflags", (false,))?;
            let TrainKey { seed, round, device, rate_factor } = key;
            let answer = learner.bind(py).call_method1("train", (model, seed, round, device, rate_factor))?;
            let (trained, loss, count): (PyReadonlyArray1<'_, f32>, f64, usize) = answer.extract()?;
            Ok((trained.as_array().iter().copied().collect::<Vec<f32>>(), loss, count))
        })?;
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let place = Self::place(&samples, key.device);
        samples.get_mut(place).into_iter().for_each(|known| *known = count);
        drop(samples);
        let loss = self.checked(&trained, loss)?;
        update.copy_from_slice(&trained);
        Ok(loss)
    }
}
