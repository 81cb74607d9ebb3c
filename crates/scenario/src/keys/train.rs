//! The keys of `[train]`.

use super::external::is_trained_here;
use super::{Key, Shown, key, share};
use crate::value::Value;
use fedflip_learn::sgd::Steps;

const FACTOR: &str = "a number from 0 to 1e6";

/// An option that is off is not part of a stored scenario.
fn unless_zero(number: f64) -> Option<Value> {
    (number != 0.0).then_some(Value::Number(number))
}

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
    )
    .only(is_trained_here),
    key(
        "train",
        "batch",
        "samples per step",
        |s| Some(Value::count(s.train.batch)),
        |s, v| v.count(1..=65_536).map(|count| s.train.batch = count),
    )
    .only(is_trained_here),
    key(
        "train",
        "iterations",
        "steps per round",
        |s| match s.train.steps {
            Steps::Iterations(steps) => Some(Value::count(steps)),
            Steps::Epochs(_) => None,
        },
        |s, v| v.count(0..=Steps::ITERATIONS_MAX).map(|steps| s.train.steps = Steps::Iterations(steps)),
    )
    .only(is_trained_here),
    key(
        "train",
        "epochs",
        "passes through a device's own samples per round, instead of iterations",
        |s| match s.train.steps {
            Steps::Iterations(_) => None,
            Steps::Epochs(epochs) => Some(Value::count(epochs)),
        },
        |s, v| v.count(1..=Steps::EPOCHS_MAX).map(|epochs| s.train.steps = Steps::Epochs(epochs)),
    )
    .only(is_trained_here)
    .shown(Shown::Example("1")),
    key(
        "train",
        "momentum",
        "momentum of local SGD, which begins anew each round",
        |s| unless_zero(s.train.momentum),
        |s, v| share(v).map(|momentum| s.train.momentum = momentum),
    )
    .only(is_trained_here)
    .shown(Shown::Example("0.9")),
    key(
        "train",
        "weight_decay",
        "adds this times the parameters to each gradient",
        |s| unless_zero(s.train.weight_decay),
        |s, v| v.number(0.0..=1e6, FACTOR).map(|decay| s.train.weight_decay = decay),
    )
    .only(is_trained_here)
    .shown(Shown::Example("0.0001")),
    key(
        "train",
        "proximal",
        "μ of FedProx: adds (μ/2)‖w − x‖² to the local loss",
        |s| unless_zero(s.train.proximal),
        |s, v| v.number(0.0..=1e6, FACTOR).map(|proximal| s.train.proximal = proximal),
    )
    .only(is_trained_here)
    .shown(Shown::Example("0.01")),
];
