//! One simulated run, in a folder or in memory.

use std::path::Path;
use std::sync::Arc;

use fedflip_engine::{Optimiser, Outcome, State};
use fedflip_fleet::{ModelVector, csv_file};
use fedflip_learn::{Crew, LearnError, model_file};
use fedflip_record::folder::{Caps, Contents, RECORDS, WEIGHTS};
use fedflip_record::reader::{self, Records};
use fedflip_record::{Checkpoint, End, EndReason, Fold, Header, RunFolder, Start};
use fedflip_scenario::{FREE_KEYS, InitialModel, Scenario};

use crate::best::BestModel;
use crate::error::RunError;
use crate::host;
use crate::keep::{Keep, Keeper};
use crate::observe::RunInfo;
use crate::reuse;
use crate::session::Session;
use crate::setup::{Planned, Setup};

/// One run to do.
pub struct Single<'a> {
    /// The data and the fleet.
    pub setup: &'a Setup,
    /// Its seed, caps and target are those of this run.
    pub scenario: &'a Scenario,
    /// How devices are sampled.
    pub planned: &'a Planned,
    /// A model to continue from; otherwise the run begins with a new one.
    pub warm_start: Option<WarmStart>,
    /// Whether it measures α and β and is no result.
    pub pilot: bool,
    /// The run's folder; without one nothing is kept.
    pub out: Option<&'a Path>,
    /// What observers call it.
    pub title: &'a str,
}

/// A model, and the virtual time that it took to train.
#[derive(Clone, Debug)]
pub struct WarmStart {
    /// The parameters of the final model.
    pub model: Arc<ModelVector>,
    /// On the run's clock before its first round.
    pub secs: f64,
}

/// A run that has ended or was interrupted.
pub struct Finished {
    /// In a few numbers and a curve.
    pub fold: Fold,
    /// The result; none if the run was not trained in this session, and then its model is in its folder.
    pub model: Option<Arc<ModelVector>>,
    /// All records of a run without a folder, if the session wants them.
    pub records: Option<Box<Records>>,
    /// More about how it ended, where there is more to say.
    pub detail: Option<String>,
    /// The run had ended before this session.
    pub had_ended: bool,
}

impl Finished {
    /// A run that another process has ended.
    pub(crate) fn before(fold: Fold) -> Self {
        Self { fold, model: None, records: None, detail: None, had_ended: true }
    }
}

