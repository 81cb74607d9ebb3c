//! Native tasks whose devices are trained by workers of Python: the run's side. What a worker does is in `native.rs`.

use std::sync::Arc;

use fedflip_fleet::{Metrics, ModelVector};
use fedflip_learn::layer::ParamSpec;
use fedflip_learn::{Crew, Encoding, LearnError, Metric, TrainKey, Trained};
use fedflip_run::trainer::{WholeRun, WorkersNote};
use fedflip_run::{Crews, Trainer};
use fedflip_scenario::Scenario;
use pyo3::prelude::*;

use crate::crew::Trainings;
use crate::workers::Workers;

/// Adds what the module has to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyCrews>()
}

/// Python workers for native tasks, as `simulate` and the command line take them.
#[pyclass(frozen, name = "Crews", module = "fedflip._fedflip")]
pub(crate) struct PyCrews(pub(crate) Arc<HostCrews>);

#[pymethods]
impl PyCrews {
    /// `crew` has the methods of `fedflip.Crew`. `opener(text, fleet)` opens it with the learner of a scenario.
    #[new]
    fn new(py: Python<'_>, crew: Py<PyAny>, opener: Py<PyAny>) -> PyResult<Self> {
        let workers = Arc::new(Workers::new(py, crew)?);
        Ok(Self(Arc::new(HostCrews { workers, opener })))
    }
}

/// The Rust side of [`PyCrews`].
pub(crate) struct HostCrews {
    pub(crate) workers: Arc<Workers>,
    opener: Py<PyAny>,
}

impl Crews for HostCrews {
    fn trainer(&self, scenario: &Scenario, native: Arc<dyn Trainer>) -> Result<Arc<dyn Trainer>, LearnError> {
        let (text, fleet) = scenario.for_workers();
        Python::attach(|py| {
            let opened = self.opener.bind(py).call1((text, fleet.as_deref()));
            let opened = opened.map_err(|error| self.workers.named(py, "open", error));
            opened.map(drop).map_err(|error| self.workers.failed(py, error))
        })?;
        Ok(Arc::new(CrewedTrainer { native, workers: Arc::clone(&self.workers) }))
    }
}

/// A native task that workers train. First models, losses and evaluations are those of this process, which has the data.
struct CrewedTrainer {
    native: Arc<dyn Trainer>,
    workers: Arc<Workers>,
}

impl Trainer for CrewedTrainer {
    fn params(&self) -> Vec<(String, ParamSpec)> {
        self.native.params()
    }

    fn metrics(&self) -> &[Metric] {
        self.native.metrics()
    }

    fn initial_model(&self, seed: u64) -> Result<ModelVector, LearnError> {
        self.native.initial_model(seed)
    }

    fn with_crew(&self, threads: usize, body: &mut dyn FnMut(&mut dyn Crew)) -> Result<(), LearnError> {
        self.native.with_crew(threads, &mut |here| {
            let trainings = Trainings::new(&self.workers, here.params_len());
            body(&mut NativeCrew { here, trainings });
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

    fn test(&self, model: &Arc<ModelVector>, threads: usize) -> Option<Result<Metrics, LearnError>> {
        self.native.test(model, threads)
    }
}

/// Workers that train, and threads of this process that evaluate.
struct NativeCrew<'t> {
    here: &'t mut dyn Crew,
    trainings: Trainings<'t>,
}

impl Crew for NativeCrew<'_> {
    fn devices(&self) -> usize {
        self.here.devices()
    }

    fn params_len(&self) -> usize {
        self.here.params_len()
    }

    fn metrics(&self) -> &[Metric] {
        self.here.metrics()
    }

    fn relative_cost(&self, device: usize) -> u64 {
        self.here.relative_cost(device)
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
        self.here.losses(model, devices)
    }

    fn relative_loss_time(&self, device: usize) -> f64 {
        self.here.relative_loss_time(device)
    }

    fn evaluate(&mut self, model: &Arc<ModelVector>) -> Result<Metrics, LearnError> {
        self.here.evaluate(model)
    }
}
