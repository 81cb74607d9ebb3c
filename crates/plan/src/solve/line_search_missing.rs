//! Stands for `line_search` in a build without its convex solver.

use super::Search;
use crate::error::PlanError;
use crate::plan::Plan;
use crate::problem::RoundModel;
use crate::scheme::Scheme;

pub(crate) fn plan(_: &RoundModel<'_, '_>, _: Search) -> Result<Plan, PlanError> {
    Err(PlanError::FeatureMissing { scheme: Scheme::PaperLinesearch, feature: "line-search" })
}
