//! The server's part of the task, and the task as devices are told.

use std::sync::Arc;

use fedflip_fleet::{Band, ModelVector};
use fedflip_learn::layer::ParamSpec;
use fedflip_learn::sgd::SgdLearner;
use fedflip_learn::{LearnError, Learner, Metric};
use fedflip_net::agent::OfferedTask;
use fedflip_net::measure::Signals;
use fedflip_net::server::NormBound;
use fedflip_scenario::{FleetSource, Scenario, Where};
use tracing::info;

use crate::error::RunError;
use crate::session::Session;

/// The server's part of the task: it evaluates models, and trains once to learn how large an update is. Of an external
/// task it knows the tensors alone, and does neither.
pub struct Host {
    pub(super) learner: Option<SgdLearner>,
    /// Evaluates on the test samples at the end of a run, if the other one looks at validation samples.
    pub(super) test: Option<SgdLearner>,
    pub(super) params: Vec<(String, ParamSpec)>,
    /// Whether the learner holds what devices train on.
    knows_samples: bool,
    /// The first model, where the scenario names a file.
    initial: Option<ModelVector>,
}

/// The task as devices are told.
pub fn offered(scenario: &Scenario) -> Result<OfferedTask, RunError> {
    Ok(match scenario.external()? {
        Some(task) => OfferedTask::External(task),
        None => OfferedTask::BuiltIn(scenario.task_settings()),
    })
}

/// The rate of timed transfers, and the signals that a fleet file gives devices where the band is spectrum. One device has
/// the whole band for its transfer, at the rate of the best signal.
pub fn band(scenario: &Scenario) -> (f64, Signals) {
    let band = scenario.round_costs().band;
    match (&scenario.fleet, band) {
        (FleetSource::File { fleet, .. }, Band::Shannon(_)) => {
            let rates = (0..fleet.len()).map(|device| band.alone_mbps(fleet.link(device)));
            (rates.fold(f64::MIN_POSITIVE, f64::max), Signals::of_fleet(fleet))
        }
        _ => (scenario.bandwidth.get(), Signals::default()),
    }
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
        Ok(Self { learner, test, params, knows_samples, initial })
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
        // A scenario of an external task has a bound.
        let learner = self.learner.as_ref().ok_or(LearnError::NoNetwork)?;
        let what = "training one update, to know how large updates are";
        let trial = || NormBound::of_trial(learner, scenario.seed);
        let bound = session.observers.while_working(what, trial)?;
        info!(?bound, "updates of devices are bounded by a trial");
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

    pub(super) fn metrics(&self) -> &[Metric] {
        self.learner.as_ref().map_or(&[], Learner::metrics)
    }

    pub(super) fn initial_model(&self, seed: u64) -> ModelVector {
        let made = || self.learner.as_ref().map(|learner| learner.initial_model(seed));
        self.initial.clone().or_else(made).unwrap_or_else(|| ModelVector::new(vec![0.0; self.parameters()]))
    }
}
