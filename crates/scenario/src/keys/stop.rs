//! The keys of `[stop]` and `[record]`.

use fedflip_fleet::Secs;
use fedflip_learn::metrics::{self, Direction};
use fedflip_record::{Target, TargetMode};

use super::external::is_trained_here;
use super::{Key, ROUNDS_MAX, Shown, key, loss, name_of};
use crate::Scenario;
use crate::error::Refusal;
use crate::value::{Given, Value};

const MODES: [(&str, TargetMode); 2] = [("max", TargetMode::Max), ("min", TargetMode::Min)];

pub(super) static KEYS: &[Key] = &[
    key(
        "stop",
        "metric",
        "the metric of the test data that has to reach its target",
        |s| Some(Value::text(s.stop.target.metric.as_str())),
        set_metric,
    )
    .only(is_trained_here),
    key(
        "stop",
        "at",
        "the target: the run ends when the metric reaches it",
        |s| Some(Value::Number(s.stop.target.at)),
        |s, v| v.number(-1e15..=1e15, "a number from -1e15 to 1e15").map(|at| s.stop.target.at = at),
    )
    .only(is_trained_here),
    key(
        "stop",
        "mode",
        "\"max\": the metric has to rise to the target, \"min\": it has to fall",
        |s| name_of(&MODES, &s.stop.target.mode),
        |s, v| v.choice(&MODES).map(|mode| s.stop.target.mode = mode),
    )
    .only(is_trained_here),
    key(
        "stop",
        "target_accuracy",
        "short for metric = \"accuracy\", mode = \"max\" and this as the target",
        |_| None,
        |s, v| {
            let at = v.number(1e-9..=1.0, "a share above 0 (from 1e-9 to 1)")?;
            s.stop.target = Target { metric: "accuracy".to_owned(), at, mode: TargetMode::Max };
            Ok(())
        },
    )
    .only(is_trained_here)
    .shown(Shown::Shorthand),
    key(
        "stop",
        "target_loss",
        "short for metric = \"loss\", mode = \"min\" and this as the target",
        |_| None,
        |s, v| {
            let at = loss(v)?;
            s.stop.target = Target { metric: metrics::LOSS.to_owned(), at, mode: TargetMode::Min };
            Ok(())
        },
    )
    .only(is_trained_here)
    .shown(Shown::Shorthand),
    key(
        "stop",
        "rounds_max",
        "rounds, empty ones included",
        |s| Some(Value::Whole(s.stop.rounds_max.into())),
        |s, v| v.whole(1..=ROUNDS_MAX).map(|rounds| s.stop.rounds_max = rounds),
    ),
    key(
        "stop",
        "virtual_hours_max",
        "hours of virtual time",
        |s| s.stop.virtual_hours_max.map(Value::Number),
        |s, v| v.unless_none(hours).map(|hours| s.stop.virtual_hours_max = hours),
    )
    .shown(Shown::Example("24")),
    key(
        "stop",
        "real_hours_max",
        "hours of real time",
        |s| s.stop.real_hours_max.map(Value::Number),
        |s, v| v.unless_none(hours).map(|hours| s.stop.real_hours_max = hours),
    )
    .shown(Shown::Example("2"))
    .simulated(),
    key(
        "record",
        "evaluate_every",
        "rounds from one evaluation to the next, where no round is quiet",
        |s| Some(Value::Whole(s.record.evaluate_every.into())),
        |s, v| v.whole(1..=ROUNDS_MAX).map(|rounds| s.record.evaluate_every = rounds),
    )
    .only(is_trained_here),
    key(
        "record",
        "checkpoint_secs",
        "real seconds from one checkpoint to the next; 0: after every round",
        |s| Some(Value::Number(s.record.checkpoint.get())),
        |s, v| v.quantity(Secs::new, Secs::WANTED).map(|secs| s.record.checkpoint = secs),
    ),
];

/// The mode follows from the metric unless it is set after it.
fn set_metric(s: &mut Scenario, v: &Given<'_>) -> Result<(), Refusal> {
    let names: Vec<(&str, &str)> = s.task.metrics().iter().map(|&name| (name, name)).collect();
    let name = v.choice(&names)?;
    let falls = metrics::metric(name).is_some_and(|metric| metric.info.better == Direction::Smaller);
    name.clone_into(&mut s.stop.target.metric);
    s.stop.target.mode = if falls { TargetMode::Min } else { TargetMode::Max };
    Ok(())
}

fn hours(v: &Given<'_>) -> Result<f64, Refusal> {
    v.number(1e-9..=1e9, "a number of hours above 0 (from 1e-9 to 1e9)")
}
