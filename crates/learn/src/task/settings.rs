//! How a task is shared among devices and trained.

use std::path::Path;
use std::sync::Arc;

use crate::error::LearnError;
use crate::metrics::{self, Metric};
use crate::network::Network;
use crate::own::{OwnData, OwnDigests, OwnSamples, Shared};
use crate::partition::{self, Dirichlet, Minimum, Partition, PartitionError};
use crate::partitioned::{Partitioned, SampleStore};
use crate::sgd::{SgdLearner, SgdSettings};
use crate::shards::Shards;
use crate::synthetic::Synthetic;
use crate::task::{Source, Task, TaskError};
use fedflip_datasets::{Dataset, Split, load};

/// The most memory that one worker's buffers may take.
const BUFFER_BYTES_MAX: u64 = 16_000_000_000;

/// The learning rate and the number of test samples of a task whose row has no default for them.
const LEARNING_RATE: f64 = 0.01;
const TEST_SAMPLES_MAX: f64 = 2_000.0;

/// How the samples of a data set are shared among devices.
#[derive(Clone, Debug, PartialEq)]
pub enum Sharing {
    /// Every device has the same number of samples, drawn at random.
    Iid,
    /// Every class is shared by proportions of its own.
    Dirichlet(Dirichlet),
    /// Every device has whole roles of the plays.
    ByRole,
    /// Every device has the samples that carry its name.
    ByDevice,
    /// Device n has this number of samples, drawn at random.
    Fleet(Arc<[u64]>),
}

impl Sharing {
    /// The names of all ways.
    pub const NAMES: [&str; 5] = ["dirichlet", "iid", "by-role", "by-device", "fleet"];

    /// The name in scenarios and in the rows of tasks.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Dirichlet(_) => "dirichlet",
            Self::Iid => "iid",
            Self::ByRole => "by-role",
            Self::ByDevice => "by-device",
            Self::Fleet(_) => "fleet",
        }
    }

    /// The paper's way: Dirichlet(0.8).
    pub fn paper() -> Self {
        Self::Dirichlet(Dirichlet { concentration: 0.8, min_samples: 32 })
    }
}

/// All that decides what devices learn from: equal settings and equal files give equal batches.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskSettings {
    /// What is learnt, and by which network.
    pub task: Task,
    /// How many devices share the data.
    pub devices: usize,
    /// How the data are shared; this does not matter for synthetic data, which every device generates itself.
    pub sharing: Sharing,
    /// The most test samples that an evaluation takes.
    pub test_samples_max: usize,
    /// The seed of synthetic data, and of how samples are shared.
    pub data_seed: u64,
    /// The share of every device's training samples that is held out: models are evaluated on these samples while a run
    /// continues, and on the test samples once at its end.
    pub validation: f64,
    /// The settings of local training.
    pub sgd: SgdSettings,
    /// The files of a task that trains on the user's own.
    pub own: OwnData,
}

/// A task that is ready to train.
pub struct Learners {
    /// Trains, and evaluates on the validation samples, or on the test samples if none are held out.
    pub learner: SgdLearner,
    /// Evaluates on the test samples, if the other one does not.
    pub test: Option<SgdLearner>,
    /// How many samples devices ended up with.
    pub sharing: SharingReport,
    /// For each device the names under which the user's own data have its samples; empty if the data do not decide.
    pub holders: Vec<Vec<String>>,
    /// The digests of the user's own data.
    pub digests: OwnDigests,
}

/// How many samples devices ended up with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharingReport {
    /// The samples of all devices together.
    pub samples: usize,
    /// The samples of the device that has fewest.
    pub fewest: usize,
    /// The samples of the device that has most.
    pub most: usize,
    /// How every device got the minimum; none for synthetic data.
    pub minimum: Option<Minimum>,
}

impl TaskSettings {
    /// The paper's settings of a task.
    pub fn paper(task: Task, devices: usize) -> Self {
        let default = |key, otherwise| task.row().default_number(key).unwrap_or(otherwise);
        let learning_rate = default("train.learning_rate", LEARNING_RATE) as f32;
        Self {
            task,
            devices,
            sharing: Sharing::paper(),
            test_samples_max: default("data.test_samples_max", TEST_SAMPLES_MAX) as usize,
            data_seed: 1,
            validation: 0.0,
            own: OwnData::default(),
            sgd: SgdSettings::plain(learning_rate, 32, 10),
        }
    }

