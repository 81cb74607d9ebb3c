//! What a test wants of its run, and the run itself, whatever clock and network the server has.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fedflip_engine::{Aggregation, Optimiser, Stop};
use fedflip_fleet::bandwidth::Division;
use fedflip_fleet::{Direction, Display, Downlink, Mbps, MetricInfo, ModelVector, RoundCosts, Secs, Weights};
use fedflip_learn::sgd::SgdLearner;
use fedflip_learn::task::TaskSettings;
use fedflip_learn::{Encoding, Learner};
use fedflip_net::NetError;
use fedflip_net::agent::OfferedTask;
use fedflip_net::door::Security;
use fedflip_net::measure::Signals;
use fedflip_net::server::{
    Callbacks, Deployment, Ended, FleetCapacity, NormBound, Observer, Offer, PlanStart, Planned, Server,
    Timeouts,
};
use fedflip_net::state::{NewRun, Resumed, RunState};
use fedflip_plan::{Quiet, Scheme};
use fedflip_record::{Header, Round, Target};

use crate::replay::{Replayed, replay};

pub(crate) const SEED: u64 = 1;

/// What a test wants of its run.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) devices: usize,
    pub(crate) devices_min: usize,
    /// The most devices at a time; by default all.
    pub(crate) devices_max: Option<usize>,
    pub(crate) rounds: u64,
    pub(crate) scheme: Scheme,
    pub(crate) optimiser: Optimiser,
    pub(crate) replan_every: Option<u64>,
    pub(crate) timeouts: Timeouts,
    pub(crate) security: Security,
    pub(crate) encoding: Encoding,
    pub(crate) download_encoding: Encoding,
    /// How downloads are counted.
    pub(crate) downlink: Downlink,
    /// The overhead that plans count on, if not the measured one.
    pub(crate) planned_overhead: Option<Secs>,
    pub(crate) quiet: Option<Quiet>,
    pub(crate) band_mbps: f64,
    pub(crate) deadline_secs: Option<f64>,
    /// Whether only devices know how many samples they hold.
    pub(crate) counts_unknown: bool,
    pub(crate) weights: Weights,
    /// The chance that a device evaluates the model of a round; without it, the server evaluates.
    pub(crate) device_evaluation: Option<f64>,
    pub(crate) target: Option<Target>,
    /// Whether the last model is evaluated on test samples, too.
    pub(crate) tested: bool,
}

impl Wanted {
    /// Everybody takes part in every round, and nobody is waited for long.
    pub(crate) fn full(devices: usize, rounds: u64) -> Self {
        let timeouts = Timeouts {
            window: Duration::from_millis(1500),
            quorum: 1.0,
            deadline_factor: 1.0,
            deadline_slack: Duration::from_millis(1500),
            come_back: Duration::from_millis(1000),
            finish: Duration::from_secs(1),
            ..Timeouts::default()
        };
        let (scheme, security) = (Scheme::Full, Security::Plain);
        let optimiser = Optimiser::default();
        Self {
            devices,
            devices_min: devices,
            devices_max: None,
            rounds,
            scheme,
            optimiser,
            replan_every: None,
            timeouts,
            security,
            encoding: Encoding::F32,
            download_encoding: Encoding::F32,
            downlink: Downlink::None,
            planned_overhead: None,
            quiet: None,
            band_mbps: 100.0,
            deadline_secs: None,
            counts_unknown: false,
            weights: Weights::Samples,
            device_evaluation: None,
            target: None,
            tested: false,
        }
    }

    pub(crate) fn task(&self) -> TaskSettings {
        TaskSettings {
            test_samples_max: 20,
            ..TaskSettings::paper("synthetic".parse().unwrap(), self.devices)
        }
    }

    pub(crate) fn learner(&self) -> SgdLearner {
        self.task().learner(Path::new("no data set is needed")).unwrap().0
    }

    /// Opens the run's folder; a new run gets a random identifier, or the one that is given.
    pub(crate) fn open(
        &self,
        folder: &Path,
        learner: &SgdLearner,
        run_id: Option<[u8; 16]>,
    ) -> Result<(RunState, Resumed), NetError> {
        let params = learner.network().params();
        let memory = self.optimiser.names();
        let new_run =
            NewRun { run_toml: "seed = 1\n", free_keys: &[], stop: None, params: &params, memory: &memory };
        match run_id {
            Some(run_id) => RunState::open_as(folder, &new_run, run_id),
            None => RunState::open(folder, &new_run),
        }
    }

