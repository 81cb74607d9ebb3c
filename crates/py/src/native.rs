//! Native tasks whose devices are trained by workers of Python: the kernels in a worker. The run's side is in `hosted.rs`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use fedflip_fleet::csv_file;
use fedflip_learn::metrics::Direction;
use fedflip_learn::sgd::{SgdLearner, SgdWorker};
use fedflip_learn::shards::{SampleBuffer, Shards};
use fedflip_learn::{Learner, Metric, TrainKey};
use fedflip_scenario::{InMemory, Source};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use sha2::{Digest, Sha256};

use crate::call::data_folder;
use crate::error::{Failure, raised};

/// Adds what the module has to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<NativeLearner>()
}

/// The native kernels on a task's data, for one worker.
#[pyclass(frozen, module = "fedflip._fedflip")]
struct NativeLearner {
    learner: SgdLearner,
    /// Buffers that nobody uses, as many as there have been calls at the same time; those of a panic are gone.
    buffers: Mutex<Vec<SgdWorker>>,
}

impl NativeLearner {
    /// Calls `body` with buffers of its own, and without the interpreter.
    fn with_buffers<T: Send>(
        &self,
        py: Python<'_>,
        body: impl FnOnce(&SgdLearner, &mut SgdWorker) -> T + Send,
    ) -> T {
        py.detach(|| {
            let free = || self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
            let known = free().pop();
            let mut buffers = known.unwrap_or_else(|| self.learner.worker());
            let result = body(&self.learner, &mut buffers);
            free().push(buffers);
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
        let folder = data_folder(data_dir);
        let learners = py.detach(|| scenario.task_settings().learners(&folder))?;
        Ok(Self { learner: learners.learner, buffers: Mutex::default() })
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
