//! `fedflip plan`.

use std::io::Write;
use std::time::Instant;

use fedflip_plan::{Evaluation, Plan, PlanError, Problem, Scheme, Settings, solve};

use super::explain;
use super::plan_json::PlanJson;
use super::{print_json, warn};
use crate::args::PlanArgs;
use crate::error::CliError;
use crate::progress::Progress;
use crate::settings::{ConstantsSource, band, read_fleet};

/// A weight a/q above this lets one lucky device move the model ten times as far as a full round would.
const LARGE_WEIGHT: f64 = 10.0;

pub(super) fn run(args: &PlanArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let scheme: Scheme = args.scheme.parse()?;
    let band = band(args.bandwidth)?;
    let fleet = read_fleet(&args.fleet)?;
    let source = ConstantsSource::resolve(&args.constants, &fleet)?;
    let problem = Problem::new(&fleet, band, source.constants())?;
    let planned = Planned::new(&problem, scheme, args)?;
    planned.warnings.iter().for_each(|warning| warn(warning));
    if args.json {
        return print_json(output, &planned.json(&problem, args.seed));
    }
    explain::write(output, &args.fleet, &problem, &source, &planned, args.devices)
}

/// A plan, what it leads to, and what it cost to make.
pub(super) struct Planned {
    pub plan: Plan,
    pub evaluation: Evaluation,
    pub solve_secs: f64,
    pub warnings: Vec<String>,
}

impl Planned {
    pub(super) fn new(problem: &Problem<'_>, scheme: Scheme, args: &PlanArgs) -> Result<Self, PlanError> {
        let _progress = Progress::start(&format!("planning: {scheme}"));
        let settings = Settings { seed: args.seed, step_secs: args.step };
        let (plan, solve_secs) = timed(|| solve(problem, scheme, &settings));
        let plan = plan?;
        let evaluation = Evaluation::new(problem, &plan, args.seed, args.draws);
        let mut warnings = Vec::new();
        if plan.capped() > 0 {
            warnings.push(format!(
                "{scheme} asks more of {} devices than they are available: they are capped at their availability",
                plan.capped()
            ));
        }
        if evaluation.largest_weight > LARGE_WEIGHT {
            warnings.push(format!(
                "the largest weight a/q is {:.1}: when that device takes part, its update counts {:.1} times",
                evaluation.largest_weight, evaluation.largest_weight
            ));
        }
        Ok(Self { plan, evaluation, solve_secs, warnings })
    }

    pub(super) fn json(&self, problem: &Problem<'_>, seed: u64) -> PlanJson<'_> {
        PlanJson::new(problem, &self.plan, &self.evaluation, self.solve_secs, seed, &self.warnings)
    }
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
