//! The plan explained: what it expected, and what came of it.

use fedflip_fleet::Mbps;
use fedflip_plan::Plan;
use fedflip_plan::sampling_variance;
use fedflip_plan::{monte_carlo, round_time};
use serde::Serialize;

use crate::collection::SchemeRuns;
use crate::config::Config;
use crate::devices::Devices;
use crate::pilots::needs_pilots;
use crate::standing::Spread;

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
    /// How many there were, one after another; what is expected is of the last one.
    pub plans: usize,
    /// Σ q.
    pub expected_participants: f64,
    /// Devices in a round, realised.
    pub participants: Option<Spread>,
    /// C(q) = Σ a²/q.
    pub sampling_noise: Option<f64>,
    /// max a/q.
    pub largest_weight: Option<f64>,
    /// Whether some rounds go by a plan of their own: all of these are means then.
    pub has_quiet: bool,
    /// R(q).
    pub expected_rounds: Option<f64>,
    /// Realised, to the target.
    pub rounds: Option<Spread>,
    /// By the book; none without the fleet, or where the book does not say.
    pub round_model: Option<RoundModel>,
    /// What every round takes beyond that, in seconds; part of `round_model`.
    pub overhead_secs: f64,
    /// Keys of the scenario that the model knows nothing of.
    pub left_out: Vec<&'static str>,
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

/// What moves rounds away from the fleet's numbers, or ends them early.
const BEYOND_THE_MODEL: [&str; 4] =
    ["round.deadline_secs", "world.compute_jitter", "world.fading_db", "world.dropout"];

impl Explained {
    /// What the model does not know, for a caption; empty if nothing.
    pub(crate) fn left_out_sentence(&self) -> String {
        if self.left_out.is_empty() {
            return String::new();
        }
        format!(" E[T̂] and the bounds know nothing of {}.", self.left_out.join(", "))
    }

    /// Of a scheme.
    pub fn of(scheme: &SchemeRuns) -> Option<Self> {
        let first = scheme.runs.first()?;
        let header = &first.header;
        // The one that the folder has.
        let plan = first.plans.last()?;
        // What rounds on real devices take beyond the model is not known before.
        let overhead_secs = first.config.number("round.overhead_secs").filter(|_| !first.is_deployed());
        let overhead_secs = overhead_secs.unwrap_or(0.0);
        // E[T̂] is of rounds in which all finish together.
        let adaptive = first.config.get("round.allocation").is_none_or(|allocation| allocation == "adaptive");
        let model = scheme.devices.as_ref().filter(|_| adaptive).and_then(|devices| {
            let band = Mbps::new(header.bandwidth_mbps).ok()?;
            let Devices { fleet, schedule, .. } = devices;
            // Over usual and quiet rounds.
            let mean = |of: &dyn Fn(&[f64]) -> f64| overhead_secs + schedule.mean(|plan| of(plan.q()));
            Some(RoundModel {
                mean_secs: mean(&|q| monte_carlo::round_secs(fleet, q, band, header.seed, DRAWS).mean),
                theorem2_secs: mean(&|q| round_time::theorem2_bound_secs(fleet, q, band)),
                linear_secs: mean(&|q| {
                    let costs = fleet.compute_secs().iter().zip(fleet.comm_secs()).zip(q);
                    costs.map(|((tau, t), q)| q * (t / band.get() + tau)).sum()
                }),
            })
        });
        let noise = |devices: &Devices| {
            devices.schedule.mean(|plan| sampling_variance(devices.fleet.weights(), plan.q()))
        };
        let largest_weight = |devices: &Devices| {
            let plans = [Some(devices.schedule.usual()), devices.schedule.quiet()];
            let weights = plans.into_iter().flatten().flat_map(Plan::aggregation_weights);
            weights.copied().fold(0.0, f64::max)
        };
        let round_secs = model.map(|model| model.mean_secs).or(plan.expected_round_secs);
        let all = scheme.rounds();
        let total_secs: f64 = scheme.runs.iter().map(|run| run.times.total_secs).sum();
        let empty: u64 = scheme.runs.iter().map(|run| run.times.empty).sum();
        Some(Self {
            scheme: scheme.scheme.clone(),
            plans: first.plans.len(),
            expected_participants: plan.expected_participants,
            participants: scheme.standing.participants,
            sampling_noise: scheme.devices.as_ref().map(noise),
            largest_weight: scheme.devices.as_ref().map(largest_weight),
            has_quiet: scheme.devices.as_ref().is_some_and(|devices| devices.schedule.quiet().is_some()),
            expected_rounds: plan.expected_rounds,
            rounds: scheme.standing.rounds,
            round_model: model,
            overhead_secs,
            left_out: left_out(&first.config),
            round_secs: (all > 0).then(|| total_secs / all as f64),
            empty_share: empty as f64 / (all as f64).max(1.0),
            expected_hours: plan.expected_rounds.zip(round_secs).map(|(rounds, secs)| rounds * secs / 3600.0),
            // Without the pilots, where those are on the clock: the plan does not predict them.
            hours: match first.config.keeps_pilots() && needs_pilots(&scheme.scheme) {
                true => Spread::of(scheme.runs.iter().map(|run| run.times.total_secs / 3600.0))
                    .filter(|_| scheme.standing.hours.is_some()),
                false => scheme.standing.hours,
            },
            lower_bound: scheme.standing.is_lower_bound(),
        })
    }
}

fn left_out(config: &Config) -> Vec<&'static str> {
    let mut keys: Vec<&'static str> = BEYOND_THE_MODEL.to_vec();
    keys.retain(|key| config.number(key).is_some_and(|value| value != 0.0));
    // Real devices are a world of their own.
    keys.retain(|key| !(config.on_devices() && key.starts_with("world.")));
    keys
}
