//! A scenario on real devices: the pilots, if they are asked for, and then the run.
//!
//! - `serving`: from settings to a server and its run; `checks`: what is refused before; `error`: these refusals.
//! - `host`: the server's part of the task; `evaluator`: a program that evaluates models in its place.
//! - `offer`: the task and the fleet as devices are told.

mod checks;
mod error;
mod evaluator;
mod host;
mod offer;
mod serving;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fedflip_fleet::{Metrics, ModelVector, csv_file};
use fedflip_learn::{LearnError, model_file, with_crew};
use fedflip_net::NetError;
use fedflip_net::server::{Callbacks, Deployment, Ended, Server, Timeouts};
use fedflip_net::state::{EnrolledDevice, NewRun, Resumed, RunState, StateView};
use fedflip_plan::{Constants, Pilot, Scheme, constants};
use fedflip_record::folder::{FLEET, MODEL, PILOTS, RECORDS, WEIGHTS};
use fedflip_record::{ConstantsSource, Header, Summary, UsedConstants, atomic, reader};
use tracing::{info, warn};

use crate::error::RunError;
use crate::pilots::pilot_scenario;
use crate::relay::Relay;
use crate::session::Session;
use crate::setup::header;
use fedflip_scenario::{DEPLOYED_FREE_KEYS, InitialModel, Scenario};

use self::host::Evaluator;

pub use self::checks::with_authority;
pub use self::error::DeployError;
pub use self::evaluator::{ForeignEvaluate, ForeignEvaluation};
pub use self::host::Host;
pub use self::offer::{band, offered};
pub use self::serving::{Served, Serving, address};

/// A function that evaluates a model.
type Evaluate<'a> = dyn FnMut(&Arc<ModelVector>) -> Result<Metrics, LearnError> + 'a;

/// A run on real devices.
pub struct Deployed<'a> {
    /// The settings of the run.
    pub scenario: &'a Scenario,
    /// The server's part of the task.
    pub host: &'a Host,
    /// The folder of the run.
    pub out: &'a Path,
    /// Whether α and β are measured on the devices first.
    pub pilots: bool,
    /// Devices that must have enrolled before the first plan.
    pub devices_min: usize,
    /// Rounds from one look at the plan to the next; none keeps the first plan.
    pub replan_every: Option<u64>,
    /// How long the server waits for devices.
    pub timeouts: Timeouts,
}

/// The state of the run, and where it resumes.
pub struct Opened {
    state: RunState,
    resumed: Resumed,
}

impl Opened {
    /// Keeps a device that enrols while a pilot is on.
    fn enrol(&mut self, device: &EnrolledDevice) -> Result<(), NetError> {
        self.state.enrol(device)?;
        if device.slot == self.resumed.devices.len() {
            self.resumed.devices.push(device.clone());
        }
        Ok(())
    }
}

