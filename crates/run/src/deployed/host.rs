//! The server's part of the task.

use std::path::Path;
use std::sync::Arc;

use fedflip_fleet::ModelVector;
use fedflip_learn::layer::ParamSpec;
use fedflip_learn::sgd::SgdLearner;
use fedflip_learn::{Learner, Metric};
use fedflip_net::server::NormBound;
use fedflip_scenario::{Scenario, Where};
use tracing::info;

use super::error::DeployError;
use super::evaluator::{ForeignEvaluation, ForeignEvaluator};
use crate::error::RunError;
use crate::session::Session;

/// The server's part of the task: it evaluates models, and trains once to learn how large an update is. Of an external
/// task it knows the tensors alone: a program may evaluate the model in its place, and nobody trains.
pub struct Host {
    pub(super) learner: Option<SgdLearner>,
    /// Evaluates on the test samples at the end of a run, if the other one looks at validation samples.
    pub(super) test: Option<SgdLearner>,
    /// Evaluates instead of the learner.
    foreign: Option<ForeignEvaluator>,
    pub(super) params: Vec<(String, ParamSpec)>,
    /// Whether the learner holds what devices train on.
    knows_samples: bool,
    /// The first model, where the scenario names a file.
    initial: Option<ModelVector>,
}

/// Whoever evaluates the models of a run.
pub(super) enum Evaluator<'a> {
    /// The learner of a task that fedflip has.
    Learner(&'a SgdLearner),
    /// The program that serves the scenario.
    Foreign(&'a ForeignEvaluator),
    /// Nobody: the records hold training losses alone.
    Nobody,
}

impl Host {
    /// Reads the data on which models are evaluated, if the server evaluates them.
    pub fn new(scenario: &Scenario, session: &mut Session<'_>) -> Result<Self, RunError> {
        let what = format!("reading the data of {}", scenario.task.name());
        let Session { observers, data_dir, .. } = session;
        let (learner, test, params) = match scenario.external()? {
            Some(task) => (None, None, task.params().to_vec()),
            None => {
                let settings = scenario.task_settings();
                // Devices evaluate models, and a server without files has nothing to read.
                let has_nothing = scenario.device_evaluation().is_some() && scenario.data.own.test.is_empty();
                let (learner, test) = match scenario.data.own.place {
                    Where::Devices if has_nothing => (settings.learner_without_samples()?, None),
                    Where::Devices => (observers.while_working(&what, || settings.server_learner())?, None),
                    Where::Here => {
                        let learners = observers.while_working(&what, || settings.learners(data_dir))?;
                        (learners.learner, learners.test)
                    }
                };
                let params = learner.network().params();
                (Some(learner), test, params)
            }
        };
        let initial = scenario.initial_model(&params)?;
        let knows_samples = scenario.data.own.place == Where::Here;
        Ok(Self { learner, test, foreign: None, params, knows_samples, initial })
    }

    /// The same host with evaluations by a program. A new run is evaluated once, so that what the program reports is known
    /// before a device joins.
    pub(super) fn evaluated_by(
        mut self,
        evaluation: ForeignEvaluation,
        (scenario, out): (&Scenario, &Path),
        pilots: bool,
    ) -> Result<Self, RunError> {
        let initial = self.initial_model(scenario.seed);
        let evaluator = ForeignEvaluator::new(evaluation, (scenario, out), initial)?;
        evaluator.check(scenario.target(), pilots)?;
        // Test samples that only the task's own learner knows would have other metrics.
        (self.foreign, self.test) = (Some(evaluator), None);
        Ok(self)
    }

    /// The number of parameters of the model.
    pub fn parameters(&self) -> usize {
        self.params.iter().map(|(_, spec)| spec.len()).sum()
    }

    /// The largest norm of an update: that of the scenario, or else one that a trial gives.
    pub fn update_norm(&self, scenario: &Scenario, session: &mut Session<'_>) -> Result<NormBound, RunError> {
        if let Some(most) = scenario.server.update_norm_max {
            return Ok(NormBound::Configured(most));
        }
        let learner = self.learner.as_ref().ok_or(DeployError::NoUpdateNorm)?;
        let what = "training one update, to know how large updates are";
        let trial = || NormBound::of_trial(learner, scenario.seed);
        let bound = session.observers.while_working(what, trial)?;
        info!(norm_max = bound.norm_max(), "a trial bounds the updates of devices");
        Ok(bound)
    }

    /// The sample count of each device, as far as the server knows: nobody else knows data that are on
    /// devices.
    pub fn samples(&self) -> Arc<[u64]> {
        let samples = |learner: &SgdLearner| -> Vec<u64> {
            (0..learner.devices()).map(|slot| learner.samples(slot) as u64).collect()
        };
        self.learner.as_ref().filter(|_| self.knows_samples).map(samples).unwrap_or_default().into()
    }

    pub(super) fn evaluator(&self) -> Evaluator<'_> {
        match (&self.foreign, &self.learner) {
            (Some(foreign), _) => Evaluator::Foreign(foreign),
            (None, Some(learner)) => Evaluator::Learner(learner),
            (None, None) => Evaluator::Nobody,
        }
    }

    pub(super) fn metrics(&self) -> &[Metric] {
        match self.evaluator() {
            Evaluator::Learner(learner) => learner.metrics(),
            Evaluator::Foreign(foreign) => foreign.metrics(),
            Evaluator::Nobody => &[],
        }
    }

    pub(super) fn initial_model(&self, seed: u64) -> ModelVector {
        let made = || self.learner.as_ref().map(|learner| learner.initial_model(seed));
        self.initial.clone().or_else(made).unwrap_or_else(|| ModelVector::new(vec![0.0; self.parameters()]))
    }
}
