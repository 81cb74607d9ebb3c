//! The samples and the network of a task.

use std::path::PathBuf;
use std::sync::Arc;

use fedflip_datasets::SetSpec;
use fedflip_fleet::did_you_mean;
use fedflip_learn::partition::Dirichlet;
use fedflip_learn::sgd::{SgdLearner, SgdSettings};
use fedflip_learn::shards::SampleBuffer;
use fedflip_learn::task::{Sharing, Source, TaskSettings};
use fedflip_learn::{Learner, TrainKey};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::{parameters, refused_task};
use crate::call::data_folder;
use crate::error::Failure;

/// A task with the data of its devices, ready to train.
#[pyclass(frozen, module = "fedflip._fedflip")]
pub(crate) struct TaskData {
    name: &'static str,
    metrics: Vec<&'static str>,
    sample_shape: Vec<usize>,
    learner: SgdLearner,
    sgd: SgdSettings,
}

/// How to share and train a task.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct TaskArguments {
    devices: usize,
    sharing: String,
    concentration: f64,
    samples_min: usize,
    /// The samples of each device, for the sharing `fleet`.
    samples: Option<Vec<u64>>,
    data_seed: u64,
    test_samples_max: Option<usize>,
    batch: usize,
    steps: usize,
    learning_rate: Option<f32>,
    data_dir: Option<PathBuf>,
}

/// Samples, one a row, and their labels.
type Samples<'py> = (Bound<'py, PyArray2<f32>>, Bound<'py, PyArray1<f32>>);

impl TaskArguments {
    fn sharing(&self, py: Python<'_>) -> Result<Sharing, Failure> {
        let (concentration, min_samples) = (self.concentration, self.samples_min);
        match (self.sharing.as_str(), &self.samples) {
            ("iid", _) => Ok(Sharing::Iid),
            ("dirichlet", _) => Ok(Sharing::Dirichlet(Dirichlet { concentration, min_samples })),
            ("by-role", _) => Ok(Sharing::ByRole),
            ("by-device", _) => Ok(Sharing::ByDevice),
            ("fleet", Some(samples)) => Ok(Sharing::Fleet(samples.as_slice().into())),
            ("fleet", None) => {
                let problem = "samples: sharing=\"fleet\" needs the number of samples of each device";
                Err(Failure::input(problem, "give samples, such as fleet.samples").at("samples"))
            }
            (other, _) => {
                let names = Sharing::NAMES;
                let remedy = did_you_mean(other, names, || format!("the ways are {}", names.join(", ")));
                let problem = format!("sharing: samples cannot be shared {other:?}");
                Err(Failure::input(problem, remedy).at("sharing").of(py, other))
            }
        }
    }
}

#[pymethods]
impl TaskData {
    /// Reads or makes the data of a task.
    #[staticmethod]
    fn load(
        py: Python<'_>,
        name: &str,
        params: &Bound<'_, PyDict>,
        arguments: TaskArguments,
    ) -> PyResult<Self> {
        let task = parameters::task_with(name, params)?;
        let mut settings = TaskSettings::paper(task, arguments.devices);
        settings.sharing = arguments.sharing(py)?;
        settings.data_seed = arguments.data_seed;
        settings.test_samples_max = arguments.test_samples_max.unwrap_or(settings.test_samples_max);
        let learning_rate = arguments.learning_rate.unwrap_or(settings.sgd.learning_rate);
        settings.sgd = SgdSettings::plain(learning_rate, arguments.batch, arguments.steps);
        let data_dir = data_folder(arguments.data_dir.clone());
        let (learner, _) =
            py.detach(|| settings.learner(&data_dir)).map_err(|error| refused_task(py, &error))?;
        let sample_shape = match task.source() {
            Source::DataSet(set) => sample_shape(set, learner.network().input_len()),
            _ => vec![learner.network().input_len()],
        };
        let (name, metrics, sgd) = (task.name(), task.metrics().to_vec(), settings.sgd);
        Ok(Self { name, metrics, sample_shape, learner, sgd })
    }