    /// Reads the data, shares them among the devices, and prepares to train. `data_dir` is where `fedflip data get` puts
    /// data sets.
    pub fn learner(&self, data_dir: &Path) -> Result<(SgdLearner, SharingReport), TaskError> {
        self.learners(data_dir).map(|Learners { learner, sharing, .. }| (learner, sharing))
    }

    /// The same, and what evaluates on the test samples where validation samples are held out.
    pub fn learners(&self, data_dir: &Path) -> Result<Learners, TaskError> {
        // What costs nothing to refuse is refused before files are read.
        self.checked_network()?;
        let Data { shards, test, minimum, holders, digests } = self.data(data_dir)?;
        let counts = || (0..shards.devices()).map(|device| shards.samples(device));
        let sharing = SharingReport {
            samples: counts().sum(),
            fewest: counts().min().unwrap_or(0),
            most: counts().max().unwrap_or(0),
            minimum,
        };
        let test = test.map(|shards| self.learner_on(shards)).transpose()?;
        Ok(Learners { learner: self.learner_on(shards)?, test, sharing, holders, digests })
    }

    /// The network, if a worker's buffers for it fit into memory.
    pub(crate) fn checked_network(&self) -> Result<Network<f32>, LearnError> {
        let (network, batch) = (self.task.network()?, self.sgd.checked()?.batch);
        if network.buffer_bytes(batch) > BUFFER_BYTES_MAX {
            let wanted = "small enough for a worker's buffers to take at most 16 GB";
            return Err(LearnError::BadSetting { name: "batch", value: batch as f64, wanted });
        }
        Ok(network)
    }

    /// The metrics of an evaluation.
    pub(crate) fn metrics(&self) -> Vec<Metric> {
        self.task.metrics().iter().filter_map(|name| metrics::metric(name).cloned()).collect()
    }

    fn data(&self, data_dir: &Path) -> Result<Data, TaskError> {
        if self.devices == 0 {
            return Err(PartitionError::NoDevices.into());
        }
        match self.task.source() {
            Source::Synthetic(spread) => {
                let data = Synthetic::new(spread, self.devices, self.test_samples_max, self.data_seed)?;
                Ok(Data::new(Box::new(data), None, None))
            }
            Source::DataSet(set) => {
                self.check_sharing()?;
                let dataset = load::load(set, data_dir)?;
                let partition = self.partition(&dataset)?;
                let test: Vec<u32> = dataset.positions(Split::Test).collect();
                let store: Arc<dyn SampleStore> = Arc::new(dataset);
                self.held_out(&store, partition, None, &test)
            }
            Source::Own => {
                self.check_sharing()?;
                let mut samples = OwnSamples::read(&self.own, self.task.params())?;
                let digests = samples.digests();
                let tails = samples.hold_out_text(self.validation);
                let fleet = (self.devices, &self.own.fleet[..]);
                let Shared { partition, holders } =
                    samples.partition(&self.sharing, fleet, self.data_seed)?;
                let test = samples.test_positions();
                let store: Arc<dyn SampleStore> = Arc::new(samples);
                let data = self.held_out(&store, partition, tails, &test)?;
                Ok(Data { holders, digests, ..data })
            }
        }
    }

    /// The samples of all devices, after the validation samples are taken out: those that were held out before, or else
    /// a share of every device's.
    fn held_out(
        &self,
        store: &Arc<dyn SampleStore>,
        partition: Partition,
        before: Option<Vec<u32>>,
        test: &[u32],
    ) -> Result<Data, TaskError> {
        let (partition, validation) = match before {
            Some(validation) => (partition, validation),
            None if self.validation > 0.0 => partition.hold_out(self.validation, self.data_seed),
            None => (partition, Vec::new()),
        };
        if self.validation == 0.0 && test.is_empty() {
            return Err(TaskError::NothingToEvaluate);
        }
        if self.validation > 0.0 && validation.is_empty() {
            return Err(PartitionError::NothingHeldOut { share: self.validation }.into());
        }
        let minimum = Some(partition.minimum());
        let partition = Arc::new(partition);
        let on = |evaluated: &[u32]| -> Box<dyn Shards> {
            let (store, partition) = (Arc::clone(store), Arc::clone(&partition));
            Box::new(Partitioned::new(store, partition, evaluated, self.test_samples_max))
        };
        Ok(match validation.is_empty() {
            true => Data::new(on(test), None, minimum),
            false => {
                let test = (!test.is_empty()).then(|| on(test));
                Data::new(on(&validation), test, minimum)
            }
        })
    }

