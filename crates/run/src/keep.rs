//! Where the records of a run go, and when: to a folder with checkpoints, or into a fold in memory.

use std::time::{Duration, Instant};

use fedflip_engine::{BoxedError, Control, Sink, State};
use fedflip_fleet::Metrics;
use fedflip_record::folder::RECORDS;
use fedflip_record::reader::{self, Records};
use fedflip_record::{Fold, Header, Initial, Line, RecordError, Round, RunFolder};
use fedflip_scenario::Scenario;

use crate::best::BestModel;
use crate::host::Sitting;
use crate::session::Session;
use crate::trainer::Trainer;

/// The time between two flushes, for those who read the file while it is written.
const FLUSH_EVERY: Duration = Duration::from_millis(200);

/// Where the records go.
pub(crate) enum Keep {
    Folder(RunFolder),
    Memory {
        fold: Box<Fold>,
        /// All records, if they are to serve other clocks.
        records: Option<Box<Records>>,
    },
}

impl Keep {
    /// Nothing is written to a disk.
    pub(crate) fn memory(header: &Header, with_records: bool) -> Self {
        let records = || Records { header: header.clone(), initial: None, rounds: Vec::new(), end: None };
        Self::Memory { fold: Box::new(Fold::new(header)), records: with_records.then(|| Box::new(records())) }
    }

    /// Hands over the rounds of earlier sessions; there are none in memory.
    pub(crate) fn each_round(&self, mut take: impl FnMut(Round)) -> Result<(), RecordError> {
        let Self::Folder(folder) = self else { return Ok(()) };
        reader::each(&folder.path().join(RECORDS), |line| {
            if let Line::Round(round) = line {
                take(round);
            }
        })
    }
}

/// The sink of one run.
pub(crate) struct Keeper<'k, 's> {
    pub(crate) keep: Keep,
    /// None of a pilot, and of a run without a folder.
    best: Option<BestModel>,
    session: &'k mut Session<'s>,
    /// The note on this session, and who knows the workers; none of a run without a folder.
    sitting: Option<Sitting>,
    trainer: &'k dyn Trainer,
    checkpoint_every: Duration,
    /// The real time at which the run has to stop.
    real_end: Option<Instant>,
    started: Instant,
    flushed: Instant,
    checkpointed: Instant,
}

impl<'k, 's> Keeper<'k, 's> {
    pub(crate) fn new(
        keep: Keep,
        best: Option<BestModel>,
        session: &'k mut Session<'s>,
        (sitting, trainer): (Option<Sitting>, &'k dyn Trainer),
        scenario: &Scenario,
    ) -> Self {
        let started = (session.now)();
        let hours_max = scenario.stop.real_hours_max;
        Self {
            keep,
            best,
            session,
            sitting,
            trainer,
            checkpoint_every: Duration::try_from_secs_f64(scenario.record.checkpoint.get())
                .unwrap_or(Duration::MAX),
            real_end: hours_max
                .and_then(|hours| Duration::try_from_secs_f64(3600.0 * hours).ok())
                .and_then(|most| started.checked_add(most)),
            started,
            flushed: started,
            checkpointed: started,
        }
    }

    /// What was kept. Notes the real seconds that it took.
    pub(crate) fn finish(self, last_round: u64) -> Result<(Keep, Option<BestModel>), RecordError> {
        let real = (self.session.now)() - self.started;
        if let Some(sitting) = self.sitting {
            sitting.end(real, last_round, self.trainer.workers())?;
        }
        Ok((self.keep, self.best))
    }

    fn take(&mut self, round: u64, metrics: &Metrics, state: &State) {
        self.best.iter_mut().for_each(|best| best.take(round, metrics, state.result()));
    }
}

impl Sink for Keeper<'_, '_> {
    fn initial(&mut self, initial: Initial, state: &State) -> Result<Control, BoxedError> {
        self.take(0, &initial.metrics, state);
        self.session.observers.initial(&initial)?;
        match &mut self.keep {
            Keep::Folder(folder) => folder.append_initial(initial)?,
            Keep::Memory { fold, records } => {
                fold.initial(&initial);
                records.iter_mut().for_each(|records| records.initial = Some(initial.clone()));
            }
        }
        Ok(Control::GoOn)
    }

    fn round(&mut self, record: Round, (): (), state: &State) -> Result<Control, BoxedError> {
        self.session.observers.round(&record)?;
        self.take(record.round, &record.metrics, state);
        // A look at the clock costs less than a round; everything else happens now and then.
        let now = (self.session.now)();
        match &mut self.keep {
            Keep::Folder(folder) => {
                folder.append(record)?;
                if now - self.flushed >= FLUSH_EVERY {
                    self.flushed = now;
                    folder.flush()?;
                }
                if now - self.checkpointed >= self.checkpoint_every {
                    self.checkpointed = now;
                    self.best.iter_mut().try_for_each(|best| best.write(folder))?;
                    // Rounds that survive a kill do so together with the note on who trained them.
                    self.sitting.iter_mut().try_for_each(|sitting| sitting.meet(self.trainer.workers()))?;
                    folder.checkpoint(state.checkpoint())?;
                }
            }
            Keep::Memory { fold, records } => {
                fold.round(&record);
                if let Some(records) = records {
                    records.rounds.push(record);
                }
            }
        }
        let late = self.real_end.is_some_and(|end| now >= end);
        Ok(if late || (self.session.stop)() { Control::Stop } else { Control::GoOn })
    }
}
