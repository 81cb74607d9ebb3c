//! Crews whose trainings are done by workers of Python.

use std::sync::Arc;

use fedflip_fleet::{Metrics, ModelVector};
use fedflip_learn::{Crew, Encoding, LearnError, Metric, TrainKey, Trained};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::learner::ForeignTrainer;
use crate::workers::Workers;

/// Trainings that Python workers do, and what a run needs to tell them apart.
pub(crate) struct Trainings<'t> {
    workers: &'t Workers,
    params_len: usize,
    /// The last model that workers were given, as they were given it.
    lent: Option<(Arc<ModelVector>, Py<PyAny>)>,
    /// Trainings whose result nobody has taken.
    outstanding: Vec<(TrainKey, Encoding)>,
    /// Memory of earlier updates, to use again.
    spare: Vec<Vec<f32>>,
}

impl<'t> Trainings<'t> {
    pub(crate) fn new(workers: &'t Workers, params_len: usize) -> Self {
        Self { workers, params_len, lent: None, outstanding: Vec::new(), spare: Vec::new() }
    }

    /// The model as a read-only array, which is made once for all trainings from it.
    fn lend<'py>(&mut self, py: Python<'py>, model: &Arc<ModelVector>) -> PyResult<Bound<'py, PyAny>> {
        if let Some((known, array)) = &self.lent
            && Arc::ptr_eq(known, model)
        {
            return Ok(array.bind(py).clone());
        }
        let array = PyArray1::from_slice(py, model.as_slice());
        array.call_method1("setflags", (false,))?;
        self.lent = Some((Arc::clone(model), array.clone().into_any().unbind()));
        Ok(array.into_any())
    }

    fn begin(
        &mut self,
        py: Python<'_>,
        model: &Arc<ModelVector>,
        encoding: Encoding,
        keys: &[TrainKey],
    ) -> PyResult<()> {
        let model = self.lend(py, model)?;
        let class = self.workers.key.bind(py);
        let key = |key: &TrainKey| class.call1((key.seed, key.round, key.device, key.rate_factor));
        let python_keys = PyList::new(py, keys.iter().map(key).collect::<PyResult<Vec<_>>>()?)?;
        self.workers.call(py, "train", (model, python_keys))?;
        self.outstanding.extend(keys.iter().map(|&key| (key, encoding)));
        Ok(())
    }

    /// The next result: the device, its update in `delta`, and its loss. A training that diverged has an error in its place.
    /// After any other error the run is over, and nobody waits for the rest of the cohort.
    fn take(
        &mut self,
        py: Python<'_>,
        delta: &mut Vec<f32>,
    ) -> Result<(usize, Result<f64, LearnError>), LearnError> {
        let workers = self.workers;
        let answer = match workers.call(py, "next", ()) {
            Ok(answer) => answer,
            Err(error) => {
                // Of a failed training the exception names the device.
                let device = error.value(py).getattr("device").and_then(|device| device.extract::<usize>());
                return match (device, workers.failed(py, error)) {
                    (Ok(device), diverged @ (LearnError::Diverged { .. } | LearnError::NotFinite { .. })) => {
                        Ok((device, Err(diverged)))
                    }
                    (_, error) => Err(error),
                };
            }
        };
        let parts = || -> PyResult<(usize, PyReadonlyArray1<'_, f32>, f64)> {
            let parts: (usize, PyReadonlyArray1<'_, f32>, f64) = answer.extract()?;
            parts.1.as_slice()?;
            Ok(parts)
        };
        let wanted = "a tuple of device, flat float32 array and loss";
        let unusable = |_| workers.failed(py, workers.unusable(py, "next", &answer, wanted));
        let (device, update, loss) = parts().map_err(unusable)?;
        let update = update.as_slice().unwrap_or_default();
        delta.clear();
        delta.extend_from_slice(update);
        let finite = update.iter().fold(true, |finite, number| finite & number.is_finite());
        let value =
            || update.iter().find(|number| !number.is_finite()).map_or(f64::NAN, |&number| f64::from(number));
        let not_finite =
            || LearnError::NotFinite { what: format!("update of device {device}").into(), value: value() };
        Ok((device, if finite { Ok(loss) } else { Err(not_finite()) }))
    }

    pub(crate) fn train(
        &mut self,
        model: &Arc<ModelVector>,
        encoding: Encoding,
        keys: &[TrainKey],
    ) -> Result<(), LearnError> {
        if keys.is_empty() {
            return Ok(());
        }
        let workers = self.workers;
        Python::attach(|py| self.begin(py, model, encoding, keys).map_err(|error| workers.failed(py, error)))
    }

    pub(crate) fn next_trained(&mut self) -> Result<Option<Trained>, LearnError> {
        if self.outstanding.is_empty() {
            return Ok(None);
        }
        let mut delta = self.spare.pop().unwrap_or_default();
        let (device, train_loss) = Python::attach(|py| self.take(py, &mut delta))?;
        let place = self.outstanding.iter().position(|(key, _)| key.device == device);
        let unasked =
            || LearnError::WorkerLost { problem: format!("the crew trained device {device} unasked") };
        let (key, encoding) = self.outstanding.swap_remove(place.ok_or_else(unasked)?);
        let want = self.params_len;
        if train_loss.is_ok() && delta.len() != want {
            return Err(LearnError::WrongLength { have: delta.len(), want });
        }
        if train_loss.is_ok() {
            encoding.round_trip(&mut delta, &mut key.rounding());
        }
        Ok(Some(Trained { device, delta, train_loss }))
    }

    pub(crate) fn recycle(&mut self, delta: Vec<f32>) {
        self.spare.push(delta);
    }
}

