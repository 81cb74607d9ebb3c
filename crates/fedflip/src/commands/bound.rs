//! `fedflip bound`: Theorem 1.

use std::io::Write;

use fedflip_plan::theorem1::Assumptions;
use fedflip_plan::{Constants, Plan, Planning, Problem, Scheme, sampling_variance, solve};
use fedflip_run::warnings::capped;
use serde::Serialize;

use super::print_json;
use crate::args::BoundArgs;
use crate::costs::bandwidth;
use crate::error::CliError;
use crate::progress::warn;
use crate::render::{devices, significant};
use crate::settings::{positive, read_fleet, scheme, variance};

#[derive(Serialize)]
struct BoundJson {
    scheme: String,
    devices: usize,
    sampling_variance: f64,
    p: f64,
    /// N Σ a²/q, which must not exceed p.
    scaled_variance: f64,
    variance_condition: bool,
    learning_rate: f64,
    /// 1/(4Lp), which the learning rate must not exceed.
    learning_rate_max: f64,
    learning_rate_condition: bool,
    /// The bound after infinitely many rounds.
    floor: f64,
    rounds: Option<f64>,
    bound: Option<f64>,
    threshold: Option<f64>,
    /// Whole rounds; null if the threshold lies at or below the floor.
    rounds_needed: Option<f64>,
    /// Of the round model; null without a threshold, or where sampling adds no variance.
    alpha: Option<f64>,
    beta: Option<f64>,
    /// ξ > ε² + σ² and η ≤ min(1/(4Lp), 1/(4LN²)): the paper's conditions for P2.
    p2_threshold_condition: Option<bool>,
    p2_learning_rate_condition: Option<bool>,
}

pub(super) fn run(args: &BoundArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let scheme = scheme(&args.scheme)?;
    let bandwidth = args.bandwidth.map(bandwidth).transpose()?;
    for (flag, value) in [("--rounds", args.rounds), ("--threshold", args.threshold), ("--p", args.p)] {
        positive(flag, value)?;
    }
    let variance = variance(args.variance, &scheme)?;
    if !scheme.is_baseline() && bandwidth.is_none() {
        return Err(CliError::usage(
            "a planned scheme needs a bandwidth to plan for",
            "add --bandwidth, or use a baseline such as --scheme fixed=0.2",
        ));
    }
    if scheme.needs_constants() && args.threshold.is_none() {
        return Err(CliError::usage(
            "a planned scheme needs a threshold to plan for",
            "add --threshold, or use --scheme auto or a baseline such as --scheme fixed=0.2",
        ));
    }
    let fleet = read_fleet(&args.fleet)?;
    let assumptions = assumptions(args, fleet.len())?;
    let constants = constants(args, &scheme, &assumptions)?;
    let plan = match bandwidth {
        None => Plan::baseline(&fleet, &scheme)?,
        Some(bandwidth) => {
            let planning = Planning { constants, variance, seed: 0, ..Planning::new(scheme.clone()) };
            solve(&Problem::new(&fleet, bandwidth), &planning)?
        }
    };
    capped(&scheme, &plan, &fleet).iter().for_each(|text| warn(text));
    let json = describe(args, &scheme, &assumptions, sampling_variance(fleet.weights(), plan.q()))?;
    if args.json { print_json(output, &json) } else { write(output, &json) }
}

fn assumptions(args: &BoundArgs, devices: usize) -> Result<Assumptions, CliError> {
    let assumptions = Assumptions {
        devices,
        learning_rate: args.learning_rate,
        smoothness: args.smoothness,
        divergence_sq: args.divergence,
        gradient_variance: args.gradient_variance,
        initial_gap: args.initial_gap,
    };
    Ok(assumptions.checked()?)
}

/// The theorem's α and β, which stand for those of pilots; none where the scheme needs none.
fn constants(
    args: &BoundArgs,
    scheme: &Scheme,
    assumptions: &Assumptions,
) -> Result<Option<Constants>, CliError> {
    let Some(threshold) = args.threshold.filter(|_| scheme.needs_constants()) else { return Ok(None) };
    let constants = assumptions.constants(threshold)?;
    constants.map(Some).ok_or_else(|| {
        CliError::usage(
            "with ε² + σ² = 0 sampling adds no variance, and there is nothing to plan",
            "use a baseline such as --scheme fixed=0.2, or give --divergence or --gradient-variance",
        )
    })
}

fn describe(
    args: &BoundArgs,
    scheme: &Scheme,
    assumptions: &Assumptions,
    sampling_variance: f64,
) -> Result<BoundJson, CliError> {
    let BoundArgs { rounds, threshold, p, .. } = *args;
    let theorem = assumptions.theorem(sampling_variance, p)?;
    let p2 = threshold.map(|threshold| theorem.paper_p2_conditions(threshold));
    let model = threshold.and_then(|threshold| assumptions.round_model(threshold));
    Ok(BoundJson {
        scheme: scheme.to_string(),
        devices: assumptions.devices,
        sampling_variance,
        p: theorem.p(),
        scaled_variance: theorem.scaled_variance(),
        variance_condition: theorem.variance_condition_holds(),
        learning_rate: assumptions.learning_rate,
        learning_rate_max: theorem.learning_rate_max(),
        learning_rate_condition: theorem.learning_rate_condition_holds(),
        floor: theorem.floor(),
        rounds,
        bound: rounds.map(|rounds| theorem.bound(rounds)),
        threshold,
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
        format!("{}, Σ a²/q = {}", devices(json.devices), number(json.sampling_variance)),
    )?;
    let (variance, rate) = (json.variance_condition, json.learning_rate_condition);
    line("N Σ a²/q ≤ p", format!("{}: {}", comparison(json.scaled_variance, json.p), holds(variance)))?;
    line(
        "η ≤ 1/(4Lp)",
        format!("{}: {}", comparison(json.learning_rate, json.learning_rate_max), holds(rate)),
    )?;
    if !(variance && rate) {
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