    /// What the server tells devices.
    pub(crate) fn offer(&self, learner: &SgdLearner) -> Offer {
        Offer {
            task: OfferedTask::BuiltIn(self.task()),
            seed: SEED,
            parameters: learner.params_len(),
            samples: match self.counts_unknown {
                true => Default::default(),
                false => (0..self.devices).map(|slot| learner.samples(slot) as u64).collect(),
            },
            samples_max: 1_000_000,
            weights: self.weights.clone(),
            bandwidth_mbps: self.band_mbps,
            encoding: self.encoding,
            download_encoding: self.download_encoding,
            signals: Signals::default(),
            update_norm: NormBound::of_trial(learner, SEED).unwrap(),
            capacity: FleetCapacity {
                devices_max: self.devices_max.unwrap_or(self.devices),
                slots_max: Some(self.devices),
            },
        }
    }

    /// Enrolment, plans and rounds until the run is over or is to stop.
    pub(crate) fn run(
        &self,
        server: &Server,
        learner: &SgdLearner,
        state: (&mut RunState, Resumed),
        stop: &dyn Fn() -> bool,
    ) -> Result<Ended, NetError> {
        let (mut worker, mut tester) = (learner.worker(), learner.worker());
        let mut test = |model: &Arc<ModelVector>| learner.evaluate(&mut tester, model.as_slice());
        let mut callbacks = Callbacks {
            evaluate: &mut |model| learner.evaluate(&mut worker, model.as_slice()),
            metrics: learner.metrics(),
            test: self.tested.then_some(&mut test),
            stop,
            observer: &mut Nobody,
            enrolled: &mut |_| Ok(()),
        };
        let initial = || learner.initial_model(SEED);
        let header = |planned: &Planned| self.header(planned, learner.params_len());
        self.deployment().run(server, state, initial, &header, &mut callbacks)
    }

    fn deployment(&self) -> Deployment {
        Deployment {
            scheme: self.scheme.clone(),
            constants: None,
            variance: fedflip_plan::DEFAULT_VARIANCE,
            quiet: self.quiet,
            costs: RoundCosts::from(Mbps::new(self.band_mbps).unwrap()).with_downlink(self.downlink),
            planned_overhead: self.planned_overhead,
            division: Division::Adaptive,
            deadline_secs: self.deadline_secs,
            deadline_margin: 0.1,
            aggregation: Aggregation::Unbiased,
            optimiser: self.optimiser,
            evaluate_every: if self.device_evaluation.is_some() { 1 } else { 1000 },
            device_evaluation: self.device_evaluation,
            stop: Stop { target: self.target.clone(), ..Stop::after_rounds(self.rounds) },
            seed: SEED,
            devices_min: self.devices_min,
            replan_every: self.replan_every,
            timeouts: self.timeouts,
            operators_folder: None,
        }
    }

    fn header(&self, planned: &Planned, parameters: usize) -> Header {
        Header {
            version: fedflip_record::schema::VERSION,
            fedflip: "test".to_owned(),
            task: "synthetic".to_owned(),
            scheme: self.scheme.to_string(),
            seed: SEED,
            devices: planned.fleet.len(),
            parameters,
            bandwidth_mbps: self.band_mbps,
            costs: Default::default(),
            metrics: vec![
                MetricInfo::new("accuracy", Direction::Larger, Display::Share),
                MetricInfo::new("loss", Direction::Smaller, Display::Number),
                MetricInfo::new("f1", Direction::Larger, Display::Share),
            ],
            stop: None,
            pilot: false,
            expected_participants: planned.expected.participants,
            expected_rounds: None,
            expected_round_secs: None,
            unbiased: None,
            deployed: None,
        }
    }

    /// Computes again what the run in a folder has committed.
    pub(crate) fn replay(&self, folder: &Path, learner: &SgdLearner) -> Replayed {
        let encodings = [self.download_encoding, self.encoding];
        replay(folder, learner, SEED, (&self.optimiser, encodings, self.quiet.map(|quiet| quiet.every)))
    }
}

struct Nobody;

impl Observer for Nobody {
    fn planned(&mut self, _: &PlanStart<'_>) -> Result<(), NetError> {
        Ok(())
    }

    fn round(&mut self, _: &Round) -> Result<(), NetError> {
        Ok(())
    }
}
