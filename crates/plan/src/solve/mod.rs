//! The solvers, one file each.
//!
//! - `exact`: P2 by its break points; `ratio` is the kernel that `tight` and `sampled` step with too.
//! - `paper`: P3 by its break points.
//! - `line_search`: P3 as printed, with Clarabel (cargo feature `line-search`).
//! - `luo`: the probabilities of draws with replacement, by one monotone equation.
//! - `tight`, `sampled`: other round times under the same rounds; `descent` minimises both.
//! - `break_points`: piecewise equations solved by one sort; `kkt`: the distance of a q from optimality.

mod break_points;
mod descent;
pub(crate) mod exact;
mod kkt;
#[cfg(feature = "line-search")]
pub(crate) mod line_search;
#[cfg(not(feature = "line-search"))]
pub(crate) mod line_search_missing;
#[cfg(not(feature = "line-search"))]
pub(crate) use line_search_missing as line_search;
pub(crate) mod luo;
pub(crate) mod paper;
mod ratio;
pub(crate) mod sampled;
mod search;
pub(crate) mod tight;

pub use search::Search;