/// A learner of Python and its workers.
pub(crate) struct PyCrew<'t> {
    trainer: &'t ForeignTrainer,
    trainings: Trainings<'t>,
}

impl<'t> PyCrew<'t> {
    pub(crate) fn new(trainer: &'t ForeignTrainer) -> Self {
        Self { trainer, trainings: Trainings::new(&trainer.workers, trainer.params_len()) }
    }

    fn scores(&mut self, py: Python<'_>, model: &Arc<ModelVector>) -> PyResult<Vec<(String, f64)>> {
        let model = self.trainings.lend(py, model)?;
        let workers = &self.trainer.workers;
        let answer = workers.call(py, "evaluate", (model,))?;
        let scores = || -> PyResult<Vec<(String, f64)>> {
            let mut scores = Vec::new();
            for (name, value) in answer.cast::<PyDict>()?.iter() {
                let (sum, weight): (f64, f64) = value.extract()?;
                scores.push((name.extract()?, sum / weight));
            }
            Ok(scores)
        };
        scores().map_err(|_| workers.unusable(py, "evaluate", &answer, "a dict of sums and weights by name"))
    }

    /// The metrics in their order. A learner that returns other names than before cannot be compared.
    fn metrics_of(&self, scores: &[(String, f64)]) -> Result<Metrics, LearnError> {
        let mut metrics = Metrics::default();
        for Metric { info, .. } in &self.trainer.metrics {
            let found = scores.iter().find(|(name, _)| *name == info.name);
            let value = found.map(|(_, value)| *value).ok_or_else(|| LearnError::Foreign {
                message: format!("evaluate returned no {}, which is one of the learner's metrics", info.name),
                trace: String::new(),
            })?;
            if !value.is_finite() {
                return Err(LearnError::NotFinite { what: format!("model's {}", info.name).into(), value });
            }
            metrics.set(info.name.clone(), value);
        }
        let is_known = |name: &str| self.trainer.metrics.iter().any(|metric| metric.info.name == name);
        match scores.iter().find(|(name, _)| !is_known(name)) {
            Some((name, _)) => Err(LearnError::Foreign {
                message: format!("evaluate returned {name}, which is not one of the learner's metrics"),
                trace: String::new(),
            }),
            None => Ok(metrics),
        }
    }

    fn failed(&self, py: Python<'_>, error: PyErr) -> LearnError {
        self.trainer.workers.failed(py, error)
    }
}

impl Crew for PyCrew<'_> {
    fn devices(&self) -> usize {
        self.trainer.samples.len()
    }

    fn params_len(&self) -> usize {
        self.trainer.params_len()
    }

    fn metrics(&self) -> &[Metric] {
        &self.trainer.metrics
    }

    fn relative_cost(&self, device: usize) -> u64 {
        self.trainer.costs.get(device).copied().unwrap_or(1)
    }

    fn train(
        &mut self,
        model: &Arc<ModelVector>,
        encoding: Encoding,
        keys: &[TrainKey],
    ) -> Result<(), LearnError> {
        self.trainings.train(model, encoding, keys)
    }

    fn next_trained(&mut self) -> Result<Option<Trained>, LearnError> {
        self.trainings.next_trained()
    }

    fn recycle(&mut self, delta: Vec<f32>) {
        self.trainings.recycle(delta);
    }

    fn losses(&mut self, model: &Arc<ModelVector>, devices: &[usize]) -> Result<Vec<f64>, LearnError> {
        Python::attach(|py| {
            let workers = &self.trainer.workers;
            let mut asked = || -> PyResult<Vec<f64>> {
                let model = self.trainings.lend(py, model)?;
                let answer = workers.call(py, "losses", (model, devices.to_vec()))?;
                let losses: Option<Vec<f64>> = answer.extract().ok();
                let losses = losses.filter(|losses| losses.len() == devices.len());
                losses.ok_or_else(|| {
                    workers.unusable(py, "losses", &answer, "a list with a loss for each device")
                })
            };
            asked().map_err(|error| self.trainer.workers.failed(py, error))
        })
    }

    fn evaluate(&mut self, model: &Arc<ModelVector>) -> Result<Metrics, LearnError> {
        let scores = Python::attach(|py| self.scores(py, model).map_err(|error| self.failed(py, error)))?;
        self.metrics_of(&scores)
    }
}
