//! The keys of `[train]`.

use super::external::is_trained_here;
use super::{Key, key};
use crate::value::Value;

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
        |s| Some(Value::count(s.train.iterations)),
        |s, v| v.count(0..=1_000_000).map(|count| s.train.iterations = count),
    )
    .only(is_trained_here),
];
