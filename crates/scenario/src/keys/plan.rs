//! The keys of `[plan]` and `[pilot]`.

use fedflip_plan::{Constants, GradientBounds, PlanError, Scheme, VARIANCE_RANGE, VARIANCE_WANTED};

use super::own::numbers;
use super::{Key, ROUNDS_MAX, Shown, key, loss};
use crate::error::Refusal;
use crate::value::{Given, Value};
use crate::{Scenario, read_scheme};

/// The most norms that fit into a scenario's file.
const NORMS_MAX: usize = 1 << 16;

pub(super) static KEYS: &[Key] = &[
    key(
        "plan",
        "scheme",
        "the client sampling scheme; `fedflip plan --help` lists them",
        |s| Some(Value::text(s.plan.scheme.to_string())),
        set_scheme,
    ),
    key(
        "plan",
        "alpha",
        "α of the round model R(q) = α/(β − Σ a²/q); `fedflip pilot` measures it",
        |s| Some(Value::Number(s.plan.constants.alpha())),
        |s, v| set_constants(s, v, |constants, alpha| Constants::new(alpha, constants.beta())),
    ),
    key(
        "plan",
        "beta",
        "β of the round model",
        |s| Some(Value::Number(s.plan.constants.beta())),
        |s, v| set_constants(s, v, |constants, beta| Constants::new(constants.alpha(), beta)),
    ),
    key(
        "plan",
        "variance",
        "Σ a²/q that auto allows: lower values sample more devices",
        |s| Some(Value::Number(s.plan.variance)),
        |s, v| v.number(VARIANCE_RANGE, VARIANCE_WANTED).map(|variance| s.plan.variance = variance),
    ),
    key(
        "plan",
        "quiet_variance",
        "Σ a²/q of quiet rounds, under any scheme; \"none\": no quiet rounds",
        |s| Some(s.plan.quiet_variance.map_or(Value::text("none"), Value::Number)),
        |s, v| {
            s.plan.quiet_variance = v.unless_none(|v| v.number(VARIANCE_RANGE, VARIANCE_WANTED))?;
            Ok(())
        },
    ),
    key(
        "plan",
        "quiet_every",
        "every Nth round is quiet, and then only quiet rounds are evaluated",
        |s| Some(Value::Whole(s.plan.quiet_every.into())),
        |s, v| v.whole(2..=ROUNDS_MAX).map(|rounds| s.plan.quiet_every = rounds),
    ),
    key(
        "plan",
        "luo_norms",
        "G of luo: bound on the gradient norm of each device, in fleet order",
        |s| numbers(&s.plan.luo_norms),
        |s, v| v.numbers(GradientBounds::NORM_RANGE, NORMS_MAX).map(|norms| s.plan.luo_norms = norms),
    )
    .shown(Shown::Example("[]")),
    key(
        "plan",
        "luo_offset",
        "B of luo: part of its bound on rounds that sampling does not change",
        |s| (s.plan.luo_offset != 0.0).then_some(Value::Number(s.plan.luo_offset)),
        |s, v| {
            let offset = v.number(GradientBounds::OFFSET_RANGE, "a number from 0 to 1e15")?;
            s.plan.luo_offset = offset;
            Ok(())
        },
    )
    .shown(Shown::Example("1")),
    key(
        "pilot",
        "loss",
        "F_s: the test loss at which a pilot ends",
        |s| Some(Value::Number(s.pilot.loss)),
        |s, v| loss(v).map(|loss| s.pilot.loss = loss),
    ),
    key(
        "pilot",
        "seeds",
        "pilots of each kind, whose rounds are averaged",
        |s| Some(Value::Whole(s.pilot.seeds.into())),
        |s, v| v.whole(1..=1_000).map(|count| s.pilot.seeds = count),
    ),
    key(
        "pilot",
        "rounds_max",
        "rounds after which a pilot gives up",
        |s| Some(Value::Whole(s.pilot.rounds_max.into())),
        |s, v| v.whole(1..=ROUNDS_MAX).map(|rounds| s.pilot.rounds_max = rounds),
    ),
    key(
        "pilot",
        "keep",
        "planned schemes continue from the better of their two pilots",
        |s| Some(Value::Flag(s.pilot.keep)),
        |s, v| v.flag().map(|keep| s.pilot.keep = keep),
    )
    .simulated(),
];

fn set_scheme(s: &mut Scenario, v: &Given<'_>) -> Result<(), Refusal> {
    let text = v.text(&format!("one of {}", Scheme::examples()))?;
    let scheme = v.memory.scheme.clone().map_or_else(|| read_scheme(text, v.folder), Ok);
    s.plan.scheme = scheme.map_err(|error| Refusal { problem: error.to_string(), hint: error.hint() })?;
    Ok(())
}

/// α and β are one value; either key changes its half.
fn set_constants(
    s: &mut Scenario,
    v: &Given<'_>,
    change: fn(Constants, f64) -> Result<Constants, PlanError>,
) -> Result<(), Refusal> {
    let wanted = "a number above 0 (from 1e-12 to 1e15)";
    let given = v.number(1e-12..=1e15, wanted)?;
    s.plan.constants = change(s.plan.constants, given).map_err(|_| v.refuse("is out of range", wanted))?;
    Ok(())
}
