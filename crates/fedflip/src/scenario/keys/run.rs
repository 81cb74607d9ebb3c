//! The keys of the sections that say how a run goes.

use fedflip_engine::{Aggregation, Clip};
use fedflip_fleet::Secs;
use fedflip_fleet::bandwidth::Division;
use fedflip_plan::{Constants, Scheme, VARIANCE_RANGE, VARIANCE_WANTED};

use super::{Key, Shown, key, name_of};
use crate::scenario::Scenario;
use crate::scenario::error::Refusal;
use crate::scenario::value::{Given, Value};

const DIVISIONS: [(&str, Division); 2] = [("adaptive", Division::Adaptive), ("equal", Division::Equal)];

/// The second weighs the devices' learning rates by a/q, and their updates alike.
const AGGREGATIONS: [(&str, Aggregation); 4] = [
    ("unbiased", Aggregation::Unbiased),
    ("cohort-mean", Aggregation::CohortMean),
    ("clipped", Aggregation::Clipped(Clip::Auto)),
    ("trimmed", Aggregation::Trimmed { share: Aggregation::TRIM, clip: Clip::Auto }),
];

const ROUNDS_MAX: u64 = 1_000_000_000;

/// Stands above all sections.
pub(super) static SEED: &[Key] = &[key(
    "",
    "seed",
    "of the first model, batches, coins and the world: same seed, same bytes",
    |s| Some(Value::seed(s.seed)),
    |s, v| v.seed().map(|seed| s.seed = seed),
)];

