//! A plan, its predicted outcome, and what to be warned of.

use std::borrow::Cow;

use fedflip_plan::{Evaluation, Plan, PlanError, Planning, Problem, RoundModel, Scheme};
use fedflip_run::warnings::{capped, variance_above};

use super::dialect::Dialect;
use super::settings::PlanSettings;
use crate::interrupt::now;
use crate::render::significant;

/// A weight a/q above this lets one device move the model ten times as far as its own update.
const LARGE_WEIGHT: f64 = 10.0;
/// More rounds than anybody runs.
const ROUNDS_MANY: f64 = 1e9;

/// A plan with all that is said about it.
#[derive(Clone, Debug)]
pub struct SolvedPlan<'p> {
    /// How q was chosen; of no meaning where q was given.
    pub scheme: Scheme,
    /// Whether the caller chose q.
    pub given: bool,
    /// The plan of the scheme.
    pub plan: Cow<'p, Plan>,
    /// How long the planner took.
    pub solve_secs: f64,
    /// The predicted rounds and times.
    pub outlook: Cow<'p, Outlook>,
    /// What to know before the plan is used.
    pub warnings: Vec<String>,
}

/// The predicted outcome of a plan, and how good it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Outlook {
    /// The prediction for one round.
    pub evaluation: Evaluation,
    /// How far the plan can be from the optimum of its objective, where that is known.
    pub optimality_gap: Option<f64>,
}

impl SolvedPlan<'static> {
    /// Plans by a scheme, with all other settings as they are.
    pub fn new(problem: &Problem<'_>, scheme: Scheme, settings: &PlanSettings) -> Result<Self, PlanError> {
        let planning = Planning { scheme, ..settings.planning.clone() };
        let (plan, solve_secs) = solve(problem, &planning, settings.dialect)?;
        let outlook = Outlook::new(problem, &planning, &plan, settings.draws)?;
        Ok(Self {
            warnings: warnings(problem, &planning, &plan, settings.dialect),
            scheme: planning.scheme,
            given: false,
            plan: Cow::Owned(plan),
            solve_secs,
            outlook: Cow::Owned(outlook),
        })
    }
}

impl SolvedPlan<'_> {
    /// The scheme in tables and sentences.
    pub fn title(&self) -> String {
        if self.given { "given".to_owned() } else { self.scheme.to_string() }
    }

    /// The rule by which q was chosen, as a sentence.
    pub(crate) fn rule(&self) -> &'static str {
        if self.given { "q is what the caller chose." } else { self.scheme.describe().rule }
    }
}

/// The plan of one round, and the seconds that it took to find.
pub fn solve(problem: &Problem<'_>, planning: &Planning, dialect: Dialect) -> Result<(Plan, f64), PlanError> {
    let scheme = &planning.scheme;
    if scheme.method().buffer().is_some() {
        let remedy = dialect.simulate();
        return Err(PlanError::NoRounds { scheme: scheme.clone(), what: "plan", remedy });
    }
    let start = now();
    let plan = fedflip_plan::solve(problem, planning)?;
    Ok((plan, start.elapsed().as_secs_f64()))
}

impl Outlook {
    /// Evaluates a plan of `planning`.
    pub fn new(
        problem: &Problem<'_>,
        planning: &Planning,
        plan: &Plan,
        draws: Option<u64>,
    ) -> Result<Self, PlanError> {
        let evaluation = Evaluation::new(problem, plan, planning, draws);
        Ok(Self { evaluation, optimality_gap: optimality_gap(problem, planning, plan)? })
    }
}

/// The certificate of a scheme that minimises Theorem 2's first bound.
fn optimality_gap(problem: &Problem<'_>, planning: &Planning, plan: &Plan) -> Result<Option<f64>, PlanError> {
    match planning.goal()?.filter(|_| planning.scheme.minimises_first_bound()) {
        Some(goal) => Ok(fedflip_plan::optimality_gap(&RoundModel::for_goal(problem, goal)?, plan.q())),
        None => Ok(None),
    }
}

/// What to know before a plan is used.
pub fn warnings(problem: &Problem<'_>, planning: &Planning, plan: &Plan, dialect: Dialect) -> Vec<String> {
    let mut warnings = Vec::new();
    let largest_weight = plan.aggregation_weights().iter().copied().fold(0.0, f64::max);
    if largest_weight > LARGE_WEIGHT {
        let weight = significant(largest_weight, 3);
        warnings.push(format!(
            "the largest weight a/q is {weight}: a device that rarely takes part moves the model by {weight} times its \
             update"
        ));
    }
    let variance = problem.sampling_variance(plan.q());
    let constants = planning.constants.filter(|_| planning.scheme.method().flips_coins());
    let rounds = constants.and_then(|constants| constants.rounds(variance));
    if rounds.is_some_and(|rounds| rounds < 1.0) {
        warnings.push("the round model predicts less than one round: check α and β".to_owned());
    }
    if rounds.is_some_and(|rounds| rounds > ROUNDS_MANY) {
        warnings.push(
            "the sampling variance is so close to β that the target is all but out of reach".to_owned(),
        );
    }
    warnings.extend(capped(&planning.scheme, plan, problem.fleet()));
    if planning.scheme.needs_variance() {
        warnings.extend(variance_above(&dialect.setting("variance"), variance, planning.variance));
    }
    warnings
}
