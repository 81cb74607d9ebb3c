//! `fedflip plan`.

use std::io::Write;
use std::time::Instant;

use fedflip_plan::solve::baseline;
use fedflip_plan::{Evaluation, Plan, PlanError, Problem, Scheme, solve};

use super::explain;
use super::plan_json::PlanJson;
use super::{capped_warning, print_json};
use crate::error::CliError;
use crate::progress::{Progress, warn};
use crate::render::significant;
use crate::settings::PlanSettings;
use fedflip_run::warnings::variance_above;

/// A weight a/q above this lets one rare participant move the model ten times as far as it went itself.
const LARGE_WEIGHT: f64 = 10.0;
/// More rounds than anybody runs.
const ROUNDS_MANY: f64 = 1e9;

pub(super) fn run(settings: &PlanSettings, output: &mut dyn Write) -> Result<(), CliError> {
    let problem = settings.problem()?;
    let planned = Planned::new(&problem, settings.scheme, settings)?;
    settings.constants.warning().into_iter().for_each(warn);
    planned.warnings.iter().for_each(|warning| warn(warning));
    if settings.json {
        return print_json(output, &PlanJson::new(&problem, settings, &planned));
    }
    explain::write(output, settings, &problem, &planned)
}

/// A plan, what it leads to, and what it cost to make.
pub(super) struct Planned {
    pub plan: Plan,
    pub evaluation: Evaluation,
    pub solve_secs: f64,
    pub warnings: Vec<String>,
}

impl Planned {
    pub(super) fn new(
        problem: &Problem<'_>,
        scheme: Scheme,
        settings: &PlanSettings,
    ) -> Result<Self, PlanError> {
        let _progress = Progress::start(&format!("planning: {scheme}"));
        let known = settings.constants.known().is_some();
        // A baseline is not measured by constants that only stand in.
        let unjudged = || baseline::unjudged(problem.fleet(), scheme).filter(|_| !known);
        let (plan, solve_secs) =
            timed(|| unjudged().map_or_else(|| solve(problem, scheme, &settings.solver), Ok));
        let plan = plan?;
        let evaluation = Evaluation::new(problem, &plan, settings.solver.seed, settings.draws);
        let evaluation = if known { evaluation } else { evaluation.without_rounds() };
        let mut warnings = warnings(&plan, &evaluation);
        if scheme == Scheme::Auto {
            warnings.extend(variance_above("--noise", evaluation.sampling_noise, settings.solver.noise));
        }
        Ok(Self { plan, evaluation, solve_secs, warnings })
    }
}

/// What a person should know before using the plan.
fn warnings(plan: &Plan, evaluation: &Evaluation) -> Vec<String> {
    let mut warnings = Vec::new();
    if plan.capped() > 0 {
        warnings.push(capped_warning(plan.scheme(), plan.capped()));
    }
    if evaluation.largest_weight > LARGE_WEIGHT {
        let weight = significant(evaluation.largest_weight, 3);
        warnings.push(format!(
            "the largest weight a/q is {weight}: a rare participant moves the model by {weight} × its update"
        ));
    }
    if evaluation.rounds.is_some_and(|rounds| rounds < 1.0) {
        warnings.push("the round model asks for less than one round: check α and β".to_owned());
    }
    if evaluation.rounds.is_some_and(|rounds| rounds > ROUNDS_MANY) {
        warnings
            .push("the sampling noise is so close to β that the target is all but out of reach".to_owned());
    }
    warnings
}

/// What `work` returns, and how long it took.
#[expect(
    clippy::disallowed_methods,
    reason = "how long the planner took is told to people, and decides nothing"
)]
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed().as_secs_f64())
}