impl Single<'_> {
    /// Runs it, or resumes it, whether or not the session resumes: nobody looks at the folder.
    pub(crate) fn repeat(
        &self,
        crew: &mut dyn Crew,
        session: &mut Session<'_>,
    ) -> Result<Finished, RunError> {
        let resume = std::mem::replace(&mut session.resume, true);
        let done = self.run(crew, session);
        session.resume = resume;
        done
    }

    /// Runs it, or resumes it, until it ends or the session is to stop.
    ///
    /// Where the session keeps trainings, a run that differs from an earlier one in its clock alone is not trained.
    pub fn run(&self, crew: &mut dyn Crew, session: &mut Session<'_>) -> Result<Finished, RunError> {
        let trainings = session.trainings.as_mut();
        if let Some((finished, records)) = trainings.map(|known| known.retimed(self)).transpose()?.flatten() {
            reuse::show(self, &records, session)?;
            return Ok(finished);
        }
        let (mut finished, records) = self.trained(crew, session)?;
        match &mut session.trainings {
            Some(trainings) => trainings.keep(self, &finished, records),
            None => finished.records = records,
        }
        Ok(finished)
    }

    /// Refuses a folder that is not free for the run, before anything is done for it.
    pub(crate) fn check_folder(&self) -> Result<(), RunError> {
        let Some(out) = self.out else { return Ok(()) };
        let header = self.setup.header(self.scenario, self.planned, self.pilot);
        Ok(RunFolder::check_free(out, &self.contents(&header))?)
    }

    /// Refuses a folder with another run than this one, which another process has done.
    pub(crate) fn check_same(&self) -> Result<(), RunError> {
        let Some(out) = self.out else { return Ok(()) };
        let header = self.setup.header(self.scenario, self.planned, self.pilot);
        Ok(RunFolder::check_same(out, &self.contents(&header))?)
    }

    /// The run, and its records if they are to serve other clocks and are in no folder.
    fn trained(
        &self,
        crew: &mut dyn Crew,
        session: &mut Session<'_>,
    ) -> Result<(Finished, Option<Box<Records>>), RunError> {
        let Self { setup, scenario, planned, .. } = *self;
        let header = setup.header(scenario, planned, self.pilot);
        let (mut keep, start) = match self.out {
            Some(folder) => {
                if session.resume {
                    setup.check_resumed(folder)?;
                }
                let (folder, start) = RunFolder::open(folder, &self.contents(&header), session.resume)?;
                (Keep::Folder(folder), start)
            }
            None => {
                let serves_others = session.trainings.is_some() && reuse::serves_others(self);
                (Keep::memory(&header, serves_others || session.keeps_records), Start::New)
            }
        };
        let optimiser = scenario.server.optimiser();
        let mut state = match (start, &mut keep) {
            (Start::Ended(end), Keep::Folder(folder)) => {
                let shown = self.show_again(&folder.path().join(RECORDS), &header, end, session)?;
                return Ok((shown, None));
            }
            (Start::After(checkpoint), Keep::Folder(folder)) => {
                self.resumed_state(folder, checkpoint, header.parameters, &optimiser)?
            }
            (_, keep) => self.begun_state(keep, &optimiser)?,
        };
        let sitting = match &keep {
            Keep::Folder(folder) => Some(host::Sitting::begin(folder.path(), session.threads, state.round)?),
            Keep::Memory { .. } => None,
        };
        session.observers.begin(&self.info(&header, &planned.schedule.mean_q()))?;
        let best = self.best(&keep)?;
        let mut keeper = Keeper::new(keep, best, session, (sitting, &*setup.trainer), scenario);
        let outcome = self.in_its_world(crew, optimiser, &mut state, &mut keeper)?;
        let kept = keeper.finish(state.round)?;
        let end = match outcome {
            Outcome::Ended(end) => Some(self.tested(end, &state, session.threads)?),
            Outcome::Stopped => None,
        };
        session.observers.end(end.as_ref())?;
        let detail = end.as_ref().and_then(|end| end.detail.clone());
        let (fold, records) = self.finish(kept, &state, end)?;
        let model = Some(Arc::clone(state.result()));
        Ok((Finished { fold, model, records: None, detail, had_ended: false }, records))
    }

    /// Adds the metrics of the test samples, which nobody has looked at before. A pilot is no result.
    fn tested(&self, end: End, state: &State, threads: usize) -> Result<End, RunError> {
        if self.pilot || end.reason == EndReason::Diverged {
            return Ok(end);
        }
        match self.setup.trainer.test(state.result(), threads) {
            None => Ok(end),
            Some(Ok(test)) => Ok(End { test, ..end }),
            // The run has ended all the same.
            Some(Err(error @ (LearnError::NotFinite { .. } | LearnError::Diverged { .. }))) => {
                let problem = format!("the test samples could not be evaluated: {error}");
                let detail = end.detail.map_or(problem.clone(), |detail| format!("{detail}; {problem}"));
                Ok(End { detail: Some(detail), ..end })
            }
            Some(Err(error)) => Err(error.into()),
        }
    }

    /// A run that ended in an earlier session: observers of this one may not have seen it.
    fn show_again(
        &self,
        records: &Path,
        header: &Header,
        end: End,
        session: &mut Session<'_>,
    ) -> Result<Finished, RunError> {
        let fold = Fold::read(records)?;
        let q = self.planned.schedule.mean_q();
        session.observers.begin(&self.info(header, &q))?;
        session.observers.end(Some(&end))?;
        Ok(Finished { fold, model: None, records: None, detail: end.detail, had_ended: true })
    }

    /// The last checkpoint syncs the folder to the disk; an end adds the model and the last line.
    fn finish(
        &self,
        (keep, best): (Keep, Option<BestModel>),
        state: &State,
        end: Option<End>,
    ) -> Result<(Fold, Option<Box<Records>>), RunError> {
        match keep {
            Keep::Folder(mut folder) => {
                let records = folder.path().join(RECORDS);
                if let Some(mut best) = best {
                    end.iter().for_each(|end| best.take(end.rounds, &end.metrics, state.result()));
                    best.write(&folder)?;
                }
                folder.checkpoint(state.checkpoint())?;
                if let Some(end) = end {
                    let params = self.setup.trainer.params();
                    folder.end(end, &model_file::write(&params, state.result().as_slice())?)?;
                }
                Ok((Fold::read(&records)?, None))
            }
            Keep::Memory { mut fold, mut records } => {
                end.iter().for_each(|end| fold.end(end));
                records.iter_mut().for_each(|records| records.end.clone_from(&end));
                Ok((*fold, records))
            }
        }
    }

    /// The best model so far; a pilot is no result, and keeps none.
    fn best(&self, keep: &Keep) -> Result<Option<BestModel>, RunError> {
        let Keep::Folder(folder) = keep else { return Ok(None) };
        let target = self.scenario.target().filter(|_| !self.pilot);
        let params = || self.setup.trainer.params();
        Ok(target.map(|target| BestModel::new(target, params(), folder)).transpose()?)
    }

    /// Before its first round.
    fn first_state(&self) -> Result<State, RunError> {
        if let Some(WarmStart { model, secs }) = &self.warm_start {
            return Ok(State { secs: *secs, ..State::new(ModelVector::clone(model)) });
        }
        let Self { setup, scenario, .. } = *self;
        let given = scenario.initial_model(&setup.trainer.params())?;
        Ok(State::new(given.map_or_else(|| setup.trainer.initial_model(scenario.seed), Ok)?))
    }

    /// The state of a new run, whose folder has it as the first checkpoint.
    fn begun_state(&self, keep: &mut Keep, optimiser: &Optimiser) -> Result<State, RunError> {
        let state = self.first_state()?.with_optimiser(optimiser);
        if let Keep::Folder(folder) = keep {
            folder.checkpoint(state.checkpoint())?;
        }
        Ok(state)
    }

    fn resumed_state(
        &self,
        folder: &RunFolder,
        checkpoint: Checkpoint,
        parameters: usize,
        optimiser: &Optimiser,
    ) -> Result<State, RunError> {
        let resumed = State::resumed(checkpoint, parameters, optimiser);
        let mut state = resumed.ok_or_else(|| self.damaged())?;
        if self.scenario.round.aggregation.remembers_norms() {
            reader::each(&folder.path().join(RECORDS), |line| state.norms.take_line(&line))?;
        }
        Ok(state)
    }

    pub(crate) fn info<'r>(&'r self, header: &'r Header, q: &'r [f64]) -> RunInfo<'r> {
        let (title, folder) = (self.title, self.out);
        RunInfo { title, header, fleet: &self.setup.fleet, q, folder }
    }

    /// What the run's folder starts with.
    fn contents(&self, header: &Header) -> Contents<'_> {
        let initial = self.scenario.initial.as_ref().map(|initial| (InitialModel::COPY, &initial.bytes[..]));
        let weights = self.scenario.data.weights.given().map(|given| (WEIGHTS, &given.text[..]));
        let mut fleet = Vec::new();
        // Memory takes whatever is written to it.
        let _ = csv_file::write(&self.setup.fleet, &mut fleet);
        let stop = self.scenario.engine_stop();
        Contents {
            run: self.setup.stored(self.scenario),
            free_keys: FREE_KEYS,
            caps: Caps { rounds_max: stop.rounds_max, secs_max: stop.secs_max.unwrap_or(f64::INFINITY) },
            fleet,
            plan: self.planned.schedule.csv(&self.setup.fleet),
            header: header.clone(),
            copies: initial.into_iter().chain(weights).collect(),
        }
    }
}
