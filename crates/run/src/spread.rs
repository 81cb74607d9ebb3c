//! Whole runs on the workers of a host: these keep all workers busy without a word between them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use fedflip_fleet::csv_file;
use fedflip_learn::model_file;
use fedflip_plan::Scheme;
use fedflip_scenario::{FleetSource, InMemory, InitialModel, Scenario, Source};

use crate::comparison::{Comparison, run_name};
use crate::error::RunError;
use crate::session::Session;
use crate::trainer::{Trainer, WholeRun};

/// A run that one worker could do.
struct Candidate {
    run: WholeRun,
    /// The mean number of devices that train at the same time if all workers share the run.
    participants: f64,
}

impl Comparison<'_> {
    /// Spreads the runs of some schemes among workers: as many as keep the workers busiest. The others are trained one by one,
    /// each by all workers. Returns the folders of those that were spread, or none if it was interrupted.
    pub(crate) fn spread<'s>(
        &self,
        schemes: impl Iterator<Item = &'s Scheme>,
        limit_hours: Option<f64>,
        session: &mut Session<'_>,
    ) -> Result<Option<BTreeSet<PathBuf>>, RunError> {
        // Shards divide the runs already, a retimed run costs less than any worker, and observers see no round of a whole run.
        let is_free = self.part.is_none() && session.trainings.is_none() && !session.observers.may_end_runs();
        if !is_free || self.setup.trainer.runs_at_once() < 2 {
            return Ok(Some(BTreeSet::new()));
        }
        let candidates = self.candidates(schemes, limit_hours, session)?;
        spread(&*self.setup.trainer, candidates, session)
    }

    /// The runs of some schemes that have not begun, and that a worker could do; none if a folder must not be resumed, which
    /// whoever runs the comparison is told at once.
    fn candidates<'s>(
        &self,
        schemes: impl Iterator<Item = &'s Scheme>,
        limit_hours: Option<f64>,
        session: &Session<'_>,
    ) -> Result<Vec<Candidate>, RunError> {
        let mut candidates = Vec::new();
        // A scheme that a program draws is code of this process: its runs share devices.
        for scheme in schemes.filter(|scheme| scheme.promises_unbiased().is_none()) {
            let scenario = self.scenario_of(scheme);
            let Ok(planned) = self.setup.plan(&scenario, Some(self.constants)) else { continue };
            for number in 0..self.seeds {
                let (mut scenario, warm_start) = self.run_of(&scenario, number, limit_hours);
                self.without_first_model(&mut scenario)?;
                let Some(folder) =
                    self.out.map(|out| out.join(run_name(&scenario.plan.scheme, scenario.seed)))
                else {
                    continue;
                };
                let is_there = folder.exists();
                if is_there && !session.resume {
                    return Ok(Vec::new());
                }
                if is_there || warm_start.is_some() {
                    continue;
                }
                if let Some((text, fleet)) = as_text(&scenario) {
                    let participants = planned.expected.participants;
                    candidates.push(Candidate { run: WholeRun { text, fleet, folder }, participants });
                }
            }
        }
        Ok(candidates)
    }

    /// The first model of a program's learner is zeros until a seed makes it, on the worker as here: the text has their digest.
    fn without_first_model(&self, scenario: &mut Scenario) -> Result<(), RunError> {
        if scenario.task.is_external() {
            let params = self.setup.trainer.params();
            let zeros = vec![0.0; params.iter().map(|(_, spec)| spec.len()).sum()];
            let bytes = model_file::write(&params, &zeros)?;
            scenario.initial = Some(Arc::new(InitialModel::new(InitialModel::COPY, bytes)));
        }
        Ok(())
    }
}

/// Lets workers do as many of the runs as keep them busiest, and returns their folders; none if it was interrupted.
fn spread(
    trainer: &dyn Trainer,
    mut candidates: Vec<Candidate>,
    session: &mut Session<'_>,
) -> Result<Option<BTreeSet<PathBuf>>, RunError> {
    let at_once = trainer.runs_at_once();
    let participants: Vec<f64> = candidates.iter().map(|candidate| candidate.participants).collect();
    candidates.truncate(worth_spreading(at_once, &participants));
    if candidates.is_empty() {
        return Ok(Some(BTreeSet::new()));
    }
    let runs: Vec<WholeRun> = candidates.into_iter().map(|candidate| candidate.run).collect();
    let what = format!("training {} complete runs on {} workers", runs.len(), at_once.min(runs.len()));
    let stop = session.stop;
    session.observers.while_working(&what, || trainer.whole_runs(&runs, stop))?;
    let is_over = runs.iter().all(|run| run.folder.exists());
    Ok(is_over.then(|| runs.into_iter().map(|run| run.folder).collect()))
}

/// How many of the runs keep the workers busiest as whole ones: the same number for each worker, and the rest too if it is
/// larger than the cohorts that workers would share.
fn worth_spreading(at_once: usize, participants: &[f64]) -> usize {
    if at_once < 2 {
        return 0;
    }
    let rest = participants.len() % at_once;
    let shared: f64 = participants.iter().rev().take(rest).map(|count| count.min(at_once as f64)).sum();
    let is_worth = (rest * rest) as f64 > shared;
    participants.len() - if is_worth { 0 } else { rest }
}

/// The scenario as a text, and its fleet as CSV if a file has it; none if that is not all.
fn as_text(scenario: &Scenario) -> Option<(String, Option<Vec<u8>>)> {
    let (mut said, mut memory, mut csv) = (scenario.clone(), InMemory::default(), None);
    if let FleetSource::File { name, fleet, in_memory } = &mut said.fleet {
        let mut bytes = Vec::new();
        csv_file::write(fleet, &mut bytes).ok()?;
        memory.fleet = Some(Arc::new(csv_file::read(&bytes[..], name).ok()?));
        (*name, *in_memory) = (fedflip_record::folder::FLEET.to_owned(), true);
        csv = Some(bytes);
    }
    if said.task.is_external() {
        memory.initial.clone_from(&said.initial);
    }
    let text = scenario.stored();
    let source = Source::of_text(&text, "the scenario").with_memory(memory);
    let is_all = source.scenario(&[]).is_ok_and(|read| read == said);
    is_all.then_some((text, csv))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_kept_as_busy_as_possible() {
        // 18 runs on 64 workers keep 18 of them busy, a shared cohort of 10 keeps 10.
        assert_eq!(worth_spreading(64, &[10.0; 18]), 18);
        assert_eq!(worth_spreading(64, &[100.0; 18]), 0);
        assert_eq!(worth_spreading(64, &[10.0; 10]), 0);
        // The same number for each worker, and then the rest.
        assert_eq!(worth_spreading(8, &[100.0; 50]), 48);
        assert_eq!(worth_spreading(8, &[1.5; 50]), 50);
        assert_eq!(worth_spreading(2, &[24.0; 3]), 2);
        // The rest alone decides: its cohorts are the ones that would be shared.
        assert_eq!(worth_spreading(4, &[50.0, 50.0, 50.0, 50.0, 1.0, 1.0]), 6);
        assert_eq!(worth_spreading(4, &[1.0, 1.0, 1.0, 1.0, 50.0, 50.0]), 4);
        assert_eq!(worth_spreading(1, &[1.0; 5]), 0);
    }
}
