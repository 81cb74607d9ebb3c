//! The seam between an agent and whatever trains the model on its device.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use fedflip_fleet::ModelVector;
use fedflip_learn::learner::pieces;
use fedflip_learn::task::TaskError;
use fedflip_learn::{LearnError, Learner, Sums, TrainKey};
use fedflip_samples::files;

use super::own_files::OwnFiles;
use crate::error::NetError;
use crate::wire::task::{OfferedTask, TaskMismatch};

/// Prepares the training of whatever task a server offers. A closure does, too.
pub trait PrepareTask: Send + Sync {
    /// Reads this device's data for the task, or refuses it. It is called once for each task, not for each connection.
    fn prepare(&self, offered: &OfferedTask) -> Result<Box<dyn DeviceTraining>, NetError>;
}

impl<F> PrepareTask for F
where
    F: Fn(&OfferedTask) -> Result<Box<dyn DeviceTraining>, NetError> + Send + Sync,
{
    fn prepare(&self, offered: &OfferedTask) -> Result<Box<dyn DeviceTraining>, NetError> {
        self(offered)
    }
}

/// A [`Learner`] on one device, whatever its type; [`DeviceLearner`] makes one of every learner.
pub trait DeviceTraining: Send + Sync {
    fn params_len(&self) -> usize;
    /// The number of samples of the device at `slot`, which is this device.
    fn samples(&self, slot: usize) -> usize;
    /// A model to measure this device with before the first round.
    fn initial_model(&self, seed: u64) -> ModelVector;
    /// Trains from `model` and writes the update; the device of `key` is this device's slot.
    fn train(&self, model: &[f32], key: TrainKey, update: &mut [f32]) -> Result<f64, LearnError>;
    /// Scores `model` on the samples that this device holds out; by default there are none.
    fn evaluate(&self, _model: &[f32]) -> Result<Sums, LearnError> {
        Ok(Sums::default())
    }
}

/// A learner with the buffers of one worker.
pub struct DeviceLearner<L: Learner> {
    learner: L,
    /// One training at a time, with buffers that are kept.
    worker: Mutex<L::Worker>,
    holds: DataScope,
}

/// Whose data a learner holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DataScope {
    /// Those of every device: the slot says which are this device's.
    AllDevices,
    /// Those of this device alone, which the learner calls device 0.
    ThisDevice,
    /// Those of this device alone, whatever the device is called: its slot decides its random streams.
    AnySlot,
}

impl<L: Learner + Send> DeviceLearner<L> {
    /// Of a learner that holds the data of all devices, each at its slot.
    pub fn of_all_devices(learner: L) -> Self {
        Self::new(learner, DataScope::AllDevices)
    }

    /// Of a learner that holds the data of this device alone, as its device 0.
    pub fn of_this_device(learner: L) -> Self {
        Self::new(learner, DataScope::ThisDevice)
    }

    /// Of a learner that holds the data of this device alone, and takes any slot for it.
    pub fn of_any_slot(learner: L) -> Self {
        Self::new(learner, DataScope::AnySlot)
    }

    fn new(learner: L, holds: DataScope) -> Self {
        let worker = Mutex::new(learner.worker());
        Self { learner, worker, holds }
    }

    fn device(&self, slot: usize) -> usize {
        if self.holds == DataScope::ThisDevice { 0 } else { slot }
    }
}

impl<L: Learner + Send> DeviceTraining for DeviceLearner<L> {
    fn params_len(&self) -> usize {
        self.learner.params_len()
    }

    fn samples(&self, slot: usize) -> usize {
        let device = if self.holds == DataScope::AnySlot { 0 } else { self.device(slot) };
        if device < self.learner.devices() { self.learner.samples(device) } else { 0 }
    }

    fn initial_model(&self, seed: u64) -> ModelVector {
        self.learner.initial_model(seed)
    }

    fn train(&self, model: &[f32], key: TrainKey, update: &mut [f32]) -> Result<f64, LearnError> {
        // Buffers hold nothing between calls, so a panic leaves nothing behind.
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        self.learner.train(&mut worker, model, TrainKey { device: self.device(key.device), ..key }, update)
    }

