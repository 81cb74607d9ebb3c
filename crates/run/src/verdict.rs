//! The result of a comparison as JSON: `compare.json`, and each point of `sweep.json`.

use std::collections::BTreeMap;

use fedflip_plan::Constants;
use fedflip_record::{RecordedCosts, Target};
use fedflip_report::standing::{SpeedUp, Spread};
use fedflip_scenario::Scenario;
use serde::Serialize;

use crate::comparison::{Entry, best_hours};
use crate::study::Study;

/// A comparison of schemes under equal settings.
#[derive(Serialize)]
pub struct ComparisonJson {
    /// The name of the task.
    pub task: String,
    /// When a run ends.
    pub target: Target,
    /// The target, where it is an accuracy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_accuracy: Option<f64>,
    /// α and β, and what they cost.
    pub pilot: PilotJson,
    /// The scheme that ratios are to.
    pub reference: String,
    /// The bandwidth that the devices share, in Mbit/s.
    pub bandwidth_mbps: f64,
    /// What rounds cost besides computing and uploading.
    pub costs: RecordedCosts,
    /// In the order in which they were asked for.
    pub schemes: Vec<SchemeJson>,
}

/// The constants that schemes were planned with.
#[derive(Clone, Copy, Serialize)]
pub struct PilotJson {
    /// The constant α of the round model.
    pub alpha: f64,
    /// The constant β of the round model.
    pub beta: f64,
    /// Virtual hours of a pair of pilots; none without pilots.
    pub hours: Option<f64>,
    /// Whether planned schemes continued from their pilots: their hours then include these.
    pub kept: bool,
}

impl PilotJson {
    pub(crate) fn given(constants: Constants) -> Self {
        Self { alpha: constants.alpha(), beta: constants.beta(), hours: None, kept: false }
    }
}

/// The result of one scheme.
#[derive(Serialize)]
pub struct SchemeJson {
    /// The name of the scheme.
    pub scheme: String,
    /// To the target; none where there is no plan, or where a model diverged.
    pub hours: Option<Spread>,
    /// The same with the pilots that the scheme needs.
    pub hours_with_pilot: Option<f64>,
    /// Mean over the seeds.
    pub rounds: Option<f64>,
    /// Mean over the seeds.
    pub mean_participants: Option<f64>,
    /// Hours by those of the best scheme that reached the target with every seed.
    pub ratio_to_best: Option<f64>,
    /// Hours by those of the reference, if the reference reached the target with every seed.
    pub ratio_to_reference: Option<f64>,
    /// The metrics of the last models on the test samples, where runs looked at validation samples until their end.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub test: BTreeMap<String, Spread>,
    /// Seeds that reached the target.
    pub reached: usize,
    /// Seeds of the comparison.
    pub seeds: u64,
    /// Those of them whose runs a shard counts; none of a whole comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seeds_here: Option<usize>,
    /// Some seed did not reach the target: hours and ratios are lower bounds.
    pub lower_bound: bool,
    /// Seeds whose model diverged; there are no hours then.
    pub diverged: usize,
    /// Why there is no plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl ComparisonJson {
    pub(crate) fn new(scenario: &Scenario, pilot: PilotJson, entries: &[Entry], study: &Study) -> Self {
        let best = best_hours(entries);
        let reference = entries.iter().find(|entry| entry.scheme == study.reference);
        let reference_hours = reference.and_then(Entry::whole_hours);
        let mean = |spread: Option<Spread>| spread.map(|spread| spread.mean);
        let schemes = entries.iter().map(|entry| {
            let standing = entry.standing();
            let lower_bound = standing.is_lower_bound();
            // The spread of runs that were cut off says nothing.
            let whole = |hours: Spread| if lower_bound { Spread { std: None, ..hours } } else { hours };
            let hours = standing.hours.map(whole);
            // Runs that continued from their pilots have that time on their clocks.
            let apart = entry.scheme.needs_constants() && !scenario.pilot.keep;
            let pilots = pilot.hours.filter(|_| apart).unwrap_or(0.0);
            let ratio_to = |other: Option<f64>| mean(hours).zip(other).map(|(hours, other)| hours / other);
            SchemeJson {
                scheme: entry.scheme.to_string(),
                hours,
                hours_with_pilot: mean(hours).map(|hours| hours + pilots),
                rounds: mean(standing.rounds),
                mean_participants: mean(standing.participants),
                ratio_to_best: ratio_to(best),
                ratio_to_reference: ratio_to(reference_hours),
                test: test(entry),
                reached: standing.reached,
                seeds: study.seeds,
                seeds_here: study.part.and(entry.runs.as_ref().ok()).map(Vec::len),
                lower_bound,
                diverged: standing.diverged,
                error: entry.runs.as_ref().err().map(ToString::to_string),
            }
        });
        Self {
            task: scenario.task.name().to_owned(),
            target: scenario.stop.target.clone(),
            target_accuracy: scenario.stop.target.of("accuracy"),
            pilot,
            reference: study.reference.to_string(),
            bandwidth_mbps: scenario.bandwidth.get(),
            costs: scenario.round_costs().into(),
            schemes: schemes.collect(),
        }
    }
}

/// The test metrics of a scheme over its seeds.
fn test(entry: &Entry) -> BTreeMap<String, Spread> {
    let runs = || entry.runs.iter().flatten();
    let names = runs().flat_map(|run| run.test.iter().map(|(name, _)| name));
    let spread = |name: &str| Spread::of(runs().filter_map(|run| run.test.get(name)));
    names.filter_map(|name| Some((name.to_owned(), spread(name)?))).collect()
}

/// How much faster a scheme is under the last of some presets than the reference under the first, and how much of that
/// sampling gives: `total` is `sampling` times `rest`, where all three are exact.
#[derive(Serialize)]
pub struct GainJson {
    /// The name of the scheme.
    pub scheme: String,
    /// Against the reference, both under the first preset.
    pub sampling: Option<SpeedUp>,
    /// Under the last preset against the first, with this scheme.
    pub rest: Option<SpeedUp>,
    /// The gain of both parts together.
    pub total: Option<SpeedUp>,
}

/// The gain of every scheme over the reference; `first` and `last` are entries under two presets.
pub fn gains(first: &[Entry], last: &[Entry], study: &Study) -> Vec<GainJson> {
    let Some(reference) = first.iter().find(|entry| entry.scheme == study.reference) else {
        return Vec::new();
    };
    let reference = reference.standing();
    let gain = |(first, last): (&Entry, &Entry)| {
        let [paper, tuned] = [first, last].map(Entry::standing);
        GainJson {
            scheme: first.scheme.to_string(),
            // Over itself it is 1, whatever the seeds.
            sampling: paper.speed_up_over(&reference).map(|up| match first.scheme == study.reference {
                true => SpeedUp { std: None, ..up },
                false => up,
            }),
            rest: tuned.speed_up_over(&paper),
            total: tuned.speed_up_over(&reference),
        }
    };
    // A shard may have runs of a scheme under one preset alone.
    let both = first.iter().filter_map(|first| {
        let last = last.iter().find(|last| last.scheme == first.scheme)?;
        Some((first, last))
    });
    both.map(gain).collect()
}
