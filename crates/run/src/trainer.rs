//! What trains and evaluates the runs of a setup: the native kernels, or a learner of a program's own.

use std::path::PathBuf;
use std::sync::Arc;

use fedflip_fleet::{Metrics, ModelVector};
use fedflip_learn::layer::ParamSpec;
use fedflip_learn::sgd::SgdLearner;
use fedflip_learn::{Crew, LearnError, Learner, Metric, with_crew};
use fedflip_scenario::Scenario;
use serde::{Deserialize, Serialize};

/// Trains and evaluates. A program with a learner of its own implements it, and makes a [`Setup`](crate::Setup) of it.
pub trait Trainer: Send + Sync {
    /// The tensors of the model by name, in the order in which a model holds their numbers.
    fn params(&self) -> Vec<(String, ParamSpec)>;

    /// The metrics of an evaluation; the first one is the headline.
    fn metrics(&self) -> &[Metric];

    /// The model before the first round.
    fn initial_model(&self, seed: u64) -> Result<ModelVector, LearnError>;

    /// Calls `body` once with a crew of at most `threads` workers of this process.
    fn with_crew(&self, threads: usize, body: &mut dyn FnMut(&mut dyn Crew)) -> Result<(), LearnError>;

    /// The workers of a host, where they train in the place of threads, for `host.json`.
    fn workers(&self) -> Option<WorkersNote> {
        None
    }

    /// How many whole runs those workers do at the same time; 0 if they do none.
    fn runs_at_once(&self) -> usize {
        0
    }

    /// Lets those workers do whole runs, each on one of them. The folder of a run is there as soon as the run is over, as if it
    /// had been done here. Returns early, with some runs undone, soon after `stop` says so.
    fn whole_runs(&self, _runs: &[WholeRun], _stop: &dyn Fn() -> bool) -> Result<(), LearnError> {
        Ok(())
    }

    /// The metrics of a model on test samples that no evaluation has looked at before; none if there are no such samples.
    fn test(&self, _model: &Arc<ModelVector>, _threads: usize) -> Option<Result<Metrics, LearnError>> {
        None
    }
}

/// Workers of the program that hosts a run, such as those of a cluster, in the place of threads.
pub trait Crews: Send + Sync {
    /// What trains a scenario's task with these workers. `native` has the data of the same task in this process.
    fn trainer(&self, scenario: &Scenario, native: Arc<dyn Trainer>) -> Result<Arc<dyn Trainer>, LearnError>;
}

/// A run that one worker does from its beginning to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeRun {
    /// The scenario, which needs no files but that of its fleet.
    pub text: String,
    /// The fleet as CSV, if a file has it.
    pub fleet: Option<Vec<u8>>,
    /// Where the run goes.
    pub folder: PathBuf,
}

/// What `host.json` says of the workers of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkersNote {
    /// The kind of crew, such as `RayCrew`.
    pub crew: String,
    /// The workers that have joined.
    pub joined: usize,
    /// The workers that differ from the first one, each with what differs; empty if results do not depend on workers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mixed: Vec<String>,
}

/// The native kernels on a task's data.
pub struct NativeTrainer {
    /// Trains on the data of every device.
    pub learner: SgdLearner,
    /// Evaluates on the test samples at the end of a run, if the other one looks at validation samples.
    pub test: Option<SgdLearner>,
}

impl Trainer for NativeTrainer {
    fn params(&self) -> Vec<(String, ParamSpec)> {
        self.learner.network().params()
    }

    fn metrics(&self) -> &[Metric] {
        self.learner.metrics()
    }

    fn initial_model(&self, seed: u64) -> Result<ModelVector, LearnError> {
        Ok(self.learner.initial_model(seed))
    }

    fn with_crew(&self, threads: usize, body: &mut dyn FnMut(&mut dyn Crew)) -> Result<(), LearnError> {
        with_crew(&self.learner, threads, body);
        Ok(())
    }

    fn test(&self, model: &Arc<ModelVector>, threads: usize) -> Option<Result<Metrics, LearnError>> {
        let learner = self.test.as_ref()?;
        Some(with_crew(learner, threads, |crew| crew.evaluate(model)))
    }
}
