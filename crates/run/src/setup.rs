//! A scenario's data, learner and fleet, made once for many runs; plans for them.

use std::path::Path;
use std::sync::Arc;

use fedflip_engine::Aggregation;
use fedflip_fleet::Fleet;
use fedflip_learn::own::OwnDigests;
use fedflip_learn::task::{Learners, SharingReport};
use fedflip_learn::{Crew, LearnError, Learner, Metric, model_file};
pub use fedflip_plan::Planned;
use fedflip_plan::{Buffered, Constants, Expected, PlanError, Planning, Problem, Schedule, schedule};
use fedflip_record::Header;
use fedflip_record::folder::RUN;
use fedflip_record::schema::VERSION;
use fedflip_scenario::{InitialModel, Scenario};

use crate::error::RunError;
use crate::session::Session;
use crate::trainer::{NativeTrainer, Trainer};
use crate::warnings;

/// What all runs of a scenario share, whatever their seed and scheme.
pub struct Setup {
    /// Trains on the data of every device, and evaluates.
    pub trainer: Arc<dyn Trainer>,
    /// The number of samples that devices hold.
    pub sharing: SharingReport,
    /// For each device the names under which the user's own data have its samples; empty if the data do not decide.
    pub holders: Vec<Vec<String>>,
    /// The digests of the user's own data, which a run folder keeps.
    pub digests: OwnDigests,
    /// With the sample counts of the data, and the times of what the scenario computes and sends.
    pub fleet: Fleet,
}

impl Setup {
    /// Reads the data and makes the fleet that holds them.
    pub fn new(scenario: &Scenario, session: &mut Session<'_>) -> Result<Self, RunError> {
        let what = format!("reading the data of {}", scenario.task.name());
        let Session { observers, data_dir, crews, .. } = session;
        let Learners { learner, test, sharing, holders, digests } =
            observers.while_working(&what, || scenario.task_settings().learners(data_dir))?;
        check_digests(&scenario.data.own.digests, &digests)?;
        // Before anything is planned: the network of a user's own data follows from them.
        scenario.initial_model(&learner.network().params())?;
        let samples: Vec<usize> = (0..learner.devices()).map(|device| learner.samples(device)).collect();
        let fleet = scenario.named_fleet(&samples, &holders)?;
        warnings::files_left_out(scenario).iter().for_each(|text| observers.warn(text));
        warnings::counts_replaced(scenario, &fleet).iter().for_each(|text| observers.warn(text));
        let native: Arc<dyn Trainer> = Arc::new(NativeTrainer { learner, test });
        let trainer = match crews {
            None => native,
            Some(crews) => observers.while_working("starting workers", || crews.trainer(scenario, native))?,
        };
        Ok(Self { trainer, sharing, holders, digests, fleet })
    }

    /// The setup of a program's own learner, whose device n holds `samples[n]` samples. The scenario is one of an external
    /// task.
    pub fn of_trainer(
        trainer: Arc<dyn Trainer>,
        samples: &[usize],
        scenario: &Scenario,
        session: &mut Session<'_>,
    ) -> Result<Self, RunError> {
        let fleet = scenario.fleet(samples)?;
        warnings::counts_replaced(scenario, &fleet).iter().for_each(|text| session.observers.warn(text));
        let sharing = SharingReport {
            samples: samples.iter().sum(),
            fewest: samples.iter().copied().min().unwrap_or(0),
            most: samples.iter().copied().max().unwrap_or(0),
            minimum: None,
        };
        Ok(Self { trainer, sharing, holders: Vec::new(), digests: OwnDigests::default(), fleet })
    }

    /// Calls `body` with a crew of at most `threads` workers of this process.
    pub fn with_crew<R>(
        &self,
        threads: usize,
        body: impl FnOnce(&mut dyn Crew) -> Result<R, RunError>,
    ) -> Result<R, RunError> {
        let (mut body, mut result) = (Some(body), None);
        self.trainer.with_crew(threads, &mut |crew| result = body.take().map(|body| body(crew)))?;
        let lost = || LearnError::WorkerLost { problem: "there is no crew".to_owned() };
        result.ok_or_else(lost)?
    }

    /// The first model of a scenario's seed, where a program makes it: the run's folder keeps a copy.
    pub fn with_first_model(&self, scenario: &mut Scenario) -> Result<(), RunError> {
        if scenario.task.is_external() {
            let model = self.trainer.initial_model(scenario.seed)?;
            let bytes = model_file::write(&self.trainer.params(), model.as_slice())?;
            scenario.initial = Some(Arc::new(InitialModel::new(InitialModel::COPY, bytes)));
        }
        Ok(())
    }

