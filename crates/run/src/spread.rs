//! Whole runs of a comparison on the workers of a host: these keep all workers busy without a word between them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use fedflip_plan::Scheme;
use fedflip_scenario::Scenario;

use crate::comparison::Comparison;
use crate::error::RunError;
use crate::session::Session;
use crate::trainer::WholeRun;

impl Comparison<'_> {
    /// Spreads the runs of some schemes among workers: as many as keep all workers busy; returns their folders, or none if it was
    /// interrupted. The others are trained one by one, each by all workers.
    pub(crate) fn spread<'s>(
        &self,
        schemes: impl Iterator<Item = &'s Scheme>,
        limit_hours: Option<f64>,
        session: &mut Session<'_>,
    ) -> Result<Option<BTreeSet<PathBuf>>, RunError> {
        let Some(crews) = session.crews.clone() else { return Ok(Some(BTreeSet::new())) };
        // Shards divide the runs already, and a retimed run costs less than any worker.
        let at_once =
            if self.part.is_none() && session.trainings.is_none() { crews.runs_at_once() } else { 0 };
        if at_once < 2 {
            return Ok(Some(BTreeSet::new()));
        }
        let mut runs = Vec::new();
        for scheme in schemes {
            let scenario = self.scenario_of(scheme);
            if self.setup.plan(&scenario, Some(self.constants)).is_ok() {
                let of_seed = |number| self.whole_run(&scenario, number, limit_hours).transpose();
                runs.extend((0..self.seeds).filter_map(of_seed).collect::<Result<Vec<_>, _>>()?);
            }
        }
        runs.truncate(runs.len() / at_once * at_once);
        if !runs.is_empty() {
            let what = format!("training {} complete runs on {at_once} workers", runs.len());
            let stop = session.stop;
            session.observers.while_working(&what, || crews.whole_runs(&runs, stop))?;
        }
        let interrupted = runs.iter().any(|run| !run.folder.exists());
        Ok((!interrupted).then(|| runs.into_iter().map(|run| run.folder).collect()))
    }

    /// The run of a seed, if it has not begun and one text says all about it.
    fn whole_run(
        &self,
        scenario: &Scenario,
        number: u64,
        limit_hours: Option<f64>,
    ) -> Result<Option<WholeRun>, RunError> {
        let (scenario, warm_start) = self.run_of(scenario, number, limit_hours)?;
        let folder = self.out.map(|out| out.join(Self::folder_of(&scenario)));
        let Some(folder) = folder.filter(|folder| warm_start.is_none() && !folder.exists()) else {
            return Ok(None);
        };
        let text = scenario.stored();
        let is_whole = Scenario::from_toml(&text).is_ok_and(|read| read == scenario);
        Ok(is_whole.then_some(WholeRun { text, folder }))
    }
}
