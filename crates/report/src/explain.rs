//! The plan explained: where α and β come from, what the plan expected, and what came of it.

use fedflip_fleet::Mbps;
use fedflip_plan::constants::{self, Pilot, PilotFit};
use fedflip_plan::problem::sampling_noise;
use fedflip_plan::{Constants, Scheme, monte_carlo, round_time};
use serde::Serialize;

use crate::collection::{Group, SchemeRuns};
use crate::devices::Devices;
use crate::run_view::RunView;
use crate::standing::Spread;

/// α and β of a group.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The point estimate.
    pub constants: Constants,
    /// With intervals, where pilots are at hand.
    pub fit: Option<PilotFit>,
    /// Why the pilots at hand do not give them.
    pub problem: Option<String>,
}

/// What α and β the runs were planned with, and what their pilots say of them.
pub fn measured(group: &Group) -> Option<Measured> {
    let of_run = |run: &RunView| {
        let (alpha, beta) = (run.config.number("plan.alpha")?, run.config.number("plan.beta")?);
        Constants::new(alpha, beta).ok()
    };
    let (mut fit, mut problem) = (None, None);
    let devices = group.schemes.iter().find_map(|scheme| scheme.devices.as_ref());
    if let Some(devices) = devices
        && !group.pilots.is_empty()
    {
        match fitted(devices, &group.pilots) {
            Ok(found) => fit = Some(found),
            Err(error) => problem = Some(error),
        }
    }
    let constants = group.runs().find_map(of_run).or(fit.map(|fit| fit.constants))?;
    Some(Measured { constants, fit, problem })
}

fn fitted(devices: &Devices, pilots: &[RunView]) -> Result<PilotFit, String> {
    let mut points = Vec::new();
    for pilot in pilots {
        let scheme: Scheme =
            pilot.header.scheme.parse().map_err(|_| format!("unknown {}", pilot.header.scheme))?;
        let rounds = pilot.summary.rounds as f64;
        points.push(Pilot { rounds, reached: pilot.summary.reached(), scheme });
    }
    constants::from_pilots(&devices.fleet, &points).map_err(|error| error.to_string())
}

/// Virtual hours of a pair of pilots, averaged over their seeds: what Algorithm 2 takes before it starts.
pub fn pilot_hours(group: &Group) -> Option<f64> {
    let mut seeds: Vec<u64> = group.pilots.iter().map(|pilot| pilot.header.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let hours: f64 = group.pilots.iter().map(|pilot| pilot.summary.hours).sum();
    (!seeds.is_empty()).then(|| hours / seeds.len() as f64)
}

/// Whether a scheme's q needs α and β, and so the pilots.
pub fn needs_pilots(scheme: &str) -> bool {
    scheme.parse::<Scheme>().is_ok_and(|scheme| !scheme.is_baseline())
}

/// A round's length by the book, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RoundModel {
    /// E[T̂].
    pub mean_secs: f64,
    /// Theorem 2's first bound.
    pub theorem2_secs: f64,
    /// Σ q c: what P2 and P3 minimise with.
    pub linear_secs: f64,
}

/// What a scheme was expected to do, and what it did.
#[derive(Clone, Debug, Serialize)]
pub struct Explained {
    /// Which one.
    pub scheme: String,
    /// Σ q.
    pub expected_participants: f64,
    /// Devices in a round, realised.
    pub participants: Option<Spread>,
    /// C(q) = Σ a²/q.
    pub sampling_noise: Option<f64>,
    /// max a/q.
    pub largest_weight: Option<f64>,
    /// R(q).
    pub expected_rounds: Option<f64>,
    /// Realised, to the target.
    pub rounds: Option<Spread>,
    /// By the book; none without the fleet.
    pub round_model: Option<RoundModel>,
    /// Realised mean of a round.
    pub round_secs: Option<f64>,
    /// Of rounds: nobody took part.
    pub empty_share: f64,
    /// R(q) · E[T̂].
    pub expected_hours: Option<f64>,
    /// Realised, to the target.
    pub hours: Option<Spread>,
    /// Whether some seed did not get there.
    pub lower_bound: bool,
}

/// Draws of E[T̂]: enough for a line in a figure, and nothing to wait for.
const DRAWS: u64 = 2_000;

impl Explained {
    /// Of a scheme.
    pub fn of(scheme: &SchemeRuns) -> Option<Self> {
        let first = scheme.runs.first()?;
        let header = &first.header;
        let model = scheme.devices.as_ref().and_then(|devices| {
            let band = Mbps::new(header.bandwidth_mbps).ok()?;
            let (fleet, q) = (&devices.fleet, devices.q.as_slice());
            let costs = fleet.compute_secs().iter().zip(fleet.comm_secs()).zip(q);
            Some(RoundModel {
                mean_secs: monte_carlo::round_secs(fleet, q, band, header.seed, DRAWS).mean,
                theorem2_secs: round_time::theorem2_bound_secs(fleet, q, band),
                linear_secs: costs.map(|((tau, t), q)| q * (t / band.get() + tau)).sum(),
            })
        });
        let weights = |devices: &Devices| {
            let weights = devices.fleet.weights().iter().zip(&devices.q);
            weights.map(|(a, q)| a / q).fold(0.0, f64::max)
        };
        let round_secs = model.map(|model| model.mean_secs).or(header.expected_round_secs);
        let all: u64 = scheme.runs.iter().map(|run| run.times.rounds()).sum();
        let total_secs: f64 = scheme.runs.iter().map(|run| run.times.total_secs).sum();
        let empty: u64 = scheme.runs.iter().map(|run| run.times.empty).sum();
        Some(Self {
            scheme: scheme.scheme.clone(),
            expected_participants: header.expected_participants,
            participants: scheme.standing.participants,
            sampling_noise: scheme
                .devices
                .as_ref()
                .map(|devices| sampling_noise(devices.fleet.weights(), &devices.q)),
            largest_weight: scheme.devices.as_ref().map(weights),
            expected_rounds: header.expected_rounds,
            rounds: scheme.standing.rounds,
            round_model: model,
            round_secs: (all > 0).then(|| total_secs / all as f64),
            empty_share: empty as f64 / (all as f64).max(1.0),
            expected_hours: header
                .expected_rounds
                .zip(round_secs)
                .map(|(rounds, secs)| rounds * secs / 3600.0),
            hours: scheme.standing.hours,
            lower_bound: scheme.standing.is_lower_bound(),
        })
    }
}
