//! A deployed run once its devices have enrolled: plans, rounds, commits, new plans.
//!
//! The engine runs the rounds under one plan. A new plan starts another call of the engine, with the fleet as it was
//! measured until then.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fedflip_engine::{Engine, EngineError, Outcome, State};
use fedflip_fleet::{ModelVector, csv_file};
use fedflip_plan::Constants;
use fedflip_record::{Best, End, EndReason, Estimated, Header, atomic};
use tokio::time::Instant;
use tracing::info;

use super::Server;
use super::clock::Clock;
use super::commit::Committer;
use super::deploy::{Callbacks, Deployment, Ended, MEASURED, PlanStart};
use super::enrolment;
use super::planning::Planned;
use super::restore::{known_left, restored_best, restored_measures, restored_progress};
use super::world::{GivenUp, NetWorld};
use crate::error::NetError;
use crate::measure::Measures;
use crate::state::{EnrolledDevice, Resumed, RunState};
use crate::status::Standing;

/// A run whose devices have enrolled.
pub(super) struct DeployedRun<'a> {
    deployment: Deployment,
    server: &'a Server,
    state: &'a mut RunState,
    run_id: [u8; 16],
    header: Header,
    /// Devices that the state keeps, by slot.
    devices: Vec<EnrolledDevice>,
    measures: Measures,
    planned: Planned,
    /// The slots of devices of which the records say that they have left for good.
    known_left: Vec<usize>,
    progress: State,
    /// The best evaluation so far; none of a run without a target.
    best: Option<Best>,
    clock: Clock,
    /// A server that resumes a run recalls no benched devices until then.
    muster_until: Instant,
}

