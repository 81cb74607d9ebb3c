//! Lines 1–3 of Algorithm 2: short runs under uniform and full sampling, and the α and β that follow from them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fedflip_engine::in_words;
use fedflip_fleet::ModelVector;
use fedflip_learn::{Crew, metrics, model_file};
use fedflip_plan::{Pilot, PilotFit, PlanError, Scheme, constants};
use fedflip_record::Summary;
use fedflip_record::folder::{MODEL, PILOTS};

use crate::error::RunError;
use crate::seed_after;
use crate::session::Session;
use crate::setup::Setup;
use crate::shard::{Part, Place};
use crate::single::{Finished, Single, WarmStart};
use fedflip_record::{Target, TargetMode};
use fedflip_report::numbers::{count, significant};
use fedflip_scenario::{Scenario, Stop};

/// Pilots have seeds of their own, so that no run repeats its pilot.
const SEED_OFFSET: u64 = 1_000_000;

/// The paper's two pilot schemes.
const SCHEMES: [Scheme; 2] = [Scheme::Uniform, Scheme::Full];

/// Where and how pilots run.
pub struct Pilots<'a> {
    /// The data and the fleet.
    pub setup: &'a Setup,
    /// The settings that pilots share with the runs that they are for.
    pub scenario: &'a Scenario,
    /// A folder of all pilots, or none.
    pub out: Option<&'a Path>,
    /// The text that observers are shown before a pilot's name.
    pub prefix: &'a str,
    /// The number of runs that continue from pilots, each from those of its own seed.
    pub kept: u64,
    /// The pilots that this process keeps, and the folder of the comparison; none if all are its own.
    pub part: Option<(Part, &'a Path)>,
}

/// The two pilots of a seed.
pub struct Pair {
    /// The pilot under uniform sampling, and the one under full participation.
    pub runs: Vec<Summary>,
    /// The model of the pilot with the lower loss, and the time of both.
    pub better: WarmStart,
}

impl Pair {
    /// What a person should know who continues from pilots that were capped or diverged: one sentence for each.
    pub fn short_of(&self, loss: f64) -> Vec<String> {
        let short = self.runs.iter().filter(|run| !run.reached());
        short
            .map(|run| {
                let (scheme, seed) = (&run.scheme, run.seed);
                let rounds = count(run.rounds as usize);
                format!(
                    "the pilot under {scheme} with seed {seed} did not reach the loss {} (pilot.loss) in {rounds} rounds, \
                     and training still continues from the better pilot",
                    significant(loss, 3)
                )
            })
            .collect()
    }
}

/// The results of all pilots.
pub struct Piloted {
    /// In the order in which they ran.
    pub runs: Vec<Summary>,
    /// α and β, or why there are none.
    pub fit: Result<PilotFit, PlanError>,
    /// The models that runs continue from, seed by seed.
    pub kept: Vec<WarmStart>,
}

impl Piloted {
    /// Virtual hours of all pilots of one seed, averaged over the seeds: what Algorithm 2 takes.
    pub fn hours(&self) -> f64 {
        let seeds = self.runs.len().div_ceil(SCHEMES.len()).max(1);
        self.runs.iter().map(|run| run.hours).sum::<f64>() / seeds as f64
    }
}