    #[getter]
    fn name(&self) -> &'static str {
        self.name
    }

    #[getter]
    fn devices(&self) -> usize {
        self.learner.devices()
    }

    /// The number of samples of each device.
    #[getter]
    fn samples<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let counts = (0..self.learner.devices()).map(|device| self.learner.samples(device) as i64);
        PyArray1::from_iter(py, counts)
    }

    #[getter]
    fn sample_shape(&self) -> Vec<usize> {
        self.sample_shape.clone()
    }

    /// The number of classes; None for a regression.
    #[getter]
    fn classes(&self) -> Option<usize> {
        let network = self.learner.network();
        network.loss().row().classifies.then(|| network.classes())
    }

    #[getter]
    fn metrics(&self) -> Vec<&'static str> {
        self.metrics.clone()
    }

    #[getter]
    fn learning_rate(&self) -> f32 {
        self.sgd.learning_rate
    }

    /// Name, shape and whether SGD moves it, for each array of parameters in the order of the flat vector.
    #[getter]
    fn parameters(&self) -> Vec<(String, Vec<usize>, bool)> {
        let params = self.learner.network().params();
        params.into_iter().map(|(name, spec)| (name, spec.shape, spec.trained)).collect()
    }

    /// The samples of a device.
    fn device<'py>(&self, py: Python<'py>, device: usize) -> PyResult<Samples<'py>> {
        let count = self.checked_samples(py, device)?;
        let (features, labels) = py.detach(|| {
            let (mut features, mut labels) = self.room(count);
            let (shards, mut made) = (self.learner.shards(), SampleBuffer::default());
            shards.open(device, &mut made);
            let picks: Vec<u32> = (0..count as u32).collect();
            shards.write_batch(device, &made, &picks, &mut features, &mut labels);
            (features, labels)
        });
        self.arrays(py, features, labels)
    }

    /// The samples on which models are evaluated.
    fn test<'py>(&self, py: Python<'py>) -> PyResult<Samples<'py>> {
        let (features, labels) = py.detach(|| {
            let (mut features, mut labels) = self.room(self.learner.test_samples());
            self.learner.shards().write_test_batch(0, &mut features, &mut labels);
            (features, labels)
        });
        self.arrays(py, features, labels)
    }

    /// The model before the first round, as a flat vector.
    fn initial<'py>(&self, py: Python<'py>, seed: u64) -> Bound<'py, PyArray1<f32>> {
        let model = py.detach(|| self.learner.initial_model(seed));
        PyArray1::from_slice(py, model.as_slice())
    }

    /// The batches of a local training, as positions among the samples of the device.
    fn batches<'py>(
        &self,
        py: Python<'py>,
        seed: u64,
        round: u64,
        device: usize,
    ) -> PyResult<Vec<Bound<'py, PyArray1<i64>>>> {
        let samples = self.checked_samples(py, device)?;
        let key = TrainKey::new(seed, round, device);
        let batches = py.detach(|| self.sgd.batches(key, samples));
        Ok(batches
            .iter()
            .map(|batch| PyArray1::from_iter(py, batch.iter().map(|&pick| i64::from(pick))))
            .collect())
    }

    /// The update of a local training by the native kernels, and its mean loss.
    fn train<'py>(
        &self,
        py: Python<'py>,
        model: PyReadonlyArray1<'py, f32>,
        key: (u64, u64, usize),
    ) -> PyResult<(Bound<'py, PyArray1<f32>>, f64)> {
        let (seed, round, device) = key;
        self.checked_samples(py, device)?;
        let model = self.checked_model(py, &model)?;
        let trained = py.detach(|| {
            let mut update = vec![0.0; model.len()];
            let key = TrainKey::new(seed, round, device);
            let loss = self.learner.train(&mut self.learner.worker(), &model, key, &mut update)?;
            Ok((update, loss))
        });
        let (update, loss) = trained.map_err(|error: fedflip_learn::LearnError| Failure::from(error))?;
        Ok((PyArray1::from_vec(py, update), loss))
    }

    /// The metrics of a model on the test samples.
    fn evaluate(&self, py: Python<'_>, model: PyReadonlyArray1<'_, f32>) -> PyResult<Vec<(String, f64)>> {
        let model = self.checked_model(py, &model)?;
        let metrics =
            py.detach(|| self.learner.evaluate(&mut self.learner.worker(), &model)).map_err(Failure::from)?;
        Ok(metrics.iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

impl TaskData {
    fn checked_samples(&self, py: Python<'_>, device: usize) -> Result<usize, Failure> {
        let devices = self.learner.devices();
        if device < devices {
            return Ok(self.learner.samples(device));
        }
        let problem = format!("device: {device} is outside the {devices} devices of the task");
        let remedy = format!("positions run from 0 to {}", devices.saturating_sub(1));
        Err(Failure::input(problem, remedy).at("device").of(py, device))
    }

    fn checked_model(
        &self,
        py: Python<'_>,
        model: &PyReadonlyArray1<'_, f32>,
    ) -> Result<Arc<[f32]>, Failure> {
        let (have, want) = (model.as_array().len(), self.learner.params_len());
        if have == want {
            return Ok(model.as_array().iter().copied().collect());
        }
        let problem = format!("model: it has {have} parameters, and the network has {want}");
        let remedy = "give a flat vector of all parameters, such as that of initial_vector()";
        Err(Failure::input(problem, remedy).at("model").of(py, have))
    }

    fn room(&self, samples: usize) -> (Vec<f32>, Vec<f32>) {
        (vec![0.0; samples * self.learner.network().input_len()], vec![0.0; samples])
    }

    fn arrays<'py>(&self, py: Python<'py>, features: Vec<f32>, labels: Vec<f32>) -> PyResult<Samples<'py>> {
        let shape = [labels.len(), self.learner.network().input_len()];
        Ok((PyArray1::from_vec(py, features).reshape(shape)?, PyArray1::from_vec(py, labels)))
    }
}

/// Height, width and channels of pictures; the length of a text's window.
pub(super) fn sample_shape(set: &SetSpec, sample_len: usize) -> Vec<usize> {
    let channels = set.channels.len();
    let side = sample_len.checked_div(channels).map_or(0, usize::isqrt);
    if side * side * channels == sample_len && channels > 0 {
        vec![side, side, channels]
    } else {
        vec![sample_len]
    }
}