impl<'a> DeployedRun<'a> {
    /// Resumes the run from its state; a new run gets its first plan and its first model.
    pub(super) fn start(
        deployment: &Deployment,
        server: &'a Server,
        (state, mut resumed): (&'a mut RunState, Resumed),
        initial_model: impl FnOnce() -> ModelVector,
        header: &dyn Fn(&Planned) -> Header,
    ) -> Result<Self, NetError> {
        let devices = std::mem::take(&mut resumed.devices);
        let uplink = server.uplink(deployment.costs.band);
        let measures = restored_measures(resumed.measures.as_deref(), &devices, &uplink)?;
        // Constants that pilots measured before a restart stay valid.
        let stored = resumed.plan.as_ref().and_then(|plan| plan.constants);
        let stored = stored.and_then(|[alpha, beta]| Constants::new(alpha, beta).ok());
        let deployment = Deployment { constants: stored.or(deployment.constants), ..deployment.clone() };
        let planned = match &resumed.plan {
            Some(stored) => deployment.restored_plan(stored, state.path())?,
            None => {
                let costs = deployment.planned_costs(&measures);
                deployment.first_plan(measures.fleet(&devices, &server.weights)?, costs)?
            }
        };
        let header = resumed.header.take().unwrap_or_else(|| header(&planned));
        if resumed.plan.is_none() {
            state.begin(&header, &deployment.stored_plan(&planned, 0, 0.0))?;
        }
        let run_id = resumed.run_id;
        let progress = restored_progress(&deployment, state, resumed, initial_model)?;
        let best = restored_best(&deployment, state, &progress)?;
        let known_left = known_left(state)?;
        let muster = if progress.round > 0 { deployment.timeouts.muster } else { Duration::ZERO };
        Ok(Self {
            server,
            state,
            run_id,
            header,
            devices,
            measures,
            planned,
            known_left,
            // The time of the run stands still until the first round after a restart opens.
            clock: if progress.round > 0 {
                Clock::paused_at(progress.secs)
            } else {
                Clock::at(progress.secs)
            },
            muster_until: Instant::now() + muster,
            progress,
            best,
            deployment,
        })
    }

    /// Runs rounds, under one plan after another, until the run ends or should stop.
    pub(super) fn run(mut self, callbacks: &mut Callbacks<'_>) -> Result<Ended, NetError> {
        let replans = self.deployment.replan_every.is_some();
        let mut due = false;
        self.server.note_departures(self.operators_folder())?;
        self.server.note_conditions(&self.measures);
        loop {
            self.replan(due)?;
            callbacks.observer.planned(&PlanStart {
                header: &self.header,
                planned: &self.planned,
                folder: self.state.path(),
                after_round: self.progress.round,
            })?;
            let ended = self.rounds_under_plan(callbacks)?;
            self.write_measured()?;
            if let Some(ended) = ended {
                return Ok(ended);
            }
            let known = self.devices.len();
            enrolment::keep(self.server, self.state, &mut *callbacks.enrolled, &mut self.devices)?;
            let uplink = self.server.uplink(self.deployment.costs.band);
            self.devices[known..].iter().for_each(|device| self.measures.calibrated(device, &uplink));
            due = replans;
        }
    }

    /// The folder in which an operator finds the status of devices and retires some: pilots use that of their run.
    fn operators_folder(&self) -> &Path {
        self.deployment.operators_folder.as_deref().unwrap_or(self.state.path())
    }

    /// Replaces the plan where the measurements ask for it; measured times count only when a review is `due`. This
    /// happens before the first round after a restart, too: a killed server may have benched a device without a plan.
    fn replan(&mut self, due: bool) -> Result<(), NetError> {
        // Without new plans, a device that enrols later waits for the next run.
        let replans = self.deployment.replan_every.is_some();
        let planned_for = if replans { self.devices.len() } else { self.planned.fleet.len() };
        let fleet = self
            .measures
            .fleet(&self.devices[..planned_for.min(self.devices.len())], &self.server.weights)?;
        let standings: Vec<Standing> = {
            let state = self.server.hub.state();
            (0..fleet.len()).map(|slot| state.standing(slot, self.measures.is_benched(slot))).collect()
        };
        let standing_of = |slot: usize| standings.get(slot).copied().unwrap_or_default();
        let retired: Vec<usize> = (0..fleet.len()).filter(|slot| standing_of(*slot).has_left()).collect();
        let costs = self.deployment.planned_costs(&self.measures);
        // Nothing has been measured before the first round, but devices may have left.
        if (self.progress.round > 0 || !retired.is_empty())
            && let Some(next) = self.deployment.next_plan(
                &self.planned,
                (&fleet, costs),
                (standing_of, &self.known_left),
                due,
            )
        {
            let overhead_secs = costs.overhead_secs;
            info!(round = self.progress.round, overhead_secs, reason = %next.reason, "a new plan");
            self.server.hub.metrics.plan_changes.add(1);
            let State { round, secs, .. } = self.progress;
            self.state.replan(&self.deployment.stored_plan(&next, round, secs), &retired)?;
            (self.planned, self.known_left) = (next, retired);
        }
        Ok(())
    }

    /// Runs rounds under one plan; returns how the run ended, or nothing if a new plan is due.
    fn rounds_under_plan(&mut self, callbacks: &mut Callbacks<'_>) -> Result<Option<Ended>, NetError> {
        let outcome = self.run_engine(callbacks);
        let ended = match outcome {
            Ok(Outcome::Ended(end)) => return self.end(end, callbacks).map(Some),
            Ok(Outcome::Stopped) => (callbacks.stop)().then_some(Ended::Stopped),
            Err(error) => match given_up(error)? {
                GivenUp::Recalled | GivenUp::Departed => None,
                GivenUp::Stopping => Some(Ended::Stopped),
            },
        };
        if ended.is_some() {
            bring_incidents(self.server, self.state);
            self.state.flush()?;
        }
        Ok(ended)
    }

    /// Commits the end of the run. The engine evaluates a last model that no round has evaluated.
    fn end(&mut self, mut end: End, callbacks: &mut Callbacks<'_>) -> Result<Ended, NetError> {
        bring_incidents(self.server, self.state);
        let model = self.progress.result();
        if let Some(test) = callbacks.test.as_mut().filter(|_| end.reason != EndReason::Diverged) {
            end.test = test(model)?;
        }
        let believed = Estimated::believed(&end.metrics, end.estimated.as_ref());
        if self.best.as_mut().is_some_and(|best| best.take(end.rounds, believed)) {
            self.state.keep_best(model.as_slice())?;
        }
        self.state.end(&end, model.as_slice())?;
        Ok(Ended::Over(end))
    }

    fn run_engine(&mut self, callbacks: &mut Callbacks<'_>) -> Result<Outcome, EngineError> {
        let folder = self.operators_folder().to_owned();
        let (deployment, server, planned) = (&self.deployment, self.server, &self.planned);
        let engine = Engine {
            fleet: &planned.fleet,
            schedule: &planned.schedule,
            costs: deployment.costs.band.into(),
            division: deployment.division,
            deadline_secs: deployment.deadline_secs,
            deadline_margin: deployment.deadline_margin,
            aggregation: deployment.aggregation,
            optimiser: deployment.optimiser,
            stop: deployment.stop.clone(),
        };
        let mut world = NetWorld {
            server,
            deployment,
            toss_run: self.run_id,
            planned,
            costs: deployment.planned_costs(&self.measures),
            measures: &mut self.measures,
            cycle: None,
            accepted: BTreeMap::new(),
            evaluate: &mut *callbacks.evaluate,
            scored_by: callbacks.metrics,
            stop: callbacks.stop,
            folder: folder.clone(),
            clock: &mut self.clock,
            muster_until: self.muster_until,
            deadline: None,
            was_late: false,
            stopping_since: None,
            estimated: None,
            is_given_up: false,
        };
        let round = self.progress.round;
        let mut committer = Committer {
            server,
            operators_folder: folder,
            observer: &mut *callbacks.observer,
            stop: callbacks.stop,
            model: Arc::clone(&self.progress.model),
            best: self.best.as_mut(),
            devices: planned.fleet.len(),
            kept: &mut self.devices,
            // At multiples, so that a server that is often restarted reviews its plan as often.
            replan_after: deployment.replan_every.map(|rounds| (round / rounds.max(1) + 1) * rounds.max(1)),
            state: &mut *self.state,
        };
        let outcome = engine.run(&mut world, &mut self.progress, &mut committer);
        if outcome.is_ok() {
            world.settle();
        }
        outcome
    }

    /// Writes the fleet as measured so far, for the planner; `fleet.csv` is the fleet that the plan was made for.
    fn write_measured(&self) -> Result<(), NetError> {
        let mut csv = Vec::new();
        // Writing to memory never fails.
        let _ = csv_file::write(&self.measures.fleet(&self.devices, &self.server.weights)?, &mut csv);
        Ok(atomic::write(&self.state.path().join(MEASURED), &csv)?)
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

/// Hands new incidents over to the state, which writes them with the next commit.
pub(super) fn bring_incidents(server: &Server, state: &mut RunState) {
    let incidents: Vec<_> = server.hub.state().incidents.drain(..).collect();
    for incident in incidents {
        state.incident(incident.round, incident.device.as_deref(), &incident.reason);
    }
}
