//! A comparison at every value of a key, or at every combination of the values of several keys.

use std::collections::BTreeMap;
use std::path::Path;

use fedflip_plan::{PlanError, Scheme};
use fedflip_report::standing::SpeedUp;
use fedflip_scenario::{Axis, KeyError, Place, Point, Scenario, ScenarioError, Source, Value, points};
use serde::Serialize;

use crate::comparison::Entry;
use crate::error::RunError;
use crate::folders::{self, SWEEP};
use crate::replay::CLOCK_KEYS;
use crate::reuse::Trainings;
use crate::session::Session;
use crate::setup::Setup;
use crate::study::{Study, write_json};
use crate::verdict::ComparisonJson;

/// Speed-ups are over every device in every round.
pub const YARDSTICK: Scheme = Scheme::Full;

/// All points, and the scenario at each.
pub struct Sweep {
    base: Scenario,
    axes: Vec<Axis>,
    points: Vec<Point>,
    scenarios: Vec<Scenario>,
}

/// The comparison at a point.
pub struct Found<'a> {
    /// One value of every axis.
    pub point: &'a Point,
    /// The result for programs.
    pub json: PointJson,
    /// For people; none where there is no comparison.
    pub entries: Vec<Entry>,
}

/// The content of `sweep.json`.
#[derive(Serialize)]
pub struct SweepJson<'a> {
    task: &'a str,
    over: Vec<AxisJson<'a>>,
    points: Vec<&'a PointJson>,
}

#[derive(Serialize)]
struct AxisJson<'a> {
    key: String,
    values: Vec<&'a Value>,
}

/// A point in `sweep.json`.
#[derive(Serialize)]
pub struct PointJson {
    /// Key and value of every axis.
    pub at: BTreeMap<String, Value>,
    /// Below the folder of the sweep.
    pub folder: String,
    /// The content of `compare.json` there; none if there was no comparison.
    pub comparison: Option<ComparisonJson>,
    /// None of these where `full` was not among the schemes.
    pub speedups_over_full: Vec<SchemeSpeedUp>,
    /// Why there is no comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How many times as fast as everybody taking part in every round.
#[derive(Serialize)]
pub struct SchemeSpeedUp {
    /// The name of the scheme.
    pub scheme: String,
    /// None where either has no time, or both only lower bounds.
    pub speedup: Option<SpeedUp>,
}

/// Makes the data and the fleet of a point. It may complete the scenario, such as with a program's first model.
pub type MakeSetup<'a> = dyn FnMut(&Point, &mut Scenario, &mut Session<'_>) -> Result<Setup, RunError> + 'a;

impl Sweep {
    /// Makes all points before anything runs: a mistake in the last must not cost the hours of the others. `axes` makes the
    /// axes for the scenario that the sweep starts from.
    pub fn new(
        (source, overrides): (&Source, &[String]),
        axes: impl FnOnce(&Scenario) -> Result<Vec<Axis>, KeyError>,
        study: &Study,
    ) -> Result<Self, RunError> {
        let base = source.scenario(overrides)?;
        let axes = axes(&base).map_err(ScenarioError::from)?;
        let points = points(&axes).map_err(ScenarioError::from)?;
        let scenario = |point| source.at(overrides, point).map_err(|error| at_point(point, error.into()));
        let scenarios = points.iter().map(scenario).collect::<Result<Vec<_>, _>>()?;
        let sweep = Self { base, axes, points, scenarios };
        sweep.check(|scenario| study.check(scenario))?;
        // One value is a setting like any other.
        let mut several = sweep.axes.iter().filter(|axis| axis.values().count() > 1);
        several.try_for_each(|axis| IdleAxis::check(axis, study))?;
        if sweep.points.len() > 1 && sweep.scenarios.windows(2).all(|two| two[0] == two[1]) {
            return Err(IdleAxis::All.into());
        }
        Ok(sweep)
    }

    /// Refuses the sweep if `check` refuses the scenario of any point.
    pub fn check(&self, mut check: impl FnMut(&Scenario) -> Result<(), RunError>) -> Result<(), RunError> {
        let mut all = self.points.iter().zip(&self.scenarios);
        all.try_for_each(|(point, scenario)| check(scenario).map_err(|error| at_point(point, error)))
    }

    /// The scenario that the sweep starts from.
    pub fn base(&self) -> &Scenario {
        &self.base
    }

    /// The keys and their values.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// The scenario at each point.
    pub fn scenarios(&self) -> &[Scenario] {
        &self.scenarios
    }

