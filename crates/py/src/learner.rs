//! Learners that are Python objects: what a run needs of them besides training.

use std::borrow::Cow;
use std::sync::Arc;

use fedflip_fleet::{MetricInfo, ModelVector};
use fedflip_learn::layer::{Init, ParamSpec};
use fedflip_learn::metrics::{Direction, Display, Formula};
use fedflip_learn::sgd::picks;
use fedflip_learn::{Crew, LearnError, Metric, TrainKey, metrics};
use fedflip_run::Trainer;
use fedflip_run::trainer::{WholeRun, WorkersNote};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::crew::PyCrew;
use crate::error::Failure;
use crate::workers::Workers;

/// Adds what the module has to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyTrainer>()?;
    module.add_function(wrap_pyfunction!(batch_indices, module)?)
}

/// A `FlatLearner` and the crew that trains it, as runs use them.
#[pyclass(frozen, name = "Trainer", module = "fedflip._fedflip")]
pub(crate) struct PyTrainer(pub(crate) Arc<ForeignTrainer>);

#[pymethods]
impl PyTrainer {
    /// `metrics` has a name and `max` or `min` for each metric, the headline first.
    #[new]
    fn new(
        flat: Py<PyAny>,
        crew: Py<PyAny>,
        metrics: Vec<(String, String)>,
        py: Python<'_>,
    ) -> PyResult<Self> {
        let bound = flat.bind(py);
        let tensors: Vec<(String, Vec<usize>)> = bound.call_method0("tensors")?.extract()?;
        let devices: usize = bound.getattr("devices")?.extract()?;
        let samples = (0..devices).map(|device| bound.call_method1("samples", (device,))?.extract());
        let samples = samples.collect::<PyResult<Vec<usize>>>()?;
        let has_costs = bound.getattr("learner")?.hasattr("relative_cost")?;
        let cost = |device| bound.call_method1("relative_cost", (device,))?.extract();
        let costs = (0..if has_costs { devices } else { 0 }).map(cost).collect::<PyResult<Vec<u64>>>()?;
        let params = specs(tensors);
        let metrics = metrics.iter().map(|(name, mode)| metric(name, mode == "min")).collect();
        let workers = Workers::new(py, crew)?;
        Ok(Self(Arc::new(ForeignTrainer { flat, workers, params, metrics, samples, costs })))
    }
}

/// The tensors of a program's model, from their names and shapes.
pub(crate) fn specs(tensors: Vec<(String, Vec<usize>)>) -> Vec<(String, ParamSpec)> {
    let spec = |shape: &[usize]| ParamSpec::trained("tensor", shape, Init::Constant(0.0));
    tensors.into_iter().map(|(name, shape)| (name, spec(&shape))).collect()
}

/// A metric of a learner: the weighted mean of what it returns.
pub(crate) fn metric(name: &str, falls: bool) -> Metric {
    let known = metrics::metric(name).map(|metric| metric.info.display);
    let info = MetricInfo {
        name: Cow::Owned(name.to_owned()),
        better: if falls { Direction::Smaller } else { Direction::Larger },
        display: known.unwrap_or(Display::Number),
    };
    let weight = Cow::Owned(format!("{name}/weight"));
    let formula = Formula::Ratio(Cow::Owned(name.to_owned()), weight);
    Metric { info, doc: Cow::Borrowed("A metric of the program's own learner."), formula }
}

/// The Rust side of a [`PyTrainer`].
pub(crate) struct ForeignTrainer {
    flat: Py<PyAny>,
    pub(crate) workers: Workers,
    pub(crate) params: Vec<(String, ParamSpec)>,
    pub(crate) metrics: Vec<Metric>,
    pub(crate) samples: Vec<usize>,
    /// How long training on each device takes; empty if all take the same time.
    pub(crate) costs: Vec<u64>,
}

impl ForeignTrainer {
    pub(crate) fn params_len(&self) -> usize {
        self.params.iter().map(|(_, spec)| spec.len()).sum()
    }
}

impl Trainer for ForeignTrainer {
    fn params(&self) -> Vec<(String, ParamSpec)> {
        self.params.clone()
    }

    fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    fn initial_model(&self, seed: u64) -> Result<ModelVector, LearnError> {
        Python::attach(|py| {
            let made = || -> PyResult<Vec<f32>> {
                let model = self.flat.bind(py).call_method1("initial", (seed,))?;
                Ok(model.extract::<PyReadonlyArray1<'_, f32>>()?.as_slice()?.to_vec())
            };
            made().map(ModelVector::new).map_err(|error| self.workers.failed(py, error))
        })
    }

    fn workers(&self) -> Option<WorkersNote> {
        self.workers.note()
    }

    fn runs_at_once(&self) -> usize {
        self.workers.runs_at_once()
    }

    fn whole_runs(&self, runs: &[WholeRun], stop: &dyn Fn() -> bool) -> Result<(), LearnError> {
        self.workers.whole_runs(runs, stop)
    }

    fn with_crew(&self, _threads: usize, body: &mut dyn FnMut(&mut dyn Crew)) -> Result<(), LearnError> {
        body(&mut PyCrew::new(self));
        Ok(())
    }
}

/// The samples in the batches of a training, as the native kernels draw them: one row for each step.
#[pyfunction]
fn batch_indices<'py>(
    py: Python<'py>,
    seed: u64,
    round: u64,
    device: usize,
    samples: usize,
    batch: usize,
    steps: usize,
) -> PyResult<Bound<'py, PyAny>> {
    if samples == 0 {
        let problem = format!("device {device} holds no samples");
        return Err(Failure::input(problem, "give every device at least one sample").at("samples").into());
    }
    if u32::try_from(samples).is_err() {
        let problem = format!("device {device} holds {samples} samples, and 4294967295 are the most");
        return Err(Failure::input(problem, "divide the data among more devices").at("samples").into());
    }
    let all = batch.checked_mul(steps).filter(|all| *all <= 1 << 28);
    let too_many = || {
        let problem = format!("{steps} steps of {batch} samples are too many");
        Failure::input(problem, "train in fewer or smaller steps").at("steps")
    };
    let all = all.ok_or_else(too_many)?;
    let numbers = py.detach(|| picks(TrainKey::new(seed, round, device), samples, all));
    let numbers: Vec<i64> = numbers.into_iter().map(i64::from).collect();
    Ok(PyArray1::from_vec(py, numbers).reshape([steps, batch])?.into_any())
}