impl Pilots<'_> {
    /// The number of pilots, of which `kept` pairs have runs that continue from them.
    pub fn count(scenario: &Scenario, kept: u64) -> u64 {
        scenario.pilot.seeds.max(kept) * SCHEMES.len() as u64
    }

    /// Runs them all; none if it was interrupted.
    pub fn run(&self, crew: &mut dyn Crew, session: &mut Session<'_>) -> Result<Option<Piloted>, RunError> {
        let (mut runs, mut points) = (Vec::new(), Vec::new());
        let (mut kept, mut short) = (Vec::new(), Vec::new());
        let seeds = self.scenario.pilot.seeds;
        for number in 0..seeds.max(self.kept) {
            let Some(pair) = self.pair(number, crew, session)? else { return Ok(None) };
            if number < self.kept {
                short.extend(pair.short_of(self.scenario.pilot.loss));
                kept.push(pair.better);
            }
            if number < seeds {
                points.extend(pair.runs.iter().zip(SCHEMES).map(|(run, scheme)| Pilot {
                    rounds: run.rounds as f64,
                    reached: run.reached(),
                    scheme,
                }));
                runs.extend(pair.runs);
            }
        }
        let fit = constants::from_pilots(&self.setup.fleet, &points);
        // Otherwise nothing continues.
        if fit.is_ok() {
            short.iter().for_each(|text| session.observers.warn(text));
        }
        Ok(Some(Piloted { runs, fit, kept }))
    }

    /// The two pilots of a seed; none if it was interrupted.
    pub fn pair(
        &self,
        number: u64,
        crew: &mut dyn Crew,
        session: &mut Session<'_>,
    ) -> Result<Option<Pair>, RunError> {
        let metrics = self.setup.trainer.metrics();
        if metrics.iter().all(|metric| metric.info.name != metrics::LOSS) {
            return Err(RunError::NoPilotLoss { known: in_words(metrics) });
        }
        let (mut runs, mut better, mut least) = (Vec::new(), None, f64::INFINITY);
        for (place, scheme) in SCHEMES.into_iter().enumerate() {
            let item = number * SCHEMES.len() as u64 + place as u64;
            let Some((done, folder)) = self.one(&scheme, (number, item), crew, session)? else {
                return Ok(None);
            };
            let summary = done.fold.summary;
            let loss = summary.metrics.get("loss").unwrap_or(f64::INFINITY);
            if better.is_none() || loss < least {
                least = loss;
                better = Some(match (done.model, folder) {
                    (Some(model), _) => model,
                    (None, Some(folder)) => Arc::new(self.read_model(&folder)?),
                    // Only what has a folder can have been over before.
                    (None, None) => return Ok(None),
                });
            }
            runs.push(summary);
        }
        let secs = runs.iter().map(|run| 3600.0 * run.hours).sum();
        Ok(better.map(|model| Pair { runs, better: WarmStart { model, secs } }))
    }

    /// A pilot and its folder; none if it was interrupted.
    fn one(
        &self,
        scheme: &Scheme,
        (number, item): (u64, u64),
        crew: &mut dyn Crew,
        session: &mut Session<'_>,
    ) -> Result<Option<(Finished, Option<PathBuf>)>, RunError> {
        let mut scenario = pilot_scenario(self.scenario, scheme.clone(), number);
        self.setup.with_first_model(&mut scenario)?;
        // A pilot is there to find the constants: it expects nothing of them.
        let planned = self.setup.plan(&scenario, None)?;
        let name = format!("{scheme}-seed{}", scenario.seed);
        let (out, repeats, before) = match self.part.map(|(part, out)| part.place(item, out, PILOTS, &name)) {
            None => (self.out.map(|out| out.join(&name)), false, None),
            Some(Place::Own(folder)) => (Some(folder), false, None),
            Some(Place::Repeated(folder)) => (Some(folder), true, None),
            Some(Place::Done(folder, fold)) => (Some(folder), false, Some(fold)),
        };
        let single = Single {
            setup: self.setup,
            scenario: &scenario,
            planned: &planned,
            warm_start: None,
            pilot: true,
            out: out.as_deref(),
            title: &format!("{}pilot {name}", self.prefix),
        };
        if let Some(fold) = before {
            single.check_same()?;
            return Ok(Some((Finished::before(*fold), out)));
        }
        let done = if repeats { single.repeat(crew, session)? } else { single.run(crew, session)? };
        let over = done.fold.summary.end.is_some() && !(session.stop)();
        Ok(over.then_some((done, out)))
    }

    fn read_model(&self, folder: &Path) -> Result<ModelVector, RunError> {
        let path = folder.join(MODEL);
        let name = path.display().to_string();
        let bytes = std::fs::read(&path).map_err(|source| RunError::Open { path: name.clone(), source })?;
        Ok(ModelVector::new(model_file::read(&self.setup.trainer.params(), &bytes, &name)?))
    }
}

/// The scenario of a pilot: rounds to the loss F_s, with a seed of its own.
pub fn pilot_scenario(of: &Scenario, scheme: Scheme, number: u64) -> Scenario {
    let mut scenario = of.clone();
    scenario.seed = seed_after(of.seed, SEED_OFFSET + number);
    scenario.plan.scheme = scheme;
    // A pilot evaluates after every round, and all its rounds have the sampling variance of its scheme.
    scenario.plan.quiet_variance = None;
    // What is done with it afterwards makes no other pilot.
    scenario.pilot.keep = false;
    scenario.stop = Stop {
        target: Target { metric: metrics::LOSS.to_owned(), at: of.pilot.loss, mode: TargetMode::Min },
        rounds_max: of.pilot.rounds_max,
        virtual_hours_max: None,
        // Half a pilot says nothing.
        real_hours_max: None,
    };
    // A pilot counts rounds, so it has to look at each.
    scenario.record.evaluate_every = 1;
    scenario
}
