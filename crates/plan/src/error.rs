//! Why there is no plan.

use fedflip_fleet::FleetError;
use fedflip_fleet::units::plain;

use crate::pilot_error::PilotError;
use crate::sampler::DrawError;
use crate::scheme::Scheme;

/// Why planning failed. The text names the cause, [`PlanError::hint`] a remedy in the words of this library.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A number outside the range in which the mathematics holds.
    #[error("{name}: {} is out of range", plain(*.value))]
    BadNumber {
        /// The name of the quantity.
        name: &'static str,
        /// The number that was refused.
        value: f64,
        /// The range, in words.
        wanted: &'static str,
    },
    /// β ≤ Σ a²/cap: no q reaches the target.
    #[error(
        "the target cannot be reached at any q: β = {} must exceed Σ a²/cap = {}, and falls short by {} \
         (device {worst:?} alone adds {})",
        plain(*.beta), short(*.least_variance), short(.least_variance - .beta), short(*.worst_variance)
    )]
    Unreachable {
        /// β of the round model.
        beta: f64,
        /// Σ a²/cap: the sampling variance when every device takes part as often as it can.
        least_variance: f64,
        /// The device that contributes most to it.
        worst: String,
        /// The part of Σ a²/cap that this device contributes.
        worst_variance: f64,
    },
    /// P3 asks for more of a device than its availability allows.
    #[error(
        "P3 has no solution: device {name:?} (position {position}) would need q > a²N/β = {}, \
         but can take part with probability {cap} at most",
        short(*.floor)
    )]
    SurrogateInfeasible {
        /// The device that is furthest from fitting.
        name: String,
        /// Its position in the fleet.
        position: usize,
        /// The surrogate's floor lo = a²N/β on q.
        floor: f64,
        /// The availability of the device.
        cap: f64,
    },
    /// A scheme that optimises for α and β, which are unknown.
    #[error("{scheme} needs the constants α and β of the round model")]
    ConstantsMissing {
        /// The scheme that was asked for.
        scheme: Scheme,
    },
    /// A scheme that optimises, where one with a fixed rule is needed.
    #[error("{scheme} is not a baseline: its q does not follow from the fleet alone")]
    NotABaseline {
        /// The scheme that was asked for.
        scheme: Scheme,
    },
    /// Pilots that do not determine α and β.
    #[error("the pilots do not determine α and β: {0}")]
    Pilots(#[from] PilotError),
    /// A name that is not in the table of schemes.
    #[error("{text:?} is not a sampling scheme")]
    UnknownScheme {
        /// The text that names no scheme.
        text: String,
        /// The nearest right one, or the list.
        hint: String,
    },
    /// A scheme whose file nobody has read.
    #[error("{text:?} names a file, which has not been read")]
    FileNotRead {
        /// The name of the scheme.
        text: String,
    },
    /// A scheme of a program, without the program.
    #[error("the scheme custom={name} belongs to the program that ran it, and this program does not have it")]
    NoCustomScheme {
        /// The name of the scheme.
        name: String,
    },
    /// The code of a program's scheme failed.
    #[error(transparent)]
    Custom(#[from] DrawError),
    /// A file of probabilities that cannot be used.
    #[error(transparent)]
    File(#[from] FleetError),
    /// Devices of the fleet that a file of probabilities does not name.
    #[error("{file}: there is no q for {}", listed(.devices, *.more))]
    NoQ {
        /// The name of the file.
        file: String,
        /// The first of the devices.
        devices: Vec<String>,
        /// The number of the others.
        more: usize,
        /// A name in the file that may be meant for the first device, and its line.
        nearest: Option<(String, u64)>,
    },
    /// A cohort that is larger than the fleet.
    #[error("{scheme}={cohort} draws {cohort} devices per round, and the fleet has {devices}")]
    CohortTooLarge {
        /// The name of the scheme, without its number.
        scheme: &'static str,
        /// The size K of the cohort.
        cohort: usize,
        /// The number of devices N.
        devices: usize,
    },
    /// Bounds on gradient norms for another number of devices.
    #[error("there are gradient norms of {given} devices, and the fleet has {devices}")]
    NormCount {
        /// The number of norms.
        given: usize,
        /// The number of devices N.
        devices: usize,
    },
    /// A scheme whose cohorts have a fixed size, and a device that cannot always be drawn.
    #[error(
        "{scheme} draws devices that are always available, and the availability of {name:?} is {availability}"
    )]
    NotAlwaysAvailable {
        /// The name of the scheme, without its number.
        scheme: &'static str,
        /// The name of the device.
        name: String,
        /// The availability of the device.
        availability: f64,
    },
    /// A buffer that the whole fleet does not fill.
    #[error(
        "a buffer for {updates} updates waits for as many different devices, and the fleet has {devices}"
    )]
    BufferTooLarge {
        /// The number K of updates in the buffer.
        updates: usize,
        /// The number of devices N.
        devices: usize,
    },
    /// A number of devices at work that the fleet does not have.
    #[error("round.concurrency: {concurrency} devices cannot work at a time in a fleet of {devices}")]
    BadConcurrency {
        /// The number that was refused.
        concurrency: usize,
        /// The number of devices N.
        devices: usize,
    },
    /// A setting or a prediction that is about rounds, and a scheme that has none.
    #[error(
        "{what}: {scheme} has no rounds: its devices work on their own, and the server steps after every few updates"
    )]
    NoRounds {
        /// The scheme that was asked for.
        scheme: Scheme,
        /// The setting or the prediction.
        what: &'static str,
        /// What to do instead.
        remedy: &'static str,
    },
    /// More devices than a scheme can plan for in reasonable time.
    #[error("{scheme} plans for at most {devices_max} devices, and the fleet has {devices}")]
    FleetTooLarge {
        /// The scheme that was asked for.
        scheme: Scheme,
        /// The number of devices N.
        devices: usize,
        /// The largest fleet that it plans for.
        devices_max: usize,
    },
    /// A scheme whose cargo feature is turned off.
    #[error("{scheme} was left out of this build (cargo feature {feature:?} of fedflip-plan)")]
    FeatureMissing {
        /// The scheme that was asked for.
        scheme: Scheme,
        /// The feature that contains it.
        feature: &'static str,
    },
    /// The convex solver gave up.
    #[error("the convex solver stopped at M = {budget_secs} s with the status {status}")]
    ConvexSolver {
        /// The M of the line search at which it happened.
        budget_secs: f64,
        /// The solver's own status.
        status: String,
    },
    /// A plan of one fleet, used for another.
    #[error("the plan is for {planned} devices, and the fleet has {devices}")]
    OtherFleet {
        /// The number of devices with a q.
        planned: usize,
        /// The number of devices N.
        devices: usize,
    },
    /// A participation probability that its device cannot have.
    #[error("q of device {name:?} (position {position}) is {}; it must be from 0 to its availability {cap}", plain(*.q))]
    BadParticipation {
        /// The name of the device.
        name: String,
        /// Its position in the fleet.
        position: usize,
        /// The probability that was refused.
        q: f64,
        /// The availability of the device.
        cap: f64,
    },
    /// A plan in which no device ever takes part.
    #[error("every q is 0, so that no device ever takes part")]
    NobodyTakesPart,
    /// A position outside the fleet, or one that occurs twice.
    #[error("the position {position} is outside the fleet of {devices} devices, or occurs twice")]
    BadPosition {
        /// The position of the device in the fleet.
        position: usize,
        /// The number of devices N.
        devices: usize,
    },
}

