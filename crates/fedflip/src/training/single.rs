//! One run, in a folder or in memory.

use std::path::Path;
use std::sync::Arc;

use fedflip_engine::{Aggregation, Engine, Outcome, State};
use fedflip_fleet::{ModelVector, csv_file};
use fedflip_learn::sgd::SgdLearner;
use fedflip_learn::{Learner, model_file};
use fedflip_record::folder::{Contents, RECORDS};
use fedflip_record::{Header, RecordError, RunFolder, Start, reader};
use fedflip_sim::{Conditions, Crew, SimWorld};

use super::follow::{Began, Followers};
use super::host;
use super::outline::Outline;
use super::setup::{Planned, Setup};
use super::watch::{Keep, Watch};
use crate::error::CliError;
use crate::scenario::Scenario;

/// What may differ when a run goes on.
pub(crate) const FREE_KEYS: &[&str] =
    &["rounds_max", "virtual_hours_max", "real_hours_max", "checkpoint_secs", "update_norm_max"];

/// One run to do.
pub(crate) struct Single<'a> {
    pub setup: &'a Setup,
    /// Whose seed, caps and target are those of this run.
    pub scenario: &'a Scenario,
    pub planned: &'a Planned,
    /// What it goes on from; otherwise it begins.
    pub kept: Option<Kept>,
    pub out: Option<&'a Path>,
    pub resume: bool,
    pub threads: usize,
    /// For the bar.
    pub title: &'a str,
}

/// A model, and the time that it took to make.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub model: Arc<ModelVector>,
    pub secs: f64,
}

/// What came of it.
pub(crate) struct Done {
    pub outline: Outline,
    /// What it has to show; none if it was over before, and then it is in its folder.
    pub model: Option<Arc<ModelVector>>,
    /// More about how it ended, where there is more to say.
    pub detail: Option<String>,
    /// It was over before it was begun again.
    pub was_over: bool,
}

impl Single<'_> {
    pub(crate) fn run(
        &self,
        crew: &mut Crew<'_, SgdLearner>,
        followers: &mut Followers,
    ) -> Result<Done, CliError> {
        let Self { setup, scenario, planned, .. } = *self;
        let header = setup.header(scenario, planned);
        let (mut keep, start) = match self.out {
            Some(folder) => {
                let (folder, start) = RunFolder::open(folder, &self.contents(&header), self.resume)?;
                (Keep::Folder(folder), start)
            }
            None => (Keep::Memory(Outline::new(&header)), Start::New),
        };
        let optimiser = scenario.server.optimiser();
        let mut state = match (start, &mut keep) {
            (Start::Ended(end), Keep::Folder(folder)) => {
                let outline = Outline::read(&folder.path().join(RECORDS), &header)?;
                // Whoever follows now may not have followed then.
                self.begin(followers, &header, end.rounds)?;
                followers.end(Some(&end))?;
                return Ok(Done { outline, model: None, detail: end.detail, was_over: true });
            }
            (Start::After(checkpoint), Keep::Folder(folder)) => {
                // Of another optimiser, in a folder of the same scenario: somebody has been at it.
                let damaged = || RecordError::Damaged { folder: folder.path().display().to_string() };
                let mut state =
                    State::resumed(checkpoint, header.parameters, &optimiser).ok_or_else(damaged)?;
                if scenario.round.aggregation.remembers_norms() {
                    reader::each(&folder.path().join(RECORDS), |line| state.norms.take_line(&line))?;
                }
                state
            }
            (_, keep) => {
                let state = self.first_state().with_optimiser(&optimiser);
                if let Keep::Folder(folder) = keep {
                    folder.checkpoint(state.checkpoint())?;
                }
                state
            }
        };

        let engine = Engine {
            fleet: &setup.fleet,
            schedule: &planned.schedule,
            band: scenario.band,
            division: scenario.round.allocation,
            deadline_secs: scenario.round.deadline.map(fedflip_fleet::Secs::get),
            // Times that do not vary need no margin.
            deadline_margin: if scenario.world.compute_jitter > 0.0 {
                scenario.round.deadline_margin
            } else {
                0.0
            },
            aggregation: scenario.round.aggregation,
            optimiser,
            stop: scenario.engine_stop(),
        };
        let conditions = Conditions {
            compute_jitter: scenario.world.compute_jitter,
            fading_db: scenario.world.fading_db,
            dropout: scenario.world.dropout,
            overhead_secs: scenario.round.overhead.get(),
        };
        let from = state.round;
        let clock = (scenario.seed, state.secs);
        let mut world = SimWorld::new(crew, &setup.fleet, &planned.schedule, conditions, clock)
            .with_encoding(scenario.update.encoding);
        if scenario.round.aggregation == Aggregation::CohortMean {
            world = world.with_weighed_rates();
        }
        let session = match &keep {
            Keep::Folder(folder) => Some(host::Session::begin(folder.path(), self.threads, from)?),
            Keep::Memory(_) => None,
        };
        self.begin(followers, &header, from)?;
        let mut watch = Watch::new(keep, followers, self.title, &state)
            .with_target(header.target_accuracy)
            .with_checkpoints(scenario.record.checkpoint.get())
            .with_real_hours_max(scenario.stop.real_hours_max);
        let outcome = engine.run(&mut world, &mut state, &mut watch)?;

        let end = match outcome {
            Outcome::Ended(end) => Some(end),
            Outcome::Stopped => None,
        };
        let detail = end.as_ref().and_then(|end| end.detail.clone());
        let real = watch.real();
        let keep = watch.into_keep();
        followers.end(end.as_ref())?;
        let outline = match keep {
            Keep::Folder(mut folder) => {
                let path = folder.path().to_owned();
                folder.checkpoint(state.checkpoint())?;
                if let Some(session) = session {
                    session.end(real, state.round)?;
                }
                if let Some(end) = end {
                    let model =
                        model_file::write(&setup.learner.network().params(), state.result().as_slice())?;
                    folder.end(end, &model)?;
                }
                Outline::read(&path.join(RECORDS), &header)?
            }
            Keep::Memory(mut outline) => {
                end.iter().for_each(|end| outline.end(end));
                outline
            }
        };
        let model = Some(Arc::clone(state.result()));
        Ok(Done { outline, model, detail, was_over: false })
    }

    /// Before its first round.
    fn first_state(&self) -> State {
        match &self.kept {
            Some(Kept { model, secs }) => State { secs: *secs, ..State::new(ModelVector::clone(model)) },
            None => State::new(self.setup.learner.initial_model(self.scenario.seed)),
        }
    }

    /// Shows those who follow where the run is.
    fn begin(&self, followers: &mut Followers, header: &Header, rounds: u64) -> Result<(), CliError> {
        let run = Began {
            title: self.title,
            header,
            fleet: &self.setup.fleet,
            q: &self.planned.schedule.mean_q(),
            folder: self.out,
        };
        Ok(followers.begin(&run, rounds)?)
    }

    /// What the run's folder starts with.
    fn contents(&self, header: &Header) -> Contents {
        let mut fleet = Vec::new();
        // Memory takes whatever is written to it.
        let _ = csv_file::write(&self.setup.fleet, &mut fleet);
        Contents {
            run: self.scenario.stored(),
            free_keys: FREE_KEYS,
            fleet,
            plan: self.planned.schedule.csv(&self.setup.fleet),
            header: header.clone(),
        }
    }
}
