//! Trainings that serve several clocks: a sweep over the bandwidth trains once what does not depend on it.

use std::path::PathBuf;
use std::sync::Arc;

use fedflip_fleet::{Fleet, ModelVector};
use fedflip_record::changed::difference_in_words;
use fedflip_record::folder::{RECORDS, RUN};
use fedflip_record::reader::{self, Records};
use fedflip_record::{Fold, Line};
use fedflip_scenario::Scenario;

use crate::error::RunError;
use crate::replay::{CLOCK_KEYS, Clock, Replayed, decided_by_clock, replay, same_draws};
use crate::retime;
use crate::session::Session;
use crate::setup::Planned;
use crate::single::{Finished, Single};

/// Keys that do not change a run by themselves: they act through q, which is compared, or through a cap, which is tried.
const CHECKED_KEYS: &[&str] = &["plan.alpha", "plan.beta", "plan.overhead_secs", "stop.virtual_hours_max"];

/// The finished runs of a session, whose trainings serve other clocks.
#[derive(Default)]
pub struct Trainings {
    runs: Vec<Training>,
    reused: usize,
}

/// A finished run whose training can be used again.
struct Training {
    scenario: Scenario,
    /// The scenario as text, by which runs are compared.
    stored: String,
    pilot: bool,
    fleet: Arc<Fleet>,
    planned: Planned,
    source: Source,
}

/// Where the records and the model of a run are.
enum Source {
    Folder(PathBuf),
    Memory { records: Box<Records>, model: Arc<ModelVector> },
}

impl Trainings {
    /// The number of runs that were retimed and not trained.
    pub fn reused(&self) -> usize {
        self.reused
    }

    /// The run as an earlier training gives it; none if none does, or if there is something in the run's folder.
    pub(crate) fn retimed(
        &mut self,
        single: &Single<'_>,
    ) -> Result<Option<(Finished, Box<Records>)>, RunError> {
        if !serves_others(single) || single.out.is_some_and(|out| out.join(RUN).exists()) {
            return Ok(None);
        }
        let stored = single.scenario.stored();
        let free: Vec<&str> = CLOCK_KEYS.iter().chain(CHECKED_KEYS).copied().collect();
        let now = Clock { scenario: single.scenario, fleet: &single.setup.fleet, planned: single.planned };
        for run in &self.runs {
            let before = run.clock();
            // What costs least is compared first; records are read last.
            let is_other = run.pilot != single.pilot
                || run.is_in_folder() != single.out.is_some()
                || !same_draws(&before, &now)
                || difference_in_words(&run.stored, &stored, &free).is_some();
            if is_other {
                continue;
            }
            if let Some(found) = run.on(&now, single)? {
                self.reused += 1;
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Keeps a run that has ended, for other clocks.
    pub(crate) fn keep(&mut self, single: &Single<'_>, finished: &Finished, records: Option<Box<Records>>) {
        let source = match (single.out, records, &finished.model) {
            (Some(folder), _, _) => Source::Folder(folder.to_owned()),
            (None, Some(records), Some(model)) => Source::Memory { records, model: Arc::clone(model) },
            _ => return,
        };
        if finished.fold.summary.end.is_none() || !serves_others(single) {
            return;
        }
        // The runs of a comparison share their fleet.
        let fleet = &single.setup.fleet;
        let known = self.runs.last().filter(|run| *run.fleet == *fleet).map(|run| Arc::clone(&run.fleet));
        let fleet = known.unwrap_or_else(|| Arc::new(fleet.clone()));
        let (scenario, planned) = (single.scenario.clone(), single.planned.clone());
        let (stored, pilot) = (scenario.stored(), single.pilot);
        self.runs.push(Training { scenario, stored, pilot, fleet, planned, source });
    }
}

/// Whether the run may serve other clocks, or another run this one.
pub(crate) fn serves_others(single: &Single<'_>) -> bool {
    single.warm_start.is_none() && decided_by_clock(single.scenario).is_none()
}

impl Training {
    fn clock(&self) -> Clock<'_> {
        Clock { scenario: &self.scenario, fleet: &self.fleet, planned: &self.planned }
    }

    fn is_in_folder(&self) -> bool {
        matches!(self.source, Source::Folder(_))
    }

    /// This run on another clock; none if a run from scratch would have been another.
    fn on(&self, now: &Clock<'_>, single: &Single<'_>) -> Result<Option<(Finished, Box<Records>)>, RunError> {
        let read;
        let records = match &self.source {
            Source::Memory { records, .. } => &**records,
            Source::Folder(folder) => {
                read = reader::read(&folder.join(RECORDS))?;
                &read
            }
        };
        let Replayed::Same(retimed) = replay(records, &self.clock(), now)? else { return Ok(None) };
        if let (Source::Folder(from), Some(out)) = (&self.source, single.out) {
            retime::write(from, &retimed, now, single.setup.stored(single.scenario), out)?;
        }
        let mut fold = Fold::new(&retimed.header);
        lines(&retimed).for_each(|line| fold.add(&line));
        let model = match &self.source {
            Source::Memory { model, .. } => Some(Arc::clone(model)),
            Source::Folder(_) => None,
        };
        let detail = retimed.end.as_ref().and_then(|end| end.detail.clone());
        Ok(Some((Finished { fold, model, records: None, detail, had_ended: false }, retimed)))
    }
}

/// The records after the header.
fn lines(records: &Records) -> impl Iterator<Item = Line> {
    let initial = records.initial.iter().cloned().map(Line::Initial);
    let rounds = records.rounds.iter().cloned().map(Line::Round);
    initial.chain(rounds).chain(records.end.iter().cloned().map(Line::End))
}

/// Shows a retimed run to the observers of a session.
pub(crate) fn show(
    single: &Single<'_>,
    records: &Records,
    session: &mut Session<'_>,
) -> Result<(), RunError> {
    let q = single.planned.schedule.mean_q();
    let observers = &mut session.observers;
    // Those who want the rounds of a folder read them there.
    observers.begin(&single.info(&records.header, &q))?;
    if single.out.is_none() {
        records.initial.iter().try_for_each(|initial| observers.initial(initial))?;
        records.rounds.iter().try_for_each(|round| observers.round(round))?;
    }
    Ok(observers.end(records.end.as_ref())?)
}
