//! `fedflip plan --compare`: every scheme side by side.

use std::io::Write;

use super::plan::warn_of_constants;
use super::print_json;
use crate::args::PlanArgs;
use crate::error::CliError;
use crate::planner::{Comparison, PlanSettings};
use crate::progress::Line;

pub(super) fn run(args: &PlanArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let settings = PlanSettings::resolve(args)?;
    warn_of_constants(&settings);
    let comparison = Comparison::new(&settings, |scheme| Line::while_alive(&format!("planning: {scheme}")));
    if args.json { print_json(output, &comparison.json()) } else { Ok(comparison.write(output)?) }
}