    /// The schedule under the scenario's scheme, and what is expected of it. Without constants it predicts no rounds.
    pub fn plan(&self, scenario: &Scenario, constants: Option<Constants>) -> Result<Planned, RunError> {
        plan_for(&self.fleet, scenario, constants)
    }

    /// The text of a scenario as runs keep it, in a folder or in memory.
    pub fn stored(&self, scenario: &Scenario) -> String {
        scenario.with_digests(&self.digests).stored()
    }

    /// Refuses to resume a run of other samples. A folder that cannot be read is refused when it is opened.
    pub(crate) fn check_resumed(&self, folder: &Path) -> Result<(), RunError> {
        let Ok(stored) = Scenario::read(&folder.join(RUN), &[]) else { return Ok(()) };
        match differing(&stored.data.own.digests, &self.digests) {
            Some((samples, key)) => {
                Err(RunError::OtherSamples { folder: folder.display().to_string(), samples, key })
            }
            None => Ok(()),
        }
    }

    /// The first line of a run's records.
    pub(crate) fn header(&self, scenario: &Scenario, planned: &Planned, pilot: bool) -> Header {
        let parameters = self.trainer.params().iter().map(|(_, spec)| spec.len()).sum();
        header((scenario, pilot), (parameters, self.trainer.metrics()), &planned.schedule, planned.expected)
    }
}

/// A stored scenario is one for its samples, and for no others.
fn check_digests(stored: &OwnDigests, found: &OwnDigests) -> Result<(), RunError> {
    match differing(stored, found) {
        Some((_, key)) => Err(RunError::OtherData { key }),
        None => Ok(()),
    }
}

/// The samples that are not those of the digests, and the key that names their files.
fn differing(stored: &OwnDigests, found: &OwnDigests) -> Option<(&'static str, &'static str)> {
    let differ = |stored: &Option<String>, found: &Option<String>| stored.is_some() && stored != found;
    if differ(&stored.train, &found.train) {
        return Some(("training", "data.train"));
    }
    differ(&stored.test, &found.test).then_some(("test", "data.test"))
}

/// The schedule of a fleet under a scenario's scheme and costs.
pub(crate) fn plan_for(
    fleet: &Fleet,
    scenario: &Scenario,
    constants: Option<Constants>,
) -> Result<Planned, RunError> {
    buffered(fleet, scenario)?;
    let planning = Planning {
        constants,
        variance: scenario.plan.variance,
        quiet: scenario.plan.quiet(),
        evaluate_every: scenario.record.evaluate_every,
        gradient_bounds: scenario.plan.gradient_bounds()?,
        ..Planning::new(scenario.plan.scheme.clone())
    };
    Ok(schedule(&Problem::new(fleet, scenario.planned_costs()), &planning)?)
}

/// The numbers of a scheme without rounds; none for the others. Settings that only rounds can have are refused.
pub(crate) fn buffered(fleet: &Fleet, scenario: &Scenario) -> Result<Option<Buffered>, PlanError> {
    let scheme = &scenario.plan.scheme;
    let Some(updates) = scheme.method().buffer() else { return Ok(None) };
    let refuse = |what, remedy| Err(PlanError::NoRounds { scheme: scheme.clone(), what, remedy });
    if scenario.round.deadline.is_some() {
        return refuse("round.deadline_secs", "leave the deadline out: nobody waits for slow devices");
    }
    if scenario.round.aggregation == Aggregation::CohortMean {
        let remedy =
            "use another aggregation: learning rates cannot follow weights that are known only at the end";
        return refuse("round.aggregation = \"cohort-mean\"", remedy);
    }
    Buffered::new(updates, scenario.round.concurrency, fleet.len()).map(Some)
}

/// The first line of the records of a run.
pub fn header(
    (scenario, pilot): (&Scenario, bool),
    (parameters, metrics): (usize, &[Metric]),
    schedule: &Schedule,
    expected: Expected,
) -> Header {
    let plan = schedule.usual();
    Header {
        version: VERSION,
        fedflip: env!("CARGO_PKG_VERSION").to_owned(),
        task: scenario.task.name().to_owned(),
        scheme: scenario.plan.scheme.to_string(),
        seed: scenario.seed,
        devices: plan.q().len(),
        parameters,
        bandwidth_mbps: scenario.bandwidth.get(),
        costs: scenario.round_costs().into(),
        metrics: metrics.iter().map(|metric| metric.info.clone()).collect(),
        stop: scenario.target().cloned(),
        pilot,
        expected_participants: expected.participants,
        expected_rounds: expected.rounds,
        expected_round_secs: expected.round_secs,
        unbiased: scenario.plan.scheme.promises_unbiased(),
        deployed: None,
    }
}
