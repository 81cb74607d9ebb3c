//! The keys above all sections.

use super::{Key, Shown, key};
use crate::preset::Preset;
use crate::value::Value;

pub(super) static KEYS: &[Key] = &[
    key(
        "",
        "preset",
        "sets keys of [update], [server] and [plan] that are left out",
        // It expands to other keys when a scenario is read, and is not kept.
        |_| None,
        |_, v| Preset::of(v).map(|_| ()),
    )
    .shown(Shown::Example("\"tuned\"")),
    key(
        "",
        "seed",
        "seed of first model, batches, coins and world: same seed, same bytes",
        |s| Some(Value::seed(s.seed)),
        |s, v| v.seed().map(|seed| s.seed = seed),
    ),
];
