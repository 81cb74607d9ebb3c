//! The solvers, one file each.
//!
//! - [`auto`]: P2 without pilots.
//! - [`exact`]: P2 by its break points; `ratio` is the kernel that `tight` and `sampled` step with too.
//! - [`paper`]: P3 by its break points.
//! - [`line_search`]: P3 as printed, with Clarabel.
//! - [`tight`], [`sampled`]: other round times under the same rounds; `descent` minimises both.
//! - [`baseline`]: what the paper compares with.
//! - `break_points`: piecewise equations solved by one sort; `kkt`: how far from optimal a q is.

pub mod auto;
pub mod baseline;
mod break_points;
mod descent;
pub mod exact;
mod kkt;
pub mod line_search;
pub mod paper;
mod ratio;
pub mod sampled;
pub mod tight;

use crate::error::PlanError;
use crate::plan::Plan;
use crate::problem::Problem;
use crate::scheme::Scheme;
pub use line_search::Search;

/// For the random numbers in plans of runs, and in what these expect: not the run's seed, so that the seeds of a scheme
/// have one plan, and a run of a comparison has it also when it is run alone.
pub const PLANNING_SEED: u64 = 1;

/// What the solvers may be told besides the problem; the defaults suit every use so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Of the random numbers in `sampled`.
    pub seed: u64,
    /// How `paper-linesearch` goes through the values of M.
    pub line_search: Search,
    /// Σ a²/q of a round that `auto` allows, where caps let it.
    pub noise: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { seed: 0, line_search: Search::default(), noise: auto::NOISE }
    }
}

/// Chooses q by `scheme`.
pub fn solve(problem: &Problem<'_>, scheme: Scheme, settings: &Settings) -> Result<Plan, PlanError> {
    if let Some(plan) = baseline::plan(problem, scheme) {
        return Ok(plan);
    }
    match scheme {
        Scheme::Auto => Ok(auto::plan(problem, settings.noise)),
        Scheme::Paper => paper::plan(problem),
        Scheme::PaperLinesearch => line_search::plan(problem, settings.line_search),
        Scheme::Tight => Ok(tight::plan(problem)),
        Scheme::Sampled => sampled::plan(problem, settings.seed),
        _ => Ok(exact::plan(problem)),
    }
}