impl PlanError {
    /// What the caller can change to avoid this error.
    pub fn hint(&self) -> String {
        let hint = match self {
            Self::BadNumber { wanted, .. } => return format!("it must be {wanted}"),
            Self::Unreachable { .. } => {
                "set an easier target (a larger β), spread the data more evenly, or raise the availability of the \
                 devices that hold most of it; auto plans without α and β"
            }
            Self::SurrogateInfeasible { .. } => {
                "use the scheme exact: P2 has no such floor and still has its optimum"
            }
            Self::ConstantsMissing { .. } => {
                "give α and β, or pilots to estimate them; auto and the baselines need neither"
            }
            Self::NotABaseline { .. } => "use full, uniform, weighted or fixed=Q",
            Self::Pilots(error) => return error.hint().to_owned(),
            Self::UnknownScheme { hint, .. } => hint,
            Self::FileNotRead { .. } => "read the file into GivenQ first",
            Self::NoCustomScheme { .. } => "run it in the program that has the scheme",
            Self::Custom(_) => "correct the code of the scheme, then run again",
            Self::File(error) => return error.hint(),
            Self::NoQ { nearest: Some((name, line)), .. } => {
                return format!("add a line for each device; line {line} has {name:?}");
            }
            Self::NoQ { nearest: None, .. } => "add a line for each device",
            Self::CohortTooLarge { devices, .. } => {
                return format!("draw at most {devices} devices per round");
            }
            Self::NormCount { .. } => "give one number for each device, in the order of the fleet, or none",
            Self::BufferTooLarge { devices, .. } => {
                return format!("wait for the updates of at most {devices} devices");
            }
            Self::BadConcurrency { devices, .. } => {
                return format!("choose a number from 1 to {devices}, or leave the key out");
            }
            Self::NoRounds { remedy, .. } => remedy,
            Self::NotAlwaysAvailable { .. } => {
                "use a scheme with independent coins, such as auto or fixed=0.2, or leave the column availability out"
            }
            Self::FleetTooLarge { scheme: Scheme::PaperLinesearch, .. } => {
                "use the scheme paper: the same optimum in closed form, for any number of devices"
            }
            Self::FleetTooLarge { .. } => {
                "use the scheme tight, whose cost per step grows as N log N, or the scheme exact"
            }
            Self::FeatureMissing { .. } => {
                "turn the feature on, or use the scheme paper: the same optimum in closed form"
            }
            Self::ConvexSolver { .. } => "use the scheme paper: the same optimum in closed form",
            Self::OtherFleet { .. } => "use the plan with the fleet that it was made for",
            Self::BadParticipation { .. } => "choose a probability within that range",
            Self::NobodyTakesPart => "give at least one device a q above 0",
            Self::BadPosition { .. } => "name each position once, from 0 to the number of devices less 1",
        };
        hint.to_owned()
    }
}

/// `the devices "a", "b" and 3 more`.
fn listed(devices: &[String], more: usize) -> String {
    let plural = if devices.len() + more == 1 { "" } else { "s" };
    let names = devices.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("the device{plural} {names}{more}")
}

/// Six significant digits: enough to act on, short enough to read.
pub(crate) fn short(value: f64) -> String {
    plain(format!("{value:.5e}").parse().unwrap_or(value))
}