impl Deployed<'_> {
    /// Opens and locks the run's folder.
    pub fn open(&self) -> Result<Opened, RunError> {
        self.open_at(self.scenario, self.out)
    }

    fn open_at(&self, scenario: &Scenario, folder: &Path) -> Result<Opened, RunError> {
        let run_toml = scenario.stored();
        let memory = scenario.server.optimiser().names();
        let (free_keys, params) = (DEPLOYED_FREE_KEYS, &self.host.params);
        let stop = scenario.target();
        let new_run = NewRun { run_toml: &run_toml, free_keys, stop, params, memory: &memory };
        let (state, resumed) = RunState::open(folder, &new_run)?;
        let copy = folder.join(InitialModel::COPY);
        if let Some(initial) = scenario.initial.as_ref().filter(|_| !copy.exists()) {
            atomic::write(&copy, &initial.bytes)?;
        }
        // Another file may come with a restart: it may name more devices.
        if let Some(given) = scenario.data.weights.given() {
            atomic::write(&folder.join(WEIGHTS), &given.text)?;
        }
        Ok(Opened { state, resumed })
    }

    /// Pilots and rounds, until the run is over or is to stop; nothing if it had not come to its first plan.
    pub fn run(
        &self,
        server: &Server,
        opened: Opened,
        session: &mut Session<'_>,
    ) -> Result<Option<Summary>, RunError> {
        match self.host.evaluator() {
            Evaluator::Learner(learner) => with_crew(learner, session.threads, |crew| {
                self.run_evaluated(server, &mut |model| crew.evaluate(model), session, opened)
            }),
            Evaluator::Foreign(foreign) => {
                self.run_evaluated(server, &mut |model| foreign.evaluate(model), session, opened)
            }
            Evaluator::Nobody => self.run_evaluated(server, &mut |_| Ok(Metrics::default()), session, opened),
        }
    }

    fn run_evaluated(
        &self,
        server: &Server,
        evaluate: &mut Evaluate<'_>,
        session: &mut Session<'_>,
        mut opened: Opened,
    ) -> Result<Option<Summary>, RunError> {
        let was_over = opened.resumed.end.is_some();
        if was_over {
            let out = self.out.display();
            warn!(%out, "the run was over before this start: nobody trains; name another folder for a new run");
        }
        // A baseline has no use for them either, but its predictions have.
        let in_vain = self.scenario.plan.scheme.needs_variance();
        if self.pilots && in_vain {
            warn!("no pilots are run, because the scheme auto needs none");
        }
        let constants = match self.pilots && !in_vain && !was_over {
            true => self.run_pilots(server, evaluate, session, &mut opened)?,
            false => Some(self.scenario.plan.constants),
        };
        let ended = match constants {
            Some(constants) => {
                let plan = (self.scenario.plan.scheme.clone(), Some(constants));
                self.one(server, evaluate, session, (self.scenario, plan), opened, &mut |_| Ok(()))?
            }
            None => Ended::Stopped,
        };
        if matches!(ended, Ended::Over(_)) {
            // Devices are told that the run is over, even if its model has been taken away.
            let model =
                self.last_model().inspect_err(|error| warn!(%error, "devices cannot fetch the model"));
            server.finish(model.ok());
        }
        server.write_last_device_status(self.out);
        let begun = StateView::open(self.out)?.header()?.is_some();
        begun.then(|| self.summary(self.out)).transpose()
    }

    /// Lines 1–3 of Algorithm 2, on the devices; none if it is to stop. What was measured before a restart is
    /// not measured again. Devices enrol for the run: whenever the server is killed, they have one place in all of it.
    fn run_pilots(
        &self,
        server: &Server,
        evaluate: &mut Evaluate<'_>,
        session: &mut Session<'_>,
        main: &mut Opened,
    ) -> Result<Option<Constants>, RunError> {
        server.restore(&main.resumed.devices)?;
        let mut points = Vec::new();
        for scheme in [Scheme::Uniform, Scheme::Full] {
            let folder: PathBuf = self.out.join(PILOTS).join(scheme.to_string());
            let scenario = pilot_scenario(self.scenario, scheme.clone(), 0);
            let opened = self.open_at(&scenario, &folder)?;
            info!(%scheme, "a pilot begins");
            let of = (&scenario, (scheme.clone(), None));
            let ended = self.one(server, evaluate, session, of, opened, &mut |device| main.enrol(device))?;
            let Ended::Over(end) = ended else {
                return Ok(None);
            };
            let reached = self.summary(&folder)?.reached();
            points.push(Pilot { rounds: end.rounds as f64, reached, scheme });
        }
        let path = self.out.join(PILOTS).join(Scheme::Full.to_string()).join(FLEET);
        let name = path.display().to_string();
        let file =
            std::fs::File::open(&path).map_err(|source| RunError::Open { path: name.clone(), source })?;
        let fleet = csv_file::read(file, &name)?;
        let fit = constants::from_pilots(&fleet, &points)?;
        let measured = fit.constants;
        info!(alpha = measured.alpha(), beta = measured.beta(), "the pilots are done");
        Ok(Some(measured))
    }

    fn one(
        &self,
        server: &Server,
        evaluate: &mut Evaluate<'_>,
        session: &mut Session<'_>,
        (scenario, (scheme, constants)): (&Scenario, (Scheme, Option<Constants>)),
        Opened { mut state, resumed }: Opened,
        enrolled: &mut dyn FnMut(&EnrolledDevice) -> Result<(), NetError>,
    ) -> Result<Ended, RunError> {
        let deployment = Deployment {
            scheme: scheme.clone(),
            constants,
            variance: scenario.plan.variance,
            quiet: scenario.plan.quiet(),
            costs: scenario.round_costs(),
            planned_overhead: scenario.costs.planned_overhead,
            division: scenario.round.allocation,
            deadline_secs: scenario.round.deadline.map(fedflip_fleet::Secs::get),
            deadline_margin: scenario.round.deadline_margin,
            aggregation: scenario.round.aggregation,
            optimiser: scenario.server.optimiser(),
            evaluate_every: scenario.record.evaluate_every,
            device_evaluation: scenario.device_evaluation(),
            stop: scenario.engine_stop(),
            seed: scenario.seed,
            devices_min: self.devices_min,
            replan_every: self.replan_every,
            timeouts: self.timeouts,
            operators_folder: Some(self.out.to_owned()),
        };
        // Pilots are there to find the constants, and have none.
        let pilot = constants.is_none();
        let known = (self.host.parameters(), self.host.metrics());
        let head = |planned: &fedflip_net::server::Planned| {
            let used = constants.map(|constants| self.used(constants));
            Header {
                deployed: Some(fedflip_record::Deployed { constants: used }),
                costs: planned.costs.into(),
                ..header((scenario, pilot), known, &planned.schedule, planned.expected)
            }
        };
        let title = format!("{} {scheme}", scenario.task.name());
        let Session { observers, stop, threads, .. } = session;
        let mut shown = Relay { observers, title, plan: None };
        let on_test = self.host.test.as_ref().filter(|_| !pilot);
        let mut test = on_test.map(|learner| {
            let threads = *threads;
            move |model: &Arc<ModelVector>| with_crew(learner, threads, |crew| crew.evaluate(model))
        });
        let test = test.as_mut().map(|test| test as &mut Evaluate<'_>);
        let (metrics, observer) = (self.host.metrics(), &mut shown);
        let mut callbacks = Callbacks { evaluate, metrics, test, stop: *stop, observer, enrolled };
        let initial = || self.host.initial_model(scenario.seed);
        let ended = deployment.run(server, (&mut state, resumed), initial, &head, &mut callbacks)?;
        shown.end(match &ended {
            Ended::Over(end) => Some(end),
            Ended::Stopped => None,
        })?;
        Ok(ended)
    }

    /// The constants in the form of the records.
    fn used(&self, constants: Constants) -> UsedConstants {
        let source = if self.pilots { ConstantsSource::Pilots } else { ConstantsSource::Scenario };
        UsedConstants { alpha: constants.alpha(), beta: constants.beta(), source }
    }

    /// The model at the end, for devices that keep it.
    fn last_model(&self) -> Result<ModelVector, RunError> {
        let path = self.out.join(MODEL);
        let name = path.display().to_string();
        let bytes = std::fs::read(&path).map_err(|source| RunError::Open { path: name.clone(), source })?;
        Ok(ModelVector::new(model_file::read(&self.host.params, &bytes, &name)?))
    }

    fn summary(&self, folder: &Path) -> Result<Summary, RunError> {
        Ok(reader::summary(&folder.join(RECORDS))?)
    }
}
