//! `fedflip bound`: Theorem 1.

use std::io::Write;

use fedflip_plan::theorem1::Assumptions;
use fedflip_plan::warnings::capped;
use fedflip_plan::{Constants, Plan, Planning, Problem, Scheme, sampling_variance, solve};

use super::print_json;
use crate::args::BoundArgs;
use crate::costs::bandwidth;
use crate::error::CliError;
use crate::planner::{Bound, BoundQuestion};
use crate::progress::warn;
use crate::settings::{positive, read_fleet, scheme, variance};

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
    let BoundArgs { rounds, threshold, p, .. } = *args;
    let question = BoundQuestion { rounds, threshold, p };
    let variance = sampling_variance(fleet.weights(), plan.q());
    let bound = Bound::new(&scheme.to_string(), &assumptions, variance, question)?;
    if args.json { print_json(output, &bound) } else { Ok(bound.write(output)?) }
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
