//! From a fleet to participation probabilities.
//!
//! Device n takes part in a round by its own Bernoulli(q_n) coin. More participants mean fewer rounds to
//! the target and longer rounds; the planner picks q to minimise their product, the wall-clock time:
//!
//! ```text
//! rounds      R(q) = α / (β − C(q)),        C(q) = Σ a_n²/q_n          (Theorem 1)
//! round time  E[T̂(q)] ≤ Σ q_n t_n/f + E[max τ] ≤ Σ q_n c_n             (Theorem 2), c_n = t_n/f + τ_n
//! P2          min over 0 < q_n ≤ cap_n of  α Σ q_n c_n / (β − C(q))
//! P3          min over lo_n < q_n ≤ cap_n of  (α/(Nβ)) Σ q_n/(q_n − lo_n) · Σ q_n c_n,  lo_n = a_n² N/β
//! ```
//!
//! No I/O, no clock, no ambient randomness: what comes out is a function of what goes in.
//!
//! ```
//! use fedflip_fleet::{Mbps, csv_file};
//! use fedflip_plan::{Constants, Problem, Scheme, Settings, solve};
//!
//! let file = "device,compute_secs,comm_secs,samples\nphone,2.0,7,300\nlaptop,0.4,7,100\n";
//! let fleet = csv_file::read(file.as_bytes(), "fleet.csv")?;
//! let problem = Problem::new(&fleet, Mbps::new(100.0)?, Constants::new(30.0, 2.2)?)?;
//! let plan = solve(&problem, Scheme::Exact, &Settings::default())?;
//! // The slow phone holds most of the data: it takes part more often all the same.
//! assert!(plan.q()[0] > plan.q()[1]);
//! assert_eq!(plan.aggregation_weights()[0], 0.75 / plan.q()[0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Layout
//!
//! - [`problem`]: what is given (fleet, band, α, β), and the objectives of P2 and P3.
//! - [`constants`]: α and β, and how pilots yield them; [`student`] has the quantile their intervals need.
//! - [`theorem1`]: the convergence bound, its conditions, and the rounds to a threshold.
//! - [`round_time`]: E[max τ], the bounds of Theorem 2, and T(q); [`monte_carlo`]: E[T̂] itself.
//! - [`scheme`]: the names of all ways to choose q.
//! - [`mod@solve`]: one file per way: `exact`, `paper`, `line_search`, `tight`, `sampled`, `baseline`.
//! - [`mod@plan`]: [`Plan`], which binds q and the weights a/q; [`schedule`]: which plan a round goes by.
//! - [`evaluation`]: everything worth knowing about a plan before it is run.
//! - [`error`]: one enum for all refusals, each with a hint.

#![warn(missing_docs)]

pub mod constants;
pub mod error;
pub mod evaluation;
pub mod monte_carlo;
pub mod plan;
pub mod problem;
pub mod round_time;
pub mod schedule;
pub mod scheme;
pub mod solve;
pub mod student;
pub mod theorem1;

pub use constants::{Constants, Interval, Pilot, PilotFit};
pub use error::PlanError;
pub use evaluation::Evaluation;
pub use plan::{Plan, PlanStatus};
pub use problem::Problem;
pub use schedule::{Expected, Quiet, Schedule};
pub use scheme::Scheme;
pub use solve::{PLANNING_SEED, Settings, solve};
