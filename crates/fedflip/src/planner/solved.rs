//! A plan, its predicted outcome, and what to be warned of.

use std::borrow::Cow;

use fedflip_plan::{Evaluation, Plan, PlanError, Planning, Problem, RoundModel, Scheme};

use super::dialect::Dialect;
use super::settings::PlanSettings;
use crate::interrupt::now;

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
    fedflip_plan::warnings::of_plan(problem, planning, plan, &dialect.setting("variance"))
}
