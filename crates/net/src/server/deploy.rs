//! A deployed run from enrolment to its end: plans, rounds, commits, new plans.
//!
//! Between two plans the engine runs as ever. A new plan begins a new stretch of rounds, with the fleet as it
//! was measured until then.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fedflip_engine::{Aggregation, Engine, EngineError, Optimiser, Outcome, State, Stop};
use fedflip_fleet::bandwidth::Division;
use fedflip_fleet::{Fleet, Mbps, Metrics, ModelVector, csv_file};
use fedflip_learn::{LearnError, Metric};
use fedflip_plan::{Constants, Expected, Quiet, Scheme};
use fedflip_record::folder::RECORDS;
use fedflip_record::{End, Header, Initial, Round, atomic, reader};
use tokio::time::Instant;
use tracing::info;

use super::Server;
use super::commit::Committer;
use super::enrolment;
use super::patience::Patience;
use super::planning::{Planned, Planner};
use super::world::{Clock, GivenUp, NetWorld};
use crate::error::NetError;
use crate::measure::Measures;
use crate::state::{EnrolledDevice, Resumed, RunState};
use crate::status::Readiness;

/// The fleet as measured by now.
pub const MEASURED: &str = "measured.csv";

/// The settings of a deployed run.
#[derive(Clone, Debug)]
pub struct Deployment {
    pub scheme: Scheme,
    /// α and β; a pilot has none.
    pub constants: Option<Constants>,
    /// Σ a²/q that `auto` allows.
    pub variance: f64,
    /// Rounds in which more take part, if there are to be any.
    pub quiet: Option<Quiet>,
    pub band: Mbps,
    pub division: Division,
    /// After so long a round is over for those who have not reported; by default as long as seems right.
    pub deadline_secs: Option<f64>,
    /// The share of a deadline that is kept free when the bandwidth is divided, because compute times vary.
    pub deadline_margin: f64,
    pub aggregation: Aggregation,
    /// What the server does with the sum of the updates.
    pub optimiser: Optimiser,
    /// Rounds from one evaluation to the next, where none are quiet.
    pub evaluate_every: u64,
    pub stop: Stop,
    /// Of local training and of the planner's draws.
    pub seed: u64,
    /// Devices that must have enrolled before the first round.
    pub devices_min: usize,
    /// Rounds from one look at the plan to the next; none is never.
    pub replan_every: Option<u64>,
    pub patience: Patience,
}

/// What a run needs from whoever started it.
pub struct Helpers<'a> {
    pub evaluate: &'a mut dyn FnMut(&Arc<ModelVector>) -> Result<Metrics, LearnError>,
    pub metrics: &'a [Metric],
    /// Whether the run is to stop.
    pub stop: &'a dyn Fn() -> bool,
    pub observer: &'a mut dyn Observer,
    /// A device has its place. Called before this run's state keeps it, and again if that fails.
    pub enrolled: &'a mut dyn FnMut(&EnrolledDevice) -> Result<(), NetError>,
}

pub trait Observer {
    /// Rounds begin, or go on, under this plan; `reason` is why there is a new one.
    fn planned(&mut self, planned: &Announced<'_>) -> Result<(), NetError>;
    fn initial(&mut self, _initial: &Initial) -> Result<(), NetError> {
        Ok(())
    }
    fn round(&mut self, round: &Round) -> Result<(), NetError>;
}

pub struct Announced<'a> {
    pub header: &'a Header,
    pub fleet: &'a Fleet,
    /// In which share of the rounds each device is to take part.
    pub q: &'a [f64],
    pub folder: &'a Path,
    pub expected: Expected,
    pub after_round: u64,
    pub reason: &'a str,
}

/// How a deployed run came back.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    Over(End),
    /// It goes on when it is started again.
    Stopped,
}

