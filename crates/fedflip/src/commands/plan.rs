//! `fedflip plan`.

use std::io::Write;

use fedflip_plan::{Evaluation, Plan, PlanError, Planning, Problem, RoundModel, Schedule, Scheme, solve};
use fedflip_record::atomic;

use super::explain;
use super::plan_json::PlanJson;
use super::print_json;
use crate::error::CliError;
use crate::interrupt::now;
use crate::progress::{Line, warn};
use crate::render::significant;
use crate::settings::PlanSettings;
use fedflip_run::warnings::{capped, variance_above};

/// A weight a/q above this lets one device move the model ten times as far as its own update.
const LARGE_WEIGHT: f64 = 10.0;
/// More rounds than anybody runs.
const ROUNDS_MANY: f64 = 1e9;

pub(super) fn run(settings: &PlanSettings<'_>, output: &mut dyn Write) -> Result<(), CliError> {
    let problem = settings.problem();
    let solved = SolvedPlan::new(&problem, settings.planning.scheme.clone(), settings)?;
    warn_of_constants(settings);
    solved.warnings.iter().for_each(|warning| warn(warning));
    if let Some(out) = &settings.args.out {
        atomic::write(out, &Schedule::new(solved.plan.clone(), 1).csv(&settings.fleet))?;
    }
    if settings.args.json {
        return print_json(output, &PlanJson::new(settings, &solved));
    }
    explain::write(output, settings, &problem, &solved)
}

/// Warns of constants that pilots hardly determine.
pub(super) fn warn_of_constants(settings: &PlanSettings<'_>) {
    settings.constants.and_then(|source| source.warning()).into_iter().for_each(warn);
}

/// A plan, its predicted outcome, and how long the planner took.
pub(super) struct SolvedPlan {
    pub scheme: Scheme,
    pub plan: Plan,
    pub evaluation: Evaluation,
    pub solve_secs: f64,
    /// How far the plan can be from the optimum of its objective, where that is known.
    pub optimality_gap: Option<f64>,
    pub warnings: Vec<String>,
}

impl SolvedPlan {
    pub(super) fn new(
        problem: &Problem<'_>,
        scheme: Scheme,
        settings: &PlanSettings<'_>,
    ) -> Result<Self, PlanError> {
        if scheme.method().buffer().is_some() {
            let remedy =
                "simulate the scheme with `fedflip run` or `fedflip compare`: there is no q to choose";
            return Err(PlanError::NoRounds { scheme, what: "plan", remedy });
        }
        let _progress = Line::while_alive(&format!("planning: {scheme}"));
        let planning = Planning { scheme: scheme.clone(), ..settings.planning.clone() };
        let start = now();
        let plan = solve(problem, &planning)?;
        let solve_secs = start.elapsed().as_secs_f64();
        let evaluation = Evaluation::new(problem, &plan, &planning, settings.args.draws);
        let mut warnings = warnings(&evaluation);
        warnings.extend(capped(&scheme, &plan, problem.fleet()));
        if scheme.needs_variance() {
            warnings.extend(variance_above("--variance", evaluation.sampling_variance, planning.variance));
        }
        let optimality_gap = optimality_gap(problem, &planning, &plan)?;
        Ok(Self { scheme, plan, evaluation, solve_secs, optimality_gap, warnings })
    }
}

/// The certificate of a scheme that minimises Theorem 2's first bound.
fn optimality_gap(problem: &Problem<'_>, planning: &Planning, plan: &Plan) -> Result<Option<f64>, PlanError> {
    match planning.goal()?.filter(|_| planning.scheme.minimises_first_bound()) {
        Some(goal) => Ok(fedflip_plan::optimality_gap(&RoundModel::for_goal(problem, goal)?, plan.q())),
        None => Ok(None),
    }
}

/// Warnings before the plan is used.
fn warnings(evaluation: &Evaluation) -> Vec<String> {
    let mut warnings = Vec::new();
    if evaluation.largest_weight > LARGE_WEIGHT {
        let weight = significant(evaluation.largest_weight, 3);
        warnings.push(format!(
            "the largest weight a/q is {weight}: a device that rarely takes part moves the model by {weight} times its \
             update"
        ));
    }
    if evaluation.rounds.is_some_and(|rounds| rounds < 1.0) {
        warnings.push("the round model predicts less than one round: check α and β".to_owned());
    }
    if evaluation.rounds.is_some_and(|rounds| rounds > ROUNDS_MANY) {
        warnings.push(
            "the sampling variance is so close to β that the target is all but out of reach".to_owned(),
        );
    }
    warnings
}
