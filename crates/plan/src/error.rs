//! All that can stand in the way of a plan.

use fedflip_fleet::units::plain;

/// Why there is no plan. The text says what is wrong; [`PlanError::hint`] what to do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A number that the mathematics cannot use.
    #[error("{name}: {} is out of range", plain(*.value))]
    BadNumber {
        /// What it is called.
        name: &'static str,
        /// As given.
        value: f64,
        /// What would be right.
        wanted: &'static str,
    },
    /// β ≤ Σ a²/cap: no q reaches the target.
    #[error(
        "the target cannot be reached at any q: β = {} must exceed Σ a²/cap = {}, and falls short by {} \
         (device {worst:?} alone adds {})",
        plain(*.beta), short(*.least_noise), short(.least_noise - .beta), short(*.worst_noise)
    )]
    Unreachable {
        /// β as given.
        beta: f64,
        /// Σ a²/cap: the noise with everybody in as often as possible.
        least_noise: f64,
        /// The device that adds most to it.
        worst: String,
        /// How much it adds.
        worst_noise: f64,
    },
    /// P3 asks for more of a device than it can give.
    #[error(
        "P3 has no solution: device {name:?} (position {position}) would need q > a²N/β = {}, \
         but can take part with probability {cap} at most",
        short(*.floor)
    )]
    SurrogateInfeasible {
        /// The device.
        name: String,
        /// Its position in the fleet.
        position: usize,
        /// lo = a²N/β.
        floor: f64,
        /// Its availability.
        cap: f64,
    },
    /// Pilots that say nothing about α and β.
    #[error("the pilots do not determine α and β: {problem}")]
    Pilots {
        /// What is wrong with them.
        problem: String,
        /// What to change.
        hint: &'static str,
    },
    /// A scheme by a name that nobody knows.
    #[error("{text:?} is not a sampling scheme")]
    UnknownScheme {
        /// As given.
        text: String,
        /// The nearest right one, or the list.
        hint: String,
    },
    /// More devices than a scheme can plan for in reasonable time.
    #[error("{scheme} plans for at most {devices_max} devices, and the fleet has {devices}")]
    FleetTooLarge {
        /// The scheme's name.
        scheme: &'static str,
        /// N.
        devices: usize,
        /// The most it takes.
        devices_max: usize,
        /// What to use instead.
        hint: &'static str,
    },
    /// The convex solver gave up.
    #[error("the convex solver stopped at M = {budget_secs} s with the status {status}")]
    ConvexSolver {
        /// The M of the line search at which it happened.
        budget_secs: f64,
        /// Its own word for it.
        status: String,
    },
    /// A plan of one fleet, used for another.
    #[error("the plan is for {planned} devices, and the fleet has {devices}")]
    OtherFleet {
        /// How many have a q.
        planned: usize,
        /// N.
        devices: usize,
    },
}

impl PlanError {
    /// What to change.
    pub fn hint(&self) -> String {
        match self {
            Self::BadNumber { wanted, .. } => format!("it must be {wanted}"),
            Self::Unreachable { .. } => "set an easier target (a larger β), spread the data more evenly, \
                                         or raise the availability of the devices that hold most of it; \
                                         auto plans without α and β"
                .to_owned(),
            Self::SurrogateInfeasible { .. } => {
                "use --scheme exact: P2 needs no such floor and still has its optimum".to_owned()
            }
            Self::Pilots { hint, .. } | Self::FleetTooLarge { hint, .. } => (*hint).to_owned(),
            Self::UnknownScheme { hint, .. } => hint.clone(),
            Self::ConvexSolver { .. } => "use --scheme paper: the same optimum in closed form".to_owned(),
            Self::OtherFleet { .. } => "use it with the fleet that it was made for".to_owned(),
        }
    }
}

/// Six significant digits: enough to act on, short enough to read.
pub(crate) fn short(value: f64) -> String {
    plain(format!("{value:.5e}").parse().unwrap_or(value))
}