    /// Test samples that all devices have in common are not this device's to report.
    fn evaluate(&self, model: &[f32]) -> Result<Sums, LearnError> {
        let mut total = Sums::default();
        if self.holds == DataScope::AllDevices {
            return Ok(total);
        }
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        for piece in pieces(self.learner.test_samples()) {
            self.learner.score(&mut worker, model, piece, &mut total)?;
        }
        Ok(total)
    }
}

/// Trains the tasks that fedflip includes, on the device's share of a public data set, or on its own files.
#[derive(Clone, Debug)]
pub struct BuiltInTasks {
    /// The folder of data sets.
    pub data_dir: PathBuf,
    /// Files, folders and patterns of the device's own samples, for tasks whose data are on devices.
    pub own: Vec<PathBuf>,
}

impl BuiltInTasks {
    /// With the data sets in a folder, for [`AgentSettings`](super::AgentSettings).
    pub fn in_folder(data_dir: impl Into<PathBuf>) -> Arc<dyn PrepareTask> {
        Arc::new(Self { data_dir: data_dir.into(), own: Vec::new() })
    }

    /// Refuses names of own files for which there is no file.
    pub fn check_files(&self) -> Result<(), NetError> {
        Ok(files::expanded(&self.own).map(drop).map_err(TaskError::from)?)
    }
}

impl PrepareTask for BuiltInTasks {
    fn prepare(&self, offered: &OfferedTask) -> Result<Box<dyn DeviceTraining>, NetError> {
        let task = offered.name();
        match offered {
            OfferedTask::BuiltIn(_) if offered.is_on_devices() && self.own.is_empty() => {
                Err(NetError::NoOwnData { task })
            }
            OfferedTask::BuiltIn(settings) if offered.is_on_devices() => {
                Ok(Box::new(OwnFiles::read(settings, &self.own)?))
            }
            // Whoever names files expects that they are trained on.
            OfferedTask::BuiltIn(_) if !self.own.is_empty() => Err(NetError::OwnDataUnused { task }),
            OfferedTask::BuiltIn(settings) => {
                let (learner, _) = settings.learner(&self.data_dir)?;
                Ok(Box::new(DeviceLearner::of_all_devices(learner)))
            }
            OfferedTask::External(_) => Err(TaskMismatch::External.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Says which device it was asked for.
    struct Echo {
        devices: usize,
    }

    impl Learner for Echo {
        type Worker = ();

        fn devices(&self) -> usize {
            self.devices
        }
        fn samples(&self, device: usize) -> usize {
            10 + device
        }
        fn params_len(&self) -> usize {
            1
        }
        fn initial_model(&self, _: u64) -> ModelVector {
            ModelVector::new(vec![0.0])
        }
        fn worker(&self) {}
        fn train(&self, _: &mut (), _: &[f32], key: TrainKey, _: &mut [f32]) -> Result<f64, LearnError> {
            Ok(key.device as f64)
        }
    }

    #[test]
    fn own_files_and_the_task_must_fit_each_other() {
        let refused = |task: &str, own: &[&str]| {
            let settings = fedflip_learn::task::TaskSettings::paper(task.parse().unwrap(), 1);
            let own = own.iter().map(PathBuf::from).collect();
            let prepared =
                BuiltInTasks { data_dir: PathBuf::new(), own }.prepare(&OfferedTask::BuiltIn(settings));
            prepared.err()
        };
        assert!(matches!(
            refused("synthetic", &["mine.npz"]),
            Some(NetError::OwnDataUnused { task: "synthetic" })
        ));
        assert!(matches!(refused("own", &[]), Some(NetError::NoOwnData { task: "own" })));
        assert!(refused("synthetic", &[]).is_none());
    }

    #[test]
    fn the_slot_finds_the_devices_data() {
        let asked = |training: &dyn DeviceTraining, slot| {
            let device = training.train(&[0.0], TrainKey::new(1, 1, slot), &mut [0.0]).unwrap();
            (training.samples(slot), device)
        };
        let shared = DeviceLearner::of_all_devices(Echo { devices: 8 });
        assert_eq!(asked(&shared, 7), (17, 7.0));
        assert_eq!(shared.samples(8), 0, "there is no such device");
        let own = DeviceLearner::of_this_device(Echo { devices: 1 });
        assert_eq!(asked(&own, 7), (10, 0.0), "whatever its slot, its data are its own");
    }
}
