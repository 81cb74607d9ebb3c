//! A scheme's plan in numbers: what it expected of a round and of the whole, and what came of it.

use fedflip_plan::{Plan, Problem, monte_carlo, round_time, variance};
use fedflip_record::RecordedCosts;
use fedflip_record::costs::DownlinkMode;

use crate::collection::SchemeRuns;
use crate::config::Config;
use crate::devices::Devices;
use crate::numbers::{duration, significant};
use crate::pilots::needs_pilots;
use crate::run_view::{HeldPlan, RunView};
use crate::standing::Spread;

/// A round by the book.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundModel {
    /// The mean round time E[T̂] in seconds.
    pub mean_secs: f64,
    /// Theorem 2's bound on the round time, in seconds.
    pub theorem2_secs: f64,
    /// Σ q c, which Theorem 2's bound never exceeds.
    pub linear_secs: f64,
}

/// What was expected of a scheme, beside what came of it.
#[derive(Clone, Debug)]
pub struct Explained<'a> {
    /// The scheme that the predictions are for.
    pub scheme: &'a SchemeRuns,
    /// The last plan of what is shown.
    pub plan: &'a HeldPlan,
    /// The sampling variance C(q) = Σ a²/q.
    pub sampling_variance: Option<f64>,
    /// The largest aggregation weight max a/q.
    pub largest_weight: Option<f64>,
    /// By the book; none without the fleet, or where the book does not say.
    pub round_model: Option<RoundModel>,
    /// What every round takes beyond that, in seconds; part of `round_model`.
    pub overhead_secs: f64,
    /// Keys of the scenario that the model ignores.
    pub left_out: Vec<&'static str>,
    /// Realised mean of a round.
    pub round_secs: Option<f64>,
    /// The share of rounds without a participant.
    pub empty_share: f64,
    /// The predicted total time R(q) · E[T̂] in hours.
    pub expected_hours: Option<f64>,
    /// Realised, to the target.
    pub hours: Option<Spread>,
}

/// Draws of E[T̂]: enough for a line in a figure, and nothing to wait for.
const DRAWS: u64 = 2_000;

/// Keys that change the times of devices, or end rounds early.
const BEYOND_THE_MODEL: [&str; 4] =
    ["round.deadline_secs", "world.compute_jitter", "world.fading_db", "world.dropout"];

impl<'a> Explained<'a> {
    /// The predictions for a scheme.
    pub fn of(scheme: &'a SchemeRuns) -> Option<Self> {
        let first = scheme.runs.first()?;
        let plan = first.plans.last()?;
        let overhead_secs = plan.made.costs.overhead_secs;
        // Other schemes have other weights than a/q.
        let with_coins = scheme.devices.as_ref().filter(|_| scheme.flips_coins());
        let round_model = round_model(scheme, first, &plan.made.costs);
        let expected_secs = round_model.map(|model| model.mean_secs).or(plan.made.expected_round_secs);
        let all = scheme.rounds() as f64;
        let total_secs: f64 = scheme.runs.iter().map(RunView::secs_of_rounds).sum();
        let empty: u64 = scheme.runs.iter().map(|run| run.summary().empty_rounds).sum();
        let hours_of_rounds = scheme.runs.iter().map(|run| run.secs_of_rounds() / 3600.0);
        let expected = plan.made.expected_rounds.zip(expected_secs);
        Some(Self {
            scheme,
            plan,
            sampling_variance: with_coins.map(sampling_variance),
            largest_weight: with_coins.map(largest_weight),
            round_model,
            overhead_secs,
            left_out: left_out(&first.config),
            round_secs: (all > 0.0).then_some(total_secs / all),
            empty_share: empty as f64 / all.max(1.0),
            expected_hours: expected.map(|(rounds, secs)| rounds * secs / 3600.0),
            // Without the pilots, where those are on the clock: the plan does not predict them.
            hours: match first.config.keeps_pilots() && needs_pilots(&scheme.scheme) {
                true => scheme.standing.hours.and_then(|_| Spread::of(hours_of_rounds)),
                false => scheme.standing.hours,
            },
        })
    }

