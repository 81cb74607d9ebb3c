//! What came of a comparison, as JSON: `compare.json`, and each point of `sweep.json`.

use fedflip_report::standing::Spread;
use serde::Serialize;

use crate::comparison::{Entry, best_hours};
use fedflip_scenario::Scenario;

#[derive(Serialize)]
pub struct ComparisonJson {
    pub task: &'static str,
    pub target_accuracy: f64,
    pub pilot: PilotJson,
    pub schemes: Vec<SchemeJson>,
}

#[derive(Clone, Copy, Serialize)]
pub struct PilotJson {
    pub alpha: f64,
    pub beta: f64,
    /// None without pilots.
    pub hours: Option<f64>,
    /// Whether planned schemes went on from them: their hours are then counted in.
    pub kept: bool,
}

#[derive(Serialize)]
pub struct SchemeJson {
    pub scheme: String,
    /// None where there is no plan.
    pub hours: Option<Spread>,
    pub hours_with_pilot: Option<f64>,
    pub rounds: Option<f64>,
    pub mean_participants: Option<f64>,
    pub ratio_to_best: Option<f64>,
    /// Seeds that reached the target.
    pub reached: usize,
    pub seeds: u64,
    /// Some seed did not reach it: it takes longer than this.
    pub lower_bound: bool,
    /// Seeds whose model left the numbers; there are no hours then.
    pub diverged: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl ComparisonJson {
    pub fn new(scenario: &Scenario, pilot: PilotJson, entries: &[Entry], seeds: u64) -> Self {
        let best = best_hours(entries);
        let mean = |spread: Option<Spread>| spread.map(|spread| spread.mean);
        let schemes = entries.iter().map(|entry| {
            let standing = entry.standing();
            let hours = standing.hours;
            // Runs that went on from their pilots have that time on their clocks.
            let apart = entry.scheme.needs_constants() && !scenario.pilot.keep;
            let pilots = pilot.hours.filter(|_| apart).unwrap_or(0.0);
            SchemeJson {
                scheme: entry.scheme.to_string(),
                hours,
                hours_with_pilot: mean(hours).map(|hours| hours + pilots),
                rounds: mean(standing.rounds),
                mean_participants: mean(standing.participants),
                ratio_to_best: mean(hours).zip(best).map(|(hours, best)| hours / best),
                reached: standing.reached,
                seeds,
                lower_bound: standing.is_lower_bound(),
                diverged: standing.diverged,
                error: entry.runs.as_ref().err().map(ToString::to_string),
            }
        });
        Self {
            task: scenario.task.name(),
            target_accuracy: scenario.stop.target_accuracy,
            pilot,
            schemes: schemes.collect(),
        }
    }
}
