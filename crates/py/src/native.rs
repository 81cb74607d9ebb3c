//! Native tasks whose devices are trained by workers of Python: the worker's side, and the run's side.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use fedflip_fleet::{Metrics, ModelVector, csv_file};
use fedflip_learn::layer::ParamSpec;
use fedflip_learn::metrics::Direction;
use fedflip_learn::sgd::{SgdLearner, SgdWorker};
use fedflip_learn::shards::{SampleBuffer, Shards};
use fedflip_learn::{Crew, Encoding, LearnError, Learner, Metric, TrainKey, Trained};
use fedflip_run::trainer::{WholeRun, WorkersNote};
use fedflip_run::{Crews, Trainer};
use fedflip_scenario::{InMemory, Scenario, Source};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use sha2::{Digest, Sha256};

use crate::call::data_folder;
use crate::crew::{Trainings, Workers};
use crate::error::{Failure, raised};

/// Adds what the module has to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<NativeLearner>()?;
    module.add_class::<PyCrews>()
}

/// The native kernels on a task's data, for one worker.
#[pyclass(frozen, module = "fedflip._fedflip")]
struct NativeLearner {
    learner: SgdLearner,
    /// Buffers; made again after a panic.
    buffers: Mutex<Option<SgdWorker>>,
}

impl NativeLearner {
    /// Calls `body` with the buffers, and without the interpreter.
    fn with_buffers<T: Send>(
        &self,
        py: Python<'_>,
        body: impl FnOnce(&SgdLearner, &mut SgdWorker) -> T + Send,
    ) -> T {
        py.detach(|| {
            let mut held = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
            let mut buffers = held.take().unwrap_or_else(|| self.learner.worker());
            let result = body(&self.learner, &mut buffers);
            *held = Some(buffers);
            result
        })
    }
}

#[pymethods]
impl NativeLearner {
    /// Reads the data of a scenario. `text` and `fleet` are what the run's side hands out; the folder of data sets is that
    /// of the machine, unless one is named.
    #[new]
    #[pyo3(signature = (text, fleet=None, data_dir=None))]
    fn new(
        py: Python<'_>,
        text: &str,
        fleet: Option<&[u8]>,
        data_dir: Option<PathBuf>,
    ) -> Result<Self, Failure> {
        let fleet = fleet.map(|csv| csv_file::read(csv, "fleet.csv").map(Arc::new)).transpose()?;
        let source =
            Source::of_text(text, "the scenario").with_memory(InMemory { fleet, ..InMemory::default() });
        let scenario = source.scenario(&[])?;
        let folder = data_folder(data_dir)?;
        let learners = py.detach(|| scenario.task_settings().learners(&folder))?;
        Ok(Self { learner: learners.learner, buffers: Mutex::new(None) })
    }

    #[getter]
    fn size(&self) -> usize {
        self.learner.params_len()
    }

    #[getter]
    fn devices(&self) -> usize {
        self.learner.devices()
    }

    fn samples(&self, device: usize) -> usize {
        self.learner.samples(device)
    }

    fn relative_cost(&self, device: usize) -> u64 {
        self.learner.relative_cost(device)
    }

    /// Name, and `max` or `min`, of each metric.
    fn metrics(&self) -> Vec<(String, &'static str)> {
        let mode = |metric: &Metric| if metric.info.better == Direction::Smaller { "min" } else { "max" };
        self.learner.metrics().iter().map(|metric| (metric.info.name.to_string(), mode(metric))).collect()
    }

    fn initial<'py>(&self, py: Python<'py>, seed: u64) -> Bound<'py, PyArray1<f32>> {
        let model = py.detach(|| self.learner.initial_model(seed));
        PyArray1::from_slice(py, model.as_slice())
    }

    /// The update of a key, and the mean loss of its steps.
    fn train<'py>(
        &self,
        py: Python<'py>,
        model: PyReadonlyArray1<'py, f32>,
        key: (u64, u64, usize, f32),
    ) -> PyResult<(Bound<'py, PyArray1<f32>>, f64)> {
        let (seed, round, device, rate_factor) = key;
        let key = TrainKey { seed, round, device, rate_factor };
        let (model, mut update) = (model.as_slice()?, vec![0.0; self.learner.params_len()]);
        let trained =
            self.with_buffers(py, |learner, buffers| learner.train(buffers, model, key, &mut update));
        let loss = trained.map_err(|error| raised(py, &error, Some(device), Some(round)))?;
        Ok((PyArray1::from_vec(py, update), loss))
    }

    /// The mean loss of a model on a device's own samples.
    fn loss(&self, py: Python<'_>, model: PyReadonlyArray1<'_, f32>, device: usize) -> PyResult<f64> {
        let model = model.as_slice()?;
        let loss = self.with_buffers(py, |learner, buffers| learner.loss(buffers, model, device));
        loss.map_err(|error| raised(py, &error, Some(device), None))
    }

    /// Name and value of each metric.
    fn evaluate(&self, py: Python<'_>, model: PyReadonlyArray1<'_, f32>) -> PyResult<Vec<(String, f64)>> {
        let model = model.as_slice()?;
        let metrics = self.with_buffers(py, |learner, buffers| learner.evaluate(buffers, model));
        let metrics = metrics.map_err(|error| raised(py, &error, None, None))?;
        let names = self.learner.metrics().iter().map(|metric| &metric.info.name);
        Ok(names.filter_map(|name| metrics.get(name).map(|value| (name.to_string(), value))).collect())
    }

    /// The digest of all samples of all devices, in hexadecimal.
    fn data_digest(&self, py: Python<'_>) -> String {
        py.detach(|| digest_of(self.learner.shards(), self.learner.network().input_len()))
    }
}

/// The samples that are hashed in one go.
const HASHED_TOGETHER: u32 = 256;

fn digest_of(shards: &dyn Shards, sample_len: usize) -> String {
    let mut digest = Sha256::new();
    let (mut made, mut features, mut labels) = (SampleBuffer::default(), Vec::new(), Vec::new());
    let mut bytes = Vec::new();
    for device in 0..shards.devices() {
        let samples = shards.samples(device);
        digest.update((samples as u64).to_le_bytes());
        shards.open(device, &mut made);
        let samples = u32::try_from(samples).unwrap_or(u32::MAX);
        for first in (0..samples).step_by(HASHED_TOGETHER as usize) {
            let picks: Vec<u32> = (first..samples.min(first + HASHED_TOGETHER)).collect();
            features.resize(picks.len() * sample_len, 0.0);
            labels.resize(picks.len(), 0.0);
            shards.write_batch(device, &made, &picks, &mut features, &mut labels);
            bytes.clear();
            bytes.extend(features.iter().chain(&labels).flat_map(|number| number.to_le_bytes()));
            digest.update(&bytes);
        }
    }
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
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
            opened.map(drop).map_err(|error| self.workers.failed(py, error))
        })?;
        Ok(Arc::new(CrewedTrainer { native, workers: Arc::clone(&self.workers) }))
    }

    fn runs_at_once(&self) -> usize {
        Python::attach(|py| {
            let count = self.workers.crew.bind(py).getattr("runs_at_once");
            count.and_then(|count| count.extract()).unwrap_or(0)
        })
    }

    fn whole_runs(&self, runs: &[WholeRun]) -> Result<(), LearnError> {
        Python::attach(|py| {
            let runs: Vec<(&str, &Path)> = runs.iter().map(|run| (&*run.text, &*run.folder)).collect();
            let done = self.workers.crew.bind(py).call_method1("whole_runs", (runs,));
            done.map(drop).map_err(|error| self.workers.failed(py, error))
        })
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