pub(super) static KEYS: &[Key] = &[
    key(
        "train",
        "learning_rate",
        "η of local SGD",
        |s| Some(Value::Number(s.train.learning_rate)),
        |s, v| {
            let rate = v.number(1e-30..=1e6, "a number above 0 (from 1e-30 to 1e6)")?;
            s.train.learning_rate = rate;
            Ok(())
        },
    ),
    key(
        "train",
        "batch",
        "samples a step",
        |s| Some(Value::count(s.train.batch)),
        |s, v| v.count(1..=65_536).map(|count| s.train.batch = count),
    ),
    key(
        "train",
        "iterations",
        "steps a round",
        |s| Some(Value::count(s.train.iterations)),
        |s, v| v.count(0..=1_000_000).map(|count| s.train.iterations = count),
    ),
    key(
        "plan",
        "scheme",
        "how q is chosen; `fedflip plan --help` lists the schemes",
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
        "noise",
        "of auto: Σ a²/q of a round that is allowed; less is more devices a round",
        |s| (s.plan.scheme == Scheme::Auto).then_some(Value::Number(s.plan.noise)),
        set_noise,
    )
    .shown(Shown::Follows),
    key(
        "plan",
        "quiet_noise",
        "the same of quiet rounds, under any scheme; \"none\" is without them",
        // What follows has to be taken back.
        |s| match s.plan.quiet_noise {
            Some(noise) => Some(Value::Number(noise)),
            None => s.follows_quiet_noise().map(|_| Value::text("none".to_owned())),
        },
        |s, v| {
            s.plan.quiet_noise = v.unless_none(|v| v.number(VARIANCE_RANGE, VARIANCE_WANTED))?;
            Ok(())
        },
    )
    .shown(Shown::FollowsOr("0.1"))
    .left_out_at("\"none\""),
    key(
        "plan",
        "quiet_every",
        "one round in so many is quiet, and is evaluated; the others are not then",
        |s| s.plan.quiet_noise.map(|_| Value::Whole(s.plan.quiet_every.into())),
        |s, v| v.whole(2..=ROUNDS_MAX).map(|rounds| s.plan.quiet_every = rounds),
    )
    .shown(Shown::FollowsOr("20")),
    key(
        "pilot",
        "loss",
        "F_s: the test loss at which a pilot is done",
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
        "where a pilot gives up",
        |s| Some(Value::Whole(s.pilot.rounds_max.into())),
        |s, v| v.whole(1..=ROUNDS_MAX).map(|rounds| s.pilot.rounds_max = rounds),
    ),
    key(
        "pilot",
        "keep",
        "planned schemes go on from the better of their two pilots, after both",
        |s| Some(Value::Flag(s.pilot.keep)),
        |s, v| v.flag().map(|keep| s.pilot.keep = keep),
    )
    .left_out_at("false"),
    key(
        "round",
        "allocation",
        "of the band: \"adaptive\" (all finish together) or \"equal\" shares",
        |s| name_of(&DIVISIONS, &s.round.allocation),
        |s, v| v.choice(&DIVISIONS).map(|division| s.round.allocation = division),
    ),
    key(
        "round",
        "aggregation",
        "\"unbiased\", \"cohort-mean\" (the authors'); biased: \"clipped\", \"trimmed\"",
        |s| name_of(&AGGREGATIONS, &with_defaults(s.round.aggregation)),
        |s, v| v.choice(&AGGREGATIONS).map(|aggregation| s.round.aggregation = aggregation),
    )
    .left_out_at("\"unbiased\""),
    key(
        "round",
        "clip_norm",
        "of clipped and trimmed: the longest update; \"auto\" is the usual norm",
        |s| match s.round.aggregation {
            Aggregation::Clipped(clip) | Aggregation::Trimmed { clip, .. } => Some(clip_value(clip)),
            Aggregation::Unbiased | Aggregation::CohortMean => None,
        },
        set_clip_norm,
    )
    .shown(Shown::FollowsOr("\"auto\"")),
    key(
        "round",
        "trim",
        "of trimmed: the share of updates that is left out at either end",
        |s| match s.round.aggregation {
            Aggregation::Trimmed { share, .. } => Some(Value::Number(share)),
            _ => None,
        },
        |s, v| {
            let given = v.number(0.0..=0.49, "a share from 0 to 0.49")?;
            if let Aggregation::Trimmed { share, .. } = &mut s.round.aggregation {
                *share = given;
            }
            Ok(())
        },
    )
    .shown(Shown::FollowsOr("0.1")),
    key(
        "round",
        "overhead_secs",
        "added to every round, an empty one too",
        |s| Some(Value::Number(s.round.overhead.get())),
        |s, v| v.quantity(Secs::new, Secs::WANTED).map(|secs| s.round.overhead = secs),
    ),
    key(
        "round",
        "deadline_secs",
        "who has not reported by then is lost to the round; without it, nobody",
        |s| s.round.deadline.map(|secs| Value::Number(secs.get())),
        |s, v| {
            s.round.deadline = v.unless_none(|v| {
                v.number(1e-9..=1e9, "a time above 0 (from 1e-9 to 1e9 seconds)")?;
                v.quantity(Secs::new, Secs::WANTED)
            })?;
            Ok(())
        },
    )
    .shown(Shown::Example("60")),
    key(
        "round",
        "deadline_margin",
        "share of it that stays free, because compute times vary",
        |s| Some(Value::Number(s.round.deadline_margin)),
        |s, v| {
            let margin = v.number(0.0..=0.9, "a share from 0 to 0.9")?;
            s.round.deadline_margin = margin;
            Ok(())
        },
    )
    .left_out_at("0.1"),
    key(
        "world",
        "compute_jitter",
        "coefficient of variation of a device's compute time",
        |s| Some(Value::Number(s.world.compute_jitter)),
        |s, v| v.number(0.0..=10.0, "a number from 0 to 10").map(|jitter| s.world.compute_jitter = jitter),
    ),
    key(
        "world",
        "fading_db",
        "standard deviation of a link's fading in dB, drawn anew every round",
        |s| Some(Value::Number(s.world.fading_db)),
        |s, v| v.number(0.0..=40.0, "a number from 0 to 40").map(|fading| s.world.fading_db = fading),
    ),
    key(
        "world",
        "dropout",
        "probability that a device that takes part vanishes mid-round",
        |s| Some(Value::Number(s.world.dropout)),
        |s, v| v.number(0.0..=1.0, "a probability from 0 to 1").map(|dropout| s.world.dropout = dropout),
    ),
    key(
        "stop",
        "target_accuracy",
        "share of test samples that the model gets right",
        |s| Some(Value::Number(s.stop.target_accuracy)),
        |s, v| {
            let accuracy = v.number(1e-9..=1.0, "a share above 0 (from 1e-9 to 1)")?;
            s.stop.target_accuracy = accuracy;
            Ok(())
        },
    ),
    key(
        "stop",
        "target_loss",
        "test loss to reach instead of the accuracy, as pilots do",
        |s| s.stop.target_loss.map(Value::Number),
        |s, v| v.unless_none(loss).map(|loss| s.stop.target_loss = loss),
    )
    .shown(Shown::Example("0.5")),
    key(
        "stop",
        "rounds_max",
        "rounds, empty ones too",
        |s| Some(Value::Whole(s.stop.rounds_max.into())),
        |s, v| v.whole(1..=ROUNDS_MAX).map(|rounds| s.stop.rounds_max = rounds),
    ),
    key(
        "stop",
        "virtual_hours_max",
        "hours on the virtual clock",
        |s| s.stop.virtual_hours_max.map(Value::Number),
        |s, v| v.unless_none(hours).map(|hours| s.stop.virtual_hours_max = hours),
    )
    .shown(Shown::Example("24")),
    key(
        "stop",
        "real_hours_max",
        "hours on the clock on the wall",
        |s| s.stop.real_hours_max.map(Value::Number),
        |s, v| v.unless_none(hours).map(|hours| s.stop.real_hours_max = hours),
    )
    .shown(Shown::Example("2")),
    key(
        "record",
        "evaluate_every",
        "rounds from one evaluation to the next, where none are quiet",
        |s| Some(Value::Whole(s.record.evaluate_every.into())),
        |s, v| v.whole(1..=ROUNDS_MAX).map(|rounds| s.record.evaluate_every = rounds),
    ),
    key(
        "record",
        "checkpoint_secs",
        "real seconds from one checkpoint to the next; 0 is after every round",
        |s| Some(Value::Number(s.record.checkpoint.get())),
        |s, v| v.quantity(Secs::new, Secs::WANTED).map(|secs| s.record.checkpoint = secs),
    ),
];