impl Deployment {
    /// Rounds from where the state is, until the run is over or is to stop. `header` makes the first line of
    /// the records once there is a plan.
    pub fn run(
        &self,
        server: &Server,
        (state, resumed): (&mut RunState, Resumed),
        initial_model: impl FnOnce() -> ModelVector,
        header: &dyn Fn(&Planned) -> Header,
        helpers: &mut Helpers<'_>,
    ) -> Result<Ended, NetError> {
        if let Some(end) = resumed.end {
            return Ok(Ended::Over(end));
        }
        // From here on this thread reads the clock of the server's runtime, which may be a simulated one.
        let _clock = server.runtime.enter();
        server.health.set(Readiness::WaitingForDevices);
        server.restore(&resumed.devices)?;
        server.norms.restore(resumed.norms.as_deref())?;
        let mut kept = resumed.devices;
        let (first, stop) = (&mut *helpers.enrolled, helpers.stop);
        if !enrolment::gather(server, self.devices_min, stop, || {
            enrolment::keep(server, state, first, &mut kept)?;
            Ok(kept.len())
        })? {
            return Ok(Ended::Stopped);
        }
        let mut measures: Measures = match &resumed.measures {
            Some(text) => serde_json::from_str(text).map_err(|error| NetError::Damaged {
                path: crate::state::STATE.to_owned(),
                problem: format!("its measurements: {error}"),
            })?,
            None => Measures::default(),
        };
        // Also those who came after the last commit.
        kept.iter().skip(measures.len()).for_each(|device| measures.calibrated(device));
        // What the pilots measured before a restart holds on.
        let stored = resumed.plan.as_ref().and_then(|plan| plan.constants);
        let stored = stored.and_then(|[alpha, beta]| Constants::new(alpha, beta).ok());
        let deployment = Self { constants: stored.or(self.constants), ..self.clone() };
        let planner = Planner { deployment: &deployment };
        let mut planned = match &resumed.plan {
            Some(stored) => planner.restored(stored)?,
            None => planner.first(measures.fleet(&kept)?)?,
        };
        let head = match resumed.header {
            Some(header) => header,
            None => header(&planned),
        };
        if resumed.plan.is_none() {
            state.begin(&head, &planned.stored(0, 0.0))?;
        }
        let begun = match resumed.model {
            Some(model) => {
                let parameters = model.len();
                let memory = self.optimiser.restored(resumed.memory, parameters);
                let Some(memory) = memory else {
                    // Cannot be: a folder of another scenario is refused when it is opened.
                    return Err(NetError::StateRefused { what: "another optimiser".to_owned() });
                };
                State { memory, ..State::new(ModelVector::new(model)) }
            }
            None => State::new(initial_model()).with_optimiser(&self.optimiser),
        };
        let (round, secs, evaluated) = (resumed.round, resumed.secs, resumed.evaluated);
        let mut run = State { round, secs, evaluated, ..begun };
        if run.round > 0 && self.aggregation.remembers_norms() {
            reader::each(&state.path().join(RECORDS), |line| run.norms.take_line(&line))?;
        }
        let clock = Clock::after(run.secs);
        let muster = if run.round > 0 { self.patience.muster } else { Duration::ZERO };
        let muster_until = Instant::now() + muster;
        let mut due = false;
        loop {
            // Before the first stretch, too: a server that was killed may have benched somebody and not planned yet.
            // Times are looked at when they are due.
            // Without new plans, whoever comes later waits for the next run.
            let planned_for = if self.replan_every.is_some() { kept.len() } else { planned.fleet.len() };
            let fleet = measures.fleet(&kept[..planned_for.min(kept.len())])?;
            let is_benched = |slot: usize| measures.is_benched(slot);
            if run.round > 0
                && let Some(next) = planner.next(&planned, &fleet, is_benched, due)
            {
                info!(round = run.round, reason = %next.reason, "a new plan");
                server.metrics.plan_changes.add(1);
                state.replan(&next.stored(run.round, run.secs))?;
                planned = next;
            }
            helpers.observer.planned(&Announced {
                header: &head,
                fleet: &planned.fleet,
                q: &planned.schedule.mean_q(),
                folder: state.path(),
                expected: planned.expected,
                after_round: run.round,
                reason: &planned.reason,
            })?;
            let stretch = Stretch { server, planned: &planned, clock, muster_until, run_id: resumed.run_id };
            let ended = self.stretch(&stretch, state, &mut run, &mut measures, helpers)?;
            write_measured(state, &measures, &kept)?;
            if let Some(ended) = ended {
                return Ok(ended);
            }
            let known = kept.len();
            enrolment::keep(server, state, &mut *helpers.enrolled, &mut kept)?;
            kept[known..].iter().for_each(|device| measures.calibrated(device));
            due = self.replan_every.is_some();
        }
    }