    /// Whether some rounds go by a plan of their own: what is expected is a mean then.
    pub(crate) fn has_quiet(&self) -> bool {
        self.scheme.devices.as_ref().is_some_and(|devices| devices.schedule.quiet().is_some())
    }

    /// Whether plans were replaced: what is expected is of the last one.
    pub(crate) fn has_replaced(&self) -> bool {
        self.scheme.runs.first().is_some_and(|run| run.plans.len() > 1)
    }

    /// The keys that the model ignores, for a caption; empty if there are none.
    pub(crate) fn left_out_sentence(&self) -> String {
        if self.left_out.is_empty() || self.round_model.is_none() {
            return String::new();
        }
        format!(" E[T̂] and the bounds ignore {}.", self.left_out.join(", "))
    }
}
/// What rounds cost besides computing and uploading, as a sentence; nothing for real devices, whose rounds cost what they
/// cost.
pub(crate) fn costs_sentence(scheme: &SchemeRuns) -> String {
    let Some(run) = scheme.runs.first().filter(|run| !run.is_deployed()) else { return String::new() };
    let costs = run.header.costs;
    let mut parts = Vec::new();
    if costs.overhead_secs > 0.0 {
        parts.push(format!("an overhead of {}", duration(costs.overhead_secs)));
    }
    parts.extend(costs.downlink.map(|downlink| {
        let how = match downlink.mode {
            DownlinkMode::Broadcast => "a broadcast",
            DownlinkMode::Unicast => "a download of each device",
        };
        let size = significant(downlink.per_upload, 3);
        format!("{how} of {size} times the upload at {} Mbit/s", significant(downlink.bandwidth_mbps, 3))
    }));
    let spectrum = costs
        .spectrum_mhz
        .map_or(String::new(), |mhz| format!(" Devices share {} MHz of spectrum.", significant(mhz, 3)));
    match parts.is_empty() {
        true => format!(" Rounds cost computing and uploading alone, as in the paper.{spectrum}"),
        false => {
            format!(" Besides computing and uploading, rounds cost {}.{spectrum}", parts.join(" and "))
        }
    }
}

/// None where devices do not finish together, where they flip no coins, and without the fleet.
fn round_model(scheme: &SchemeRuns, run: &RunView, costs: &RecordedCosts) -> Option<RoundModel> {
    let is_adaptive = run.config.get("round.allocation").is_none_or(|allocation| allocation == "adaptive");
    let Devices { fleet, schedule, .. } =
        scheme.devices.as_ref().filter(|_| is_adaptive && scheme.flips_coins())?;
    let problem = Problem::new(fleet, costs.round_costs(run.header.bandwidth_mbps)?);
    // Over usual and quiet rounds.
    let mean = |of: &dyn Fn(&[f64]) -> f64| schedule.mean(|plan| of(plan.q()));
    Some(RoundModel {
        mean_secs: mean(&|q| monte_carlo::round_secs(&problem, q, run.header.seed, DRAWS).mean),
        theorem2_secs: mean(&|q| round_time::theorem2_bound_secs(&problem, q)),
        linear_secs: mean(&|q| problem.linear_bound_secs(q)),
    })
}

fn sampling_variance(devices: &Devices) -> f64 {
    devices.schedule.mean(|plan| variance::sampling_variance(devices.fleet.weights(), plan.q()))
}

fn largest_weight(devices: &Devices) -> f64 {
    let plans = [Some(devices.schedule.usual()), devices.schedule.quiet()];
    let weights = plans.into_iter().flatten().flat_map(Plan::aggregation_weights);
    weights.copied().fold(0.0, f64::max)
}

fn left_out(config: &Config) -> Vec<&'static str> {
    let mut keys: Vec<&'static str> = BEYOND_THE_MODEL.to_vec();
    keys.retain(|key| config.number(key).is_some_and(|value| value != 0.0));
    // Real devices are a world of their own.
    keys.retain(|key| !(config.on_devices() && key.starts_with("world.")));
    keys
}
