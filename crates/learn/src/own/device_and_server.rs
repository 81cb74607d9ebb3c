//! Learners for those who do not hold all data: a device with its own files, and a server with test files alone.

use std::sync::Arc;

use crate::error::LearnError;
use crate::partition;
use crate::partitioned::{Partitioned, SampleStore};
use crate::sgd::SgdLearner;
use crate::shards::{SampleBuffer, Shards};
use crate::task::{TaskError, TaskSettings};

use super::OwnSamples;

/// The samples of one device, whatever its position in the fleet: the position decides its random streams only.
struct OneDevice(Partitioned);

impl Shards for OneDevice {
    fn devices(&self) -> usize {
        1
    }

    fn samples(&self, _device: usize) -> usize {
        self.0.samples(0)
    }

    fn samples_max(&self) -> usize {
        self.0.samples(0)
    }

    fn write_batch(
        &self,
        _device: usize,
        made: &SampleBuffer,
        picks: &[u32],
        features: &mut [f32],
        labels: &mut [f32],
    ) {
        self.0.write_batch(0, made, picks, features, labels);
    }

    fn test_samples(&self) -> usize {
        self.0.test_samples()
    }

    fn write_test_batch(&self, first: usize, features: &mut [f32], labels: &mut [f32]) {
        self.0.write_test_batch(first, features, labels);
    }
}

/// No samples at all, for a server that leaves training and evaluation to devices.
struct NoSamples;

impl Shards for NoSamples {
    fn devices(&self) -> usize {
        0
    }

    fn samples(&self, _device: usize) -> usize {
        0
    }

    fn write_batch(&self, _: usize, _: &SampleBuffer, _: &[u32], _: &mut [f32], _: &mut [f32]) {}

    fn test_samples(&self) -> usize {
        0
    }

    fn write_test_batch(&self, _: usize, _: &mut [f32], _: &mut [f32]) {}
}

impl TaskSettings {
    /// A learner for a server that leaves training and evaluation to devices: it knows the network and the metrics.
    pub fn learner_without_samples(&self) -> Result<SgdLearner, TaskError> {
        Ok(self.learner_on(Box::new(NoSamples))?)
    }

    /// A learner for a device that trains on all of its own training files, and on nothing else. Its samples are checked
    /// against what the task declares. It evaluates on the share that is held out.
    pub fn device_learner(&self) -> Result<SgdLearner, TaskError> {
        let mut samples = OwnSamples::read(&self.own, self.task.params())?;
        let tails = samples.hold_out_text(self.validation);
        let all = partition::iid(samples.train_positions(), 1, self.data_seed)?;
        let (kept, held) = match tails {
            Some(tails) => (all, tails),
            None => all.hold_out(self.validation, self.data_seed),
        };
        // A device looks at all that it holds out: the cap on test samples is the server's.
        self.one_device(samples, kept, &held, held.len())
    }

    /// A learner for a server whose devices keep their data: it evaluates on its test files. A trial of how large an update
    /// is trains on these, too.
    pub fn server_learner(&self) -> Result<SgdLearner, TaskError> {
        let own = super::OwnData { train: self.own.test.clone(), test: Vec::new(), ..self.own.clone() };
        let samples = OwnSamples::read(&own, self.task.params())?;
        let positions = samples.train_positions();
        let all = partition::iid(positions.iter().copied(), 1, self.data_seed)?;
        self.one_device(samples, all, &positions, self.test_samples_max)
    }

    fn one_device(
        &self,
        samples: OwnSamples,
        partition: partition::Partition,
        evaluated: &[u32],
        most: usize,
    ) -> Result<SgdLearner, TaskError> {
        let store: Arc<dyn SampleStore> = Arc::new(samples);
        let shards = Partitioned::new(store, Arc::new(partition), evaluated, most);
        Ok(self.learner_on(Box::new(OneDevice(shards)))?)
    }

    /// The network of the task on these samples.
    pub(crate) fn learner_on(&self, shards: Box<dyn Shards>) -> Result<SgdLearner, LearnError> {
        Ok(SgdLearner::new(self.checked_network()?, shards, self.sgd)?.with_metrics(self.metrics()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::Learner;
    use crate::own::OwnData;
    use crate::task::{ParamValue, Sizes, Task};

    #[test]
    fn a_device_evaluates_on_all_that_it_holds_out_and_a_server_on_its_test_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mine.csv");
        let rows: String = (0..50).map(|n| format!("{n},{},{}\n", n % 7, n % 2)).collect();
        std::fs::write(&file, format!("a,b,label\n{rows}")).unwrap();
        let shape = ParamValue::Sizes(Sizes::new(&[2]).unwrap());
        let task = Task::by_name("own").unwrap().with("shape", shape).unwrap();
        // A device is told of a single test sample, because usually it evaluates nothing.
        let told = TaskSettings { test_samples_max: 1, validation: 0.2, ..TaskSettings::paper(task, 9) };
        let own = OwnData { train: vec![file.clone()], ..OwnData::default() };
        let device = TaskSettings { own, ..told.clone() }.device_learner().unwrap();
        let held = device.test_samples();
        assert!((1..25).contains(&held) && device.samples(7) == 50 - held, "whatever its slot");
        let own = OwnData { test: vec![file], ..OwnData::default() };
        let server = TaskSettings { own, test_samples_max: 25, ..told }.server_learner().unwrap();
        assert_eq!((server.samples(0), server.test_samples()), (50, 25));
    }
}
