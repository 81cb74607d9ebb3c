//! The keys of `[round]` and `[world]`.

use fedflip_engine::{Aggregation, Clip};
use fedflip_fleet::bandwidth::Division;
use fedflip_fleet::{DEVICES_MAX, Secs};

use super::{Key, Shown, key, name_of};
use crate::Scenario;
use crate::error::Refusal;
use crate::value::{Given, Value};

const DIVISIONS: [(&str, Division); 2] = [("adaptive", Division::Adaptive), ("equal", Division::Equal)];

/// The second multiplies the devices' learning rates by a/q, and averages their updates.
const AGGREGATIONS: [(&str, Aggregation); 4] = [
    ("unbiased", Aggregation::Unbiased),
    ("cohort-mean", Aggregation::CohortMean),
    ("clipped", Aggregation::Clipped(Clip::Auto)),
    ("trimmed", Aggregation::Trimmed { share: Aggregation::TRIM, clip: Clip::Auto }),
];

pub(super) static KEYS: &[Key] = &[
    key(
        "round",
        "allocation",
        "division of the bandwidth: \"adaptive\" (all finish together) or \"equal\"",
        |s| name_of(&DIVISIONS, &s.round.allocation),
        |s, v| v.choice(&DIVISIONS).map(|division| s.round.allocation = division),
    ),
    key(
        "round",
        "aggregation",
        "\"unbiased\", \"cohort-mean\" (the authors'); biased: \"clipped\", \"trimmed\"",
        |s| name_of(&AGGREGATIONS, &with_defaults(s.round.aggregation)),
        |s, v| v.choice(&AGGREGATIONS).map(|aggregation| s.round.aggregation = aggregation),
    ),
    key(
        "round",
        "clip_norm",
        "for clipped and trimmed: the largest norm; \"auto\": the usual norm",
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
        "for trimmed: the share of updates that is left out at either end",
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
        "deadline_secs",
        "devices that have not reported by then are lost to the round",
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
        "share of the deadline that stays free, because compute times vary",
        |s| Some(Value::Number(s.round.deadline_margin)),
        |s, v| v.number(0.0..=0.9, "a share from 0 to 0.9").map(|margin| s.round.deadline_margin = margin),
    ),
    key(
        "round",
        "concurrency",
        "for fedbuff=K: how many devices work at a time; by default 2K",
        |s| s.round.concurrency.map(Value::count),
        |s, v| v.unless_none(|v| v.count(1..=DEVICES_MAX)).map(|devices| s.round.concurrency = devices),
    )
    .shown(Shown::Example("20"))
    .simulated(),
    key(
        "world",
        "compute_jitter",
        "coefficient of variation of a device's compute time",
        |s| Some(Value::Number(s.world.compute_jitter)),
        |s, v| v.number(0.0..=10.0, "a number from 0 to 10").map(|jitter| s.world.compute_jitter = jitter),
    )
    .simulated(),
    key(
        "world",
        "fading_db",
        "standard deviation of a link's fading in dB, drawn anew every round",
        |s| Some(Value::Number(s.world.fading_db)),
        |s, v| v.number(0.0..=40.0, "a number from 0 to 40").map(|fading| s.world.fading_db = fading),
    )
    .simulated(),
    key(
        "world",
        "dropout",
        "probability that a device of the cohort vanishes mid-round",
        |s| Some(Value::Number(s.world.dropout)),
        |s, v| v.number(0.0..=1.0, "a probability from 0 to 1").map(|dropout| s.world.dropout = dropout),
    )
    .simulated(),
];

/// The same rule with its default settings, as it stands in the table of names.
fn with_defaults(aggregation: Aggregation) -> Aggregation {
    match aggregation {
        Aggregation::Clipped(_) => Aggregation::Clipped(Clip::Auto),
        Aggregation::Trimmed { .. } => Aggregation::Trimmed { share: Aggregation::TRIM, clip: Clip::Auto },
        plain => plain,
    }
}

fn clip_value(clip: Clip) -> Value {
    match clip {
        Clip::Auto => Value::text("auto"),
        Clip::Norm(norm) => Value::Number(norm),
    }
}

/// Rules that limit no norm check the value, and do not keep it.
fn set_clip_norm(s: &mut Scenario, v: &Given<'_>) -> Result<(), Refusal> {
    let norm = v.unless("auto", |v| v.number(1e-9..=1e9, "a number above 0 (from 1e-9 to 1e9)"))?;
    if let Aggregation::Clipped(clip) | Aggregation::Trimmed { clip, .. } = &mut s.round.aggregation {
        *clip = norm.map_or(Clip::Auto, Clip::Norm);
    }
    Ok(())
}
