//! `fedflip bound`: Theorem 1.

use std::io::Write;

use fedflip_plan::problem::sampling_noise;
use fedflip_plan::solve::{auto, baseline};
use fedflip_plan::{Problem, Scheme, Settings, solve};
use serde::Serialize;

use super::{capped_warning, print_json};
use crate::error::CliError;
use crate::progress::warn;
use crate::render::{devices, significant};
use crate::settings::BoundSettings;

#[derive(Serialize)]
struct BoundJson {
    scheme: String,
    devices: usize,
    sampling_noise: f64,
    p: f64,
    /// N Σ a²/q, which may not exceed p.
    scaled_noise: f64,
    noise_condition: bool,
    learning_rate: f64,
    /// 1/(4Lp), which the learning rate may not exceed.
    learning_rate_max: f64,
    learning_rate_condition: bool,
    /// What is left of the bound after infinitely many rounds.
    floor: f64,
    rounds: Option<f64>,
    bound: Option<f64>,
    threshold: Option<f64>,
    /// Whole rounds; null if the threshold lies at or below the floor.
    rounds_needed: Option<f64>,
    /// Of the round model; null without a threshold, or where sampling adds no noise.
    alpha: Option<f64>,
    beta: Option<f64>,
    /// ξ > ε² + σ² and η ≤ min(1/(4Lp), 1/(4LN²)): the paper's conditions for P2.
    p2_threshold_condition: Option<bool>,
    p2_learning_rate_condition: Option<bool>,
}

pub(super) fn run(settings: &BoundSettings, output: &mut dyn Write) -> Result<(), CliError> {
    let q = participation(settings)?;
    let json = describe(settings, sampling_noise(settings.fleet.weights(), &q))?;
    if settings.json {
        return print_json(output, &json);
    }
    write(output, &json)
}

/// q of a baseline by its rule; q of a planned scheme from the α and β that the theorem gives, but for `auto`, which
/// needs none.
fn participation(settings: &BoundSettings) -> Result<Vec<f64>, CliError> {
    let BoundSettings { fleet, scheme, assumptions, threshold, band, noise, .. } = settings;
    if let Some((q, capped)) = baseline::participation(fleet, *scheme) {
        if capped > 0 {
            warn(&capped_warning(*scheme, capped));
        }
        return Ok(q);
    }
    let constants = match threshold {
        _ if *scheme == Scheme::Auto => Some(auto::stand_in(fleet, *noise)?),
        Some(threshold) => assumptions.constants(*threshold)?,
        None => None,
    };
    let Some(constants) = constants else {
        return Err(CliError::Usage {
            problem: "with ε² + σ² = 0 sampling adds no noise, and there is nothing to plan",
            hint: "use a baseline such as --scheme fixed=0.2, or give --divergence or --variance",
        });
    };
    let Some(band) = band else {
        return Err(CliError::Usage { problem: "a planned scheme needs a band", hint: "add --bandwidth" });
    };
    let problem = Problem::new(fleet, *band, constants)?;
    let solver = Settings { noise: *noise, ..Settings::default() };
    Ok(solve(&problem, *scheme, &solver)?.q().to_vec())
}

fn describe(settings: &BoundSettings, sampling_noise: f64) -> Result<BoundJson, CliError> {
    let BoundSettings { fleet, scheme, assumptions, rounds, threshold, p, .. } = settings;
    let theorem = assumptions.theorem(sampling_noise, *p)?;
    let p2 = threshold.map(|threshold| theorem.paper_p2_conditions(threshold));
    let model = threshold.and_then(|threshold| assumptions.round_model(threshold));
    Ok(BoundJson {
        scheme: scheme.to_string(),
        devices: fleet.len(),
        sampling_noise,
        p: theorem.p(),
        scaled_noise: theorem.scaled_noise(),
        noise_condition: theorem.noise_condition_holds(),
        learning_rate: assumptions.learning_rate,
        learning_rate_max: theorem.learning_rate_max(),
        learning_rate_condition: theorem.learning_rate_condition_holds(),
        floor: theorem.floor(),
        rounds: *rounds,
        bound: rounds.map(|rounds| theorem.bound(rounds)),
        threshold: *threshold,
        rounds_needed: threshold.and_then(|threshold| theorem.rounds_to(threshold)).map(whole_rounds),
        alpha: model.map(|(alpha, _)| alpha),
        beta: model.map(|(_, beta)| beta),
        p2_threshold_condition: p2.map(|conditions| conditions.0),
        p2_learning_rate_condition: p2.map(|conditions| conditions.1),
    })
}

/// Up to the next whole round, unless it is only rounding that lies above one.
fn whole_rounds(rounds: f64) -> f64 {
    (rounds * (1.0 - 1e-12)).ceil()
}

fn write(output: &mut dyn Write, json: &BoundJson) -> Result<(), CliError> {
    let number = |value: f64| significant(value, 4);
    let holds = |holds: bool| if holds { "holds" } else { "DOES NOT HOLD" };
    let comparison = |left: f64, right: f64| format!("{} ≤ {}", number(left), number(right));
    let mut line = |what: &str, text: String| writeln!(output, "  {what:<28}{text}");
    line(
        &format!("Theorem 1 under {}", json.scheme),
        format!("{}, Σ a²/q = {}", devices(json.devices), number(json.sampling_noise)),
    )?;
    let (noise, rate) = (json.noise_condition, json.learning_rate_condition);
    line("N Σ a²/q ≤ p", format!("{}: {}", comparison(json.scaled_noise, json.p), holds(noise)))?;
    line(
        "η ≤ 1/(4Lp)",
        format!("{}: {}", comparison(json.learning_rate, json.learning_rate_max), holds(rate)),
    )?;
    if !(noise && rate) {
        line("", "so the theorem promises nothing; what follows is its formula only".to_owned())?;
    }
    if let (Some(threshold), Some(rate)) = (json.p2_threshold_condition, json.p2_learning_rate_condition) {
        line("ξ > ε² + σ² (for P2)", holds(threshold).to_owned())?;
        line("η ≤ 1/(4LN²) (for P2)", holds(rate).to_owned())?;
    }
    if let (Some(rounds), Some(bound)) = (json.rounds, json.bound) {
        line(&format!("after {} rounds", number(rounds)), format!("mean E‖∇F‖² ≤ {}", number(bound)))?;
    }
    line("in the long run", format!("mean E‖∇F‖² ≤ {}", number(json.floor)))?;
    if let Some(threshold) = json.threshold {
        let rounds = match json.rounds_needed {
            Some(rounds) => format!("{} rounds", number(rounds)),
            None => format!("never: it lies below the floor by {}", number(json.floor - threshold)),
        };
        line(&format!("to reach ξ = {}", number(threshold)), rounds)?;
    }
    if let (Some(alpha), Some(beta)) = (json.alpha, json.beta) {
        line("round model", format!("α = {}, β = {}", number(alpha), number(beta)))?;
    }
    Ok(())
}