/// The same rule with its default settings, as it stands in the table of names.
fn with_defaults(aggregation: Aggregation) -> Aggregation {
    match aggregation {
        Aggregation::Clipped(_) => Aggregation::Clipped(Clip::Auto),
        Aggregation::Trimmed { .. } => Aggregation::Trimmed { share: Aggregation::TRIM, clip: Clip::Auto },
        as_it_is => as_it_is,
    }
}

fn clip_value(clip: Clip) -> Value {
    match clip {
        Clip::Auto => Value::text("auto"),
        Clip::Norm(norm) => Value::Number(norm),
    }
}

/// Rules that limit no norm check the value, and keep no trace of it.
fn set_clip_norm(s: &mut Scenario, v: &Given<'_>) -> Result<(), Refusal> {
    let norm = v.unless("auto", |v| v.number(1e-9..=1e9, "a number above 0 (from 1e-9 to 1e9)"))?;
    if let Aggregation::Clipped(clip) | Aggregation::Trimmed { clip, .. } = &mut s.round.aggregation {
        *clip = norm.map_or(Clip::Auto, Clip::Norm);
    }
    Ok(())
}

fn loss(v: &Given<'_>) -> Result<f64, Refusal> {
    v.number(1e-9..=1e6, "a number above 0 (from 1e-9 to 1e6)")
}

fn hours(v: &Given<'_>) -> Result<f64, Refusal> {
    v.number(1e-9..=1e9, "a number of hours above 0 (from 1e-9 to 1e9)")
}

fn set_scheme(s: &mut Scenario, v: &Given<'_>) -> Result<(), Refusal> {
    let names = Scheme::ALL.map(|scheme| scheme.to_string());
    let text = v.text(&format!("one of {}", names.join(", ")))?;
    let scheme = text.parse::<Scheme>();
    s.plan.scheme = scheme.map_err(|error| Refusal { problem: error.to_string(), hint: error.hint() })?;
    Ok(())
}

/// Nobody but `auto` has it; others in the same comparison stay as they are.
fn set_noise(s: &mut Scenario, v: &Given<'_>) -> Result<(), Refusal> {
    let noise = v.number(VARIANCE_RANGE, VARIANCE_WANTED)?;
    if s.plan.scheme == Scheme::Auto {
        s.plan.noise = noise;
    }
    Ok(())
}

/// α and β are one value; either key changes its half.
fn set_constants(
    s: &mut Scenario,
    v: &Given<'_>,
    change: fn(Constants, f64) -> Result<Constants, fedflip_plan::PlanError>,
) -> Result<(), Refusal> {
    let wanted = "a number above 0 (from 1e-12 to 1e15)";
    let given = v.number(1e-12..=1e15, wanted)?;
    s.plan.constants = change(s.plan.constants, given).map_err(|_| v.refuse("is out of range", wanted))?;
    Ok(())
}
