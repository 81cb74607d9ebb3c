//! The command `fedflip plan`.

use std::io::Write;
use std::path::Path;

use fedflip_plan::Schedule;
use fedflip_record::atomic;

use super::print_json;
use crate::args::PlanArgs;
use crate::error::CliError;
use crate::files;
use crate::planner::{Explanation, PlanJson, PlanSettings, SolvedPlan};
use crate::progress::{Line, warn};

pub(super) fn run(args: &PlanArgs, output: &mut dyn Write) -> Result<(), CliError> {
    if let Some(out) = &args.out {
        files::check_no_run(out)?;
        files::check_not_input(out, Path::new(&args.fleet))?;
    }
    let settings = PlanSettings::resolve(args)?;
    let problem = settings.problem();
    let scheme = settings.planning.scheme.clone();
    let progress = Line::while_alive(&format!("planning: {scheme}"));
    let solved = SolvedPlan::new(&problem, scheme, &settings)?;
    drop(progress);
    warn_of_constants(&settings);
    solved.warnings.iter().for_each(|warning| warn(warning));
    if let Some(out) = &args.out {
        atomic::write_to(out, &Schedule::new(solved.plan.clone().into_owned(), 1).csv(&settings.fleet))?;
    }
    if args.json {
        return print_json(output, &PlanJson::new(&settings, &solved));
    }
    Ok(Explanation::new(&settings, &problem, &solved, args.devices).write(output)?)
}

/// Warns of constants that pilots hardly determine.
pub(super) fn warn_of_constants(settings: &PlanSettings) {
    settings.constants.and_then(|source| source.warning()).into_iter().for_each(warn);
}