    fn check_sharing(&self) -> Result<(), TaskError> {
        let (task, sharing, known) = (self.task.name(), self.sharing.name(), self.task.row().sharings);
        if known.contains(&sharing) { Ok(()) } else { Err(TaskError::NoSuchSharing { task, sharing, known }) }
    }

    fn partition(&self, dataset: &Dataset) -> Result<Partition, PartitionError> {
        let (devices, seed) = (self.devices, self.data_seed);
        let positions = || dataset.positions(Split::Train);
        match &self.sharing {
            Sharing::Iid => partition::iid(positions(), devices, seed),
            Sharing::Dirichlet(recipe) => {
                let labelled = positions().map(|at| (at, dataset.label(at).into()));
                partition::dirichlet(labelled, devices, *recipe, seed)
            }
            Sharing::ByRole => partition::by_role(dataset.ranges(Split::Train), devices, 1, seed),
            Sharing::Fleet(counts) => partition::by_counts(positions(), counts, seed),
            Sharing::ByDevice => Err(PartitionError::NoHolders),
        }
    }
}

/// The samples of a task.
struct Data {
    shards: Box<dyn Shards>,
    /// With the test samples, if the others have validation samples.
    test: Option<Box<dyn Shards>>,
    minimum: Option<Minimum>,
    holders: Vec<Vec<String>>,
    digests: OwnDigests,
}

impl Data {
    fn new(shards: Box<dyn Shards>, test: Option<Box<dyn Shards>>, minimum: Option<Minimum>) -> Self {
        Self { shards, test, minimum, holders: Vec::new(), digests: OwnDigests::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::Learner;
    use crate::sgd::Steps;

    fn synthetic(devices: usize) -> TaskSettings {
        TaskSettings::paper("synthetic".parse().unwrap(), devices)
    }

    #[test]
    fn the_papers_settings() {
        for name in Task::names() {
            let task: Task = name.parse().unwrap();
            let TaskSettings { sharing, sgd, .. } = TaskSettings::paper(task, 100);
            let Sharing::Dirichlet(Dirichlet { concentration, .. }) = sharing else { panic!("{sharing:?}") };
            let rate = match name {
                "shakespeare-lstm" => 0.8,
                "own" => 0.05,
                _ => 0.01,
            };
            assert_eq!(
                (concentration, sgd.batch, sgd.steps, sgd.learning_rate),
                (0.8, 32, Steps::Iterations(10), rate)
            );
        }
    }

    #[test]
    fn synthetic_needs_no_files_and_reports_its_sizes() {
        let (learner, report) = synthetic(30).learner(Path::new("nowhere")).unwrap();
        let sizes: Vec<usize> = (0..30).map(|device| learner.samples(device)).collect();
        assert_eq!(learner.devices(), 30);
        assert_eq!(
            report,
            SharingReport {
                samples: sizes.iter().sum(),
                fewest: *sizes.iter().min().unwrap(),
                most: *sizes.iter().max().unwrap(),
                minimum: None
            }
        );
    }

    #[test]
    fn what_cannot_be_had_is_said_before_files_are_read() {
        let refused = |settings: TaskSettings| match settings.learner(Path::new("nowhere")) {
            Ok(_) => panic!("{settings:?} was taken"),
            Err(error) => error.to_string() + ": " + &error.hint(),
        };
        assert!(refused(synthetic(0)).contains("no devices"));
        let mut settings = TaskSettings::paper("mnist-cnn".parse().unwrap(), 10);
        assert!(refused(settings.clone()).contains("get the data set mnist first"));
        settings.sharing = Sharing::ByRole;
        assert!(
            refused(settings.clone())
                .contains("cannot be shared by-role: share by dirichlet or iid or fleet")
        );
        settings.sgd.batch = 0;
        assert!(refused(settings).contains("batch"));
        let mut wide = TaskSettings::paper("cifar10-mobilenet".parse().unwrap(), 10);
        wide.sgd.batch = 65_536;
        assert!(refused(wide).contains("16 GB"));
    }
}