    /// The comparison at each point, kept in a folder of its own below `out` beside `sweep.json`, which a shard does not write; none if it was interrupted.
    /// It is an error if there is no comparison anywhere. What does not depend on the clock is trained once: the session says
    /// how many runs were retimed.
    pub fn run(
        &self,
        study: &Study,
        out: Option<&Path>,
        session: &mut Session<'_>,
        make_setup: &mut MakeSetup<'_>,
    ) -> Result<Option<Vec<Found<'_>>>, RunError> {
        if let Some(out) = out {
            folders::check_sweep(out, &self.points.iter().map(Point::name).collect::<Vec<_>>())?;
            for (point, scenario) in self.points.iter().zip(&self.scenarios) {
                study.check_runs(scenario, &out.join(point.name()), session.resume)?;
            }
        }
        let has_clock_axis = self.axes.iter().any(|axis| CLOCK_KEYS.contains(&axis.path().as_str()));
        session.trainings = has_clock_axis.then(Trainings::default);
        let (mut found, mut failed, mut study) = (Vec::new(), None, study.clone());
        for place in 0..self.points.len() {
            let here = self.run_point(place, (&study, out), session, make_setup);
            // Runs are numbered over all points.
            study.part = study.part.map(|part| part.after(study.items(&self.scenarios[place])));
            match here.map_err(|error| at_point(&self.points[place], error))? {
                Some((here, error)) => {
                    failed = error.or(failed);
                    found.push(here);
                }
                None => return Ok(None),
            }
        }
        if let Some(error) = failed.filter(|_| found.iter().all(|found| found.json.comparison.is_none())) {
            return Err(error);
        }
        // A shard has only some of the runs.
        if let Some(out) = out.filter(|_| study.part.is_none()) {
            write_json(&out.join(SWEEP), &self.json(&found))?;
        }
        Ok(Some(found))
    }

    /// The comparison at a point, or why there is none; nothing if it was interrupted.
    fn run_point(
        &self,
        place: usize,
        (study, out): (&Study, Option<&Path>),
        session: &mut Session<'_>,
        make_setup: &mut MakeSetup<'_>,
    ) -> Result<Option<(Found<'_>, Option<RunError>)>, RunError> {
        let (point, mut scenario) = (&self.points[place], self.scenarios[place].clone());
        let folder = point.name();
        let prefix = format!("{folder} ({} of {}): ", place + 1, self.points.len());
        let out = out.map(|out| out.join(&folder));
        let at = point.settings().map(|(key, value)| (key.to_owned(), value.clone())).collect();
        let mut json =
            PointJson { at, folder, comparison: None, speedups_over_full: Vec::new(), error: None };
        let setup = make_setup(point, &mut scenario, session)?;
        match study.run_in(&setup, &scenario, out.as_deref(), &prefix, session) {
            Ok(Some(studied)) => {
                json.speedups_over_full = speedups(&studied.entries);
                json.comparison = Some(studied.json);
                Ok(Some((Found { point, json, entries: studied.entries }, None)))
            }
            Ok(None) => Ok(None),
            // Pilots that say nothing at one point say nothing of the others.
            Err(RunError::Plan(error)) if !matches!(error, PlanError::Custom(_)) => {
                let error = RunError::Plan(error);
                json.error = Some(error.to_string());
                let error = at_point(point, error);
                Ok(Some((Found { point, json, entries: Vec::new() }, Some(error))))
            }
            Err(error) => Err(error),
        }
    }

    /// The result for programs.
    pub fn json<'a>(&'a self, found: &'a [Found<'_>]) -> SweepJson<'a> {
        let over =
            self.axes.iter().map(|axis| AxisJson { key: axis.path(), values: axis.values().collect() });
        SweepJson {
            task: self.base.task.name(),
            over: over.collect(),
            points: found.iter().map(|found| &found.json).collect(),
        }
    }
}

/// An error with the point that it is of, unless it names the point already: an axis, or a folder of the point.
fn at_point(point: &Point, error: RunError) -> RunError {
    match error {
        RunError::Scenario(ScenarioError::Key(KeyError { place: Place::Axis, .. }))
        | RunError::Record(_)
        | RunError::AtPoint { .. } => error,
        error => RunError::AtPoint { point: point.to_string(), error: Box::new(error) },
    }
}

/// Why an axis makes no difference to any point: a comparison chooses its key itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdleAxis {
    /// The key of the seed.
    #[error("seed makes no point of a sweep, because every point runs several seeds")]
    Seed,
    /// The key of the scheme.
    #[error("plan.scheme makes no difference, because every point compares schemes")]
    Scheme,
    /// The key of α or of β.
    #[error("plan.alpha and plan.beta make no difference, because pilots measure them")]
    Constants,
    /// The sampling variance that is asked for.
    #[error("plan.variance makes no difference, because auto alone has it")]
    Variance,
    /// Any key, where all scenarios are equal.
    #[error("makes no difference to any of the schemes, so all points would be the same")]
    All,
}

impl IdleAxis {
    /// Refuses an axis whose key a comparison chooses itself.
    pub fn check(axis: &Axis, study: &Study) -> Result<(), Self> {
        match axis.path().as_str() {
            "seed" => Err(Self::Seed),
            "plan.scheme" => Err(Self::Scheme),
            "plan.alpha" | "plan.beta" if study.has_pilots() => Err(Self::Constants),
            "plan.variance" if !study.schemes.iter().any(Scheme::needs_variance) => Err(Self::Variance),
            _ => Ok(()),
        }
    }

    /// What to do instead, without the flags of any program.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Seed => "give the number of seeds, and the first one",
            Self::Scheme => "name the schemes that are compared",
            Self::Constants => "run no pilots, and plan with the values that are given",
            Self::Variance => "compare auto, too",
            Self::All => "some keys only matter beside others, such as server.step beside server.optimiser",
        }
    }
}

fn speedups(entries: &[Entry]) -> Vec<SchemeSpeedUp> {
    let Some(full) = entries.iter().find(|entry| entry.scheme == YARDSTICK) else { return Vec::new() };
    let full = full.standing();
    let speedup = |entry: &Entry| SchemeSpeedUp {
        scheme: entry.scheme.to_string(),
        speedup: entry.standing().speed_up_over(&full),
    };
    entries.iter().map(speedup).collect()
}