    /// Rounds under one plan; how the run ended, or nothing if a new plan is due.
    fn stretch(
        &self,
        stretch: &Stretch<'_>,
        state: &mut RunState,
        run: &mut State,
        measures: &mut Measures,
        helpers: &mut Helpers<'_>,
    ) -> Result<Option<Ended>, NetError> {
        let Stretch { server, planned, clock, muster_until, run_id } = *stretch;
        let engine = Engine {
            fleet: &planned.fleet,
            schedule: &planned.schedule,
            band: self.band,
            division: self.division,
            deadline_secs: self.deadline_secs,
            deadline_margin: self.deadline_margin,
            aggregation: self.aggregation,
            optimiser: self.optimiser,
            stop: self.stop.clone(),
        };
        let mut world = NetWorld {
            hub: &server.hub,
            runtime: &server.runtime,
            metrics: &server.metrics,
            health: &server.health,
            patience: self.patience,
            band: self.band,
            payload_mbit: 8e-6 * server.update_bytes as f64,
            toss_run: run_id,
            seed: self.seed,
            planned,
            measures,
            accepted: BTreeMap::new(),
            evaluate: &mut *helpers.evaluate,
            scored_by: helpers.metrics,
            stop: helpers.stop,
            clock,
            muster_until,
            explicit_deadline_secs: self.deadline_secs,
            deadline_margin: self.deadline_margin,
            deadline: None,
            was_late: false,
            stopping_since: None,
        };
        let mut committer = Committer {
            server,
            observer: &mut *helpers.observer,
            stop: helpers.stop,
            model: Arc::clone(&run.model),
            devices: planned.fleet.len(),
            // At multiples, so that a server that is often restarted looks as often.
            replan_after: self.replan_every.map(|rounds| (run.round / rounds.max(1) + 1) * rounds.max(1)),
            state: &mut *state,
        };
        let outcome = engine.run(&mut world, run, &mut committer);
        let ended = match outcome {
            Ok(Outcome::Ended(end)) => {
                bring_incidents(server, state);
                state.end(&end, run.result().as_slice())?;
                return Ok(Some(Ended::Over(end)));
            }
            Ok(Outcome::Stopped) => (helpers.stop)().then_some(Ended::Stopped),
            Err(error) => match given_up(error)? {
                GivenUp::Recalled => None,
                GivenUp::Stopping => Some(Ended::Stopped),
            },
        };
        if ended.is_some() {
            bring_incidents(server, state);
            state.flush()?;
        }
        Ok(ended)
    }
}

/// Why the round in progress was given up; an error if something else has stopped the engine.
fn given_up(error: EngineError) -> Result<GivenUp, NetError> {
    match error {
        EngineError::World(error) => match error.downcast::<GivenUp>() {
            Ok(given_up) => Ok(*given_up),
            Err(error) => Err(EngineError::World(error).into()),
        },
        EngineError::Sink(error) => match error.downcast::<NetError>() {
            Ok(error) => Err(*error),
            Err(error) => Err(EngineError::Sink(error).into()),
        },
        error => Err(error.into()),
    }
}

/// What rounds under one plan need.
#[derive(Clone, Copy)]
struct Stretch<'a> {
    server: &'a Server,
    planned: &'a Planned,
    clock: Clock,
    muster_until: Instant,
    run_id: [u8; 16],
}

/// The fleet as measured by now, for `fedflip plan`; `fleet.csv` is the one that the plan was made for.
fn write_measured(state: &RunState, measures: &Measures, devices: &[EnrolledDevice]) -> Result<(), NetError> {
    let mut csv = Vec::new();
    // Memory takes whatever is written to it.
    let _ = csv_file::write(&measures.fleet(devices)?, &mut csv);
    Ok(atomic::write(&state.path().join(MEASURED), &csv)?)
}

/// Hands over what went wrong since: it goes to the disk with the next commit.
pub(super) fn bring_incidents(server: &Server, state: &mut RunState) {
    let incidents: Vec<_> = server.hub.desk().incidents.drain(..).collect();
    for incident in incidents {
        state.incident(incident.round, incident.device.as_deref(), incident.reason.name());
    }
}
