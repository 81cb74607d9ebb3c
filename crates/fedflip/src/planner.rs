//! The planner behind the commands `plan`, `bound` and `fleet show`, for every front end: settings in; plans, tables and
//! sentences out.
//!
//! - `dialect`: settings in the words of the command line, or of Python.
//! - `settings`: what a plan is made for; `solved`: a plan, its predicted outcome and its warnings.
//! - `explain`, `reasons`: a plan in words and tables; `json`: the same for programs; `compare`: every scheme side by side.
//! - `summary`: what a fleet is like; `groups`: devices by type; `bound`: Theorem 1.

mod bound;
mod compare;
mod dialect;
mod explain;
mod groups;
mod json;
mod reasons;
mod settings;
mod solved;
mod summary;

pub use bound::{Bound, BoundQuestion};
pub use compare::{Comparison, Entry, Refusal};
pub use dialect::Dialect;
pub use explain::{Explanation, Paragraph};
pub use json::PlanJson;
pub use settings::{ConstantsSource, PlanSettings};
pub use solved::{Outlook, SolvedPlan, solve, warnings};
pub use summary::{FleetSummary, Range};
