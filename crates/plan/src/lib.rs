//! From a fleet to participation probabilities.
//!
//! In every round, device n takes part with its own probability q_n. Larger cohorts need fewer rounds to the target, but
//! their rounds are longer. The planner chooses q to minimise the product, the wall-clock time:
//!
//! ```text
//! rounds      R(q) = α / (β − C(q)),        C(q) = Σ a_n²/q_n          (Theorem 1)
//! round time  E[T̂(q)] ≤ Σ q_n t_n/f + E[max τ] ≤ Σ q_n c_n             (Theorem 2), c_n = t_n/f + τ_n
//! P2          min over 0 < q_n ≤ cap_n of  α (o + Σ q_n c_n) / (β − C(q))
//! P3          min over lo_n < q_n ≤ cap_n of  (α/(Nβ)) Σ q_n/(q_n − lo_n) · (o + Σ q_n c_n),  lo_n = a_n² N/β
//! ```
//!
//! Here a_n is the device's share of the data, τ_n its compute time, t_n its upload time at 1 Mbit/s, f the shared
//! bandwidth, and cap_n the device's availability. C(q) is the *sampling variance*. The overhead o, which every round
//! costs, the download of the model and the limits of links go beyond the paper, where they are 0 or absent.
//!
//! Planning does no I/O and reads no clock. Equal inputs give equal plans, to the bit.
//!
//! # Plan without measured constants
//!
//! ```
//! use fedflip_fleet::{Columns, Fleet, Mbps};
//! use fedflip_plan::{DEFAULT_VARIANCE, Plan};
//!
//! let fleet = Fleet::from_columns(Columns {
//!     compute_secs: &[2.0, 0.4],
//!     comm_secs: &[7.0, 7.0],
//!     samples: &[300.0, 100.0],
//!     ..Columns::default()
//! })?;
//! let plan = Plan::for_variance(&fleet, Mbps::new(100.0)?, DEFAULT_VARIANCE)?;
//! // The slow first device holds most of the data, so it still takes part more often.
//! assert!(plan.q()[0] > plan.q()[1]);
//! assert_eq!(plan.aggregation_weights()[0], 0.75 / plan.q()[0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Plan a whole run with measured constants
//!
//! ```
//! # use fedflip_fleet::{Columns, Fleet, Mbps};
//! use fedflip_plan::{Constants, Planned, Planning, Problem, Scheme, schedule};
//!
//! # let columns = Columns {
//! #     compute_secs: &[2.0, 0.4], comm_secs: &[7.0, 7.0], samples: &[300.0, 100.0], ..Columns::default()
//! # };
//! # let fleet = Fleet::from_columns(columns)?;
//! let problem = Problem::new(&fleet, Mbps::new(100.0)?);
//! let constants = Some(Constants::new(30.0, 2.2)?);
//! let Planned { schedule, expected } =
//!     schedule(&problem, &Planning { constants, ..Planning::new(Scheme::Exact) })?;
//! println!("{} rounds with q = {:?}", expected.rounds.unwrap_or(f64::NAN), schedule.usual().q());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Layout
//!
//! - [`mod@problem`]: the given quantities (fleet, bandwidth), the goals of a plan, and the objectives of P2 and P3.
//! - [`mod@planning`]: [`solve()`] plans one round, [`schedule()`] plans a run.
//! - [`scheme`]: the table of all sampling schemes; [`needs`]: their inputs; [`method`]: what a scheme decides; `methods`: the schemes, one file
//!   each; [`parameter`]: the numbers behind their names; [`given`]: q that a person chose, from a file;
//!   [`mod@custom`]: schemes that a program has.
//! - [`mod@plan`]: [`Plan`], which binds q and the weights a/q; [`mod@schedule`]: the plan of every round.
//! - [`buffered`]: schemes without rounds: how many devices work at a time, and how much a stale update counts.
//! - [`sampler`]: draws cohorts and their aggregation weights at run time; `weighted_draw`: draws without replacement.
//! - [`variance`]: the sampling variance; [`constants`]: α and β, and how pilots yield them;
//!   [`gradient_bounds`]: what `luo` knows of gradients.
//! - [`theorem1`]: the convergence bound, its conditions, and the rounds to a threshold.
//! - [`round_time`]: E[max τ], the bounds of Theorem 2, and T(q); [`monte_carlo`]: E[T̂] itself.
//! - [`evaluation`]: the predicted outcome of a plan; [`certificate`]: how far a plan can be from the optimum;
//!   [`mod@warnings`]: what to know before it is used.
//! - `solve`: one file per solver. `student`: the quantile that confidence intervals need.
//! - [`error`]: one enum for all errors, each with a hint; `pilot_error`: those of pilots.
//!
//! # Features
//!
//! `line-search` adds the scheme `paper-linesearch`, Algorithm 2 as printed, and the convex solver that it needs.

#![warn(missing_docs)]

pub mod buffered;
pub mod certificate;
pub mod constants;
pub mod custom;
pub mod error;
pub mod evaluation;
pub mod given;
pub mod gradient_bounds;
pub mod method;
mod methods;
pub mod monte_carlo;
pub mod needs;
pub mod parameter;
mod pilot_error;
pub mod plan;
pub mod planning;
pub mod problem;
pub mod round_time;
pub mod sampler;
pub mod schedule;
pub mod scheme;
mod solve;
mod student;
pub mod theorem1;
pub mod variance;
pub mod warnings;
mod weighted_draw;

pub use buffered::Buffered;
pub use certificate::optimality_gap;
pub use constants::{Constants, Interval, Pilot, PilotFit};
pub use error::PlanError;
pub use evaluation::Evaluation;
pub use given::GivenQ;
pub use gradient_bounds::GradientBounds;
pub use method::Method;
pub use needs::Needs;
pub use parameter::{CohortSize, Factor};
pub use pilot_error::PilotError;
pub use plan::{Plan, PlanStatus};
pub use planning::{PLANNING_SEED, Planned, Planning, schedule, schedule_from, solve};
pub use problem::{Goal, Problem, RoundModel};
pub use sampler::{Coins, Draw, Observed, Quantity, Question, Report, Sampler};
pub use schedule::{Expected, Quiet, Schedule};
pub use scheme::Scheme;
pub use solve::Search;
/// Reached by tests only: small fleets are enumerated instead.
#[doc(hidden)]
pub use solve::sampled::plan_by_draws;
pub use variance::{DEFAULT_VARIANCE, VARIANCE_RANGE, VARIANCE_WANTED, sampling_variance};
