//! `fedflip bound`: Theorem 1.

use std::io::Write;

use fedflip_fleet::Fleet;
use fedflip_plan::solve::baseline;
use fedflip_plan::theorem1::{Assumptions, Theorem1};
use fedflip_plan::{Constants, Problem, Scheme, Settings, solve};
use serde::Serialize;

use super::print_json;
use crate::args::BoundArgs;
use crate::error::CliError;
use crate::render::significant;
use crate::settings::{band, read_fleet};

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
    rounds_needed: Option<f64>,
    alpha: Option<f64>,
    beta: Option<f64>,
    /// ξ > ε² + σ² and η ≤ min(1/(4Lp), 1/(4LN²)): the paper's conditions for P2.
    p2_threshold_condition: Option<bool>,
    p2_learning_rate_condition: Option<bool>,
}

pub(super) fn run(args: &BoundArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let scheme: Scheme = args.scheme.parse()?;
    for (flag, value) in [("--rounds", args.rounds), ("--threshold", args.threshold)] {
        if let Some(value) = value.filter(|value| !(1e-100..=1e100).contains(value)) {
            return Err(CliError::Flag { flag, value, wanted: "a number above 0".to_owned() });
        }
    }
    let fleet = read_fleet(&args.fleet)?;
    let assumptions = Assumptions {
        devices: fleet.len(),
        learning_rate: args.learning_rate,
        smoothness: args.smoothness,
        divergence_sq: args.divergence,
        variance: args.variance,
        initial_gap: args.initial_gap,
    }
    .checked()?;
    let constants = args.threshold.map(|threshold| assumptions.constants(threshold)).transpose()?;
    let q = participation(&fleet, scheme, constants, args)?;
    let noise: f64 = fleet.weights().iter().zip(&q).map(|(a, q)| a * a / q).sum();
    let theorem = assumptions.theorem(noise, args.p)?;
    let json = describe(args, scheme, &theorem, noise, constants, fleet.len());
    if args.json {
        return print_json(output, &json);
    }
    write(output, &json)
}

/// q of a baseline by its rule; q of a planned scheme from the α and β that the theorem gives.
fn participation(
    fleet: &Fleet,
    scheme: Scheme,
    constants: Option<Constants>,
    args: &BoundArgs,
) -> Result<Vec<f64>, CliError> {
    if scheme.is_baseline() {
        return Ok(baseline::participation(fleet, scheme).0);
    }
    let (Some(constants), Some(bandwidth)) = (constants, args.bandwidth) else {
        return Err(CliError::Usage {
            problem: "a planned scheme needs a threshold and a band to plan for",
            hint: "add --threshold and --bandwidth, or use a baseline such as --scheme fixed=0.2",
        });
    };
    let problem = Problem::new(fleet, band(bandwidth)?, constants)?;
    Ok(solve(&problem, scheme, &Settings::default())?.q().to_vec())
}

fn describe(
    args: &BoundArgs,
    scheme: Scheme,
    theorem: &Theorem1,
    sampling_noise: f64,
    constants: Option<Constants>,
    devices: usize,
) -> BoundJson {
    let p2 = args.threshold.map(|threshold| theorem.paper_p2_conditions(threshold));
    BoundJson {
        scheme: scheme.to_string(),
        devices,
        sampling_noise,
        p: theorem.p(),
        scaled_noise: theorem.scaled_noise(),
        noise_condition: theorem.noise_condition_holds(),
        learning_rate: args.learning_rate,
        learning_rate_max: theorem.learning_rate_max(),
        learning_rate_condition: theorem.learning_rate_condition_holds(),
        floor: theorem.floor(),
        rounds: args.rounds,
        bound: args.rounds.map(|rounds| theorem.bound(rounds)),
        threshold: args.threshold,
        rounds_needed: args.threshold.and_then(|threshold| theorem.rounds_to(threshold)),
        alpha: constants.map(Constants::alpha),
        beta: constants.map(Constants::beta),
        p2_threshold_condition: p2.map(|conditions| conditions.0),
        p2_learning_rate_condition: p2.map(|conditions| conditions.1),
    }
}

fn write(output: &mut dyn Write, json: &BoundJson) -> Result<(), CliError> {
    let number = |value: f64| significant(value, 4);
    let holds = |holds: bool| if holds { "holds" } else { "DOES NOT HOLD" };
    writeln!(
        output,
        "Theorem 1 for {} devices under {}: Σ a²/q = {}\n",
        json.devices,
        json.scheme,
        number(json.sampling_noise)
    )?;
    writeln!(
        output,
        "  N Σ a²/q ≤ p      {} ≤ {}: {}",
        number(json.scaled_noise),
        number(json.p),
        holds(json.noise_condition)
    )?;
    writeln!(
        output,
        "  η ≤ 1/(4Lp)       {} ≤ {}: {}",
        number(json.learning_rate),
        number(json.learning_rate_max),
        holds(json.learning_rate_condition)
    )?;
    if !(json.noise_condition && json.learning_rate_condition) {
        writeln!(
            output,
            "                    so the theorem promises nothing here; the numbers below are its formula only"
        )?;
    }
    if let (Some(threshold), Some(rate)) = (json.p2_threshold_condition, json.p2_learning_rate_condition) {
        writeln!(
            output,
            "  for P2 the paper also asks   ξ > ε² + σ²: {}; η ≤ min(1/(4Lp), 1/(4LN²)): {}",
            holds(threshold),
            holds(rate)
        )?;
    }
    writeln!(output)?;
    if let (Some(rounds), Some(bound)) = (json.rounds, json.bound) {
        writeln!(output, "  after {} rounds    mean E‖∇F‖² ≤ {}", number(rounds), number(bound))?;
    }
    writeln!(output, "  in the long run    mean E‖∇F‖² ≤ {}", number(json.floor))?;
    if let (Some(threshold), Some(alpha), Some(beta)) = (json.threshold, json.alpha, json.beta) {
        match json.rounds_needed {
            Some(rounds) => {
                writeln!(output, "  to reach ξ = {}    {} rounds", number(threshold), number(rounds))?;
            }
            None => writeln!(
                output,
                "  to reach ξ = {}    never: it lies below the floor by {}",
                number(threshold),
                number(json.floor - threshold)
            )?,
        }
        writeln!(output, "  round model        α = {}, β = {}", number(alpha), number(beta))?;
    }
    Ok(())
}
