//! The keys of `[stop]` and `[record]`.

use fedflip_fleet::Secs;
use fedflip_fleet::printable::is_unprintable;
use fedflip_learn::metrics::{self, Direction};
use fedflip_record::{Target, TargetMode};

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
        |s| s.target().map(|target| Value::text(target.metric.as_str())),
        set_metric,
    ),
    key(
        "stop",
        "at",
        "the target: the run ends when the metric reaches it",
        |s| s.target().map(|target| Value::Number(target.at)),
        |s, v| v.number(-1e15..=1e15, "a number from -1e15 to 1e15").map(|at| s.stop.target.at = at),
    ),
    key(
        "stop",
        "mode",
        "\"max\": the metric has to rise to the target, \"min\": it has to fall",
        |s| s.target().and_then(|target| name_of(&MODES, &target.mode)),
        |s, v| v.choice(&MODES).map(|mode| s.stop.target.mode = mode),
    ),
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
    ),
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
    let name = if s.task.is_external() {
        foreign_metric(v)?
    } else {
        let names: Vec<(&str, &str)> = s.task.metrics().iter().map(|&name| (name, name)).collect();
        v.choice(&names)?
    };
    let falls = metrics::metric(name).is_some_and(|metric| metric.info.better == Direction::Smaller);
    name.clone_into(&mut s.stop.target.metric);
    s.stop.target.mode = if falls { TargetMode::Min } else { TargetMode::Max };
    Ok(())
}

/// Whoever evaluates the model of an external task names its metrics.
fn foreign_metric<'v>(v: &Given<'v>) -> Result<&'v str, Refusal> {
    let wanted = "the name of a metric, of 1 to 64 printable characters";
    let name = v.text(wanted)?;
    let fits = (1..=64).contains(&name.chars().count()) && !name.chars().any(is_unprintable);
    if fits { Ok(name) } else { Err(v.refuse("is no name of a metric", wanted)) }
}

fn hours(v: &Given<'_>) -> Result<f64, Refusal> {
    v.number(1e-9..=1e9, "a number of hours above 0 (from 1e-9 to 1e9)")
}
