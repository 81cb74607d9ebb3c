//! The keys of `[evaluate]`.

use super::own::has_files;
use super::{Key, key, name_of};
use crate::sections::Evaluator;
use crate::value::Value;

const EVALUATORS: [(&str, Evaluator); 2] = [("server", Evaluator::Server), ("devices", Evaluator::Devices)];

pub(super) static KEYS: &[Key] = &[
    key(
        "evaluate",
        "where",
        "where models are evaluated: on the \"server\", or on \"devices\"",
        |s| name_of(&EVALUATORS, &s.evaluate.place),
        |s, v| v.choice(&EVALUATORS).map(|place| s.evaluate.place = place),
    )
    .only(has_files),
    key(
        "evaluate",
        "holdout",
        "if devices evaluate: the share of its samples that a device holds out",
        |s| Some(Value::Number(s.evaluate.holdout)),
        |s, v| v.number(0.01..=0.5, "a share from 0.01 to 0.5").map(|share| s.evaluate.holdout = share),
    )
    .only(has_files),
    key(
        "evaluate",
        "probability",
        "if devices evaluate: the chance that a device evaluates a model",
        |s| Some(Value::Number(s.evaluate.probability)),
        |s, v| {
            let wanted = "a probability from 0.001 to 1";
            v.number(0.001..=1.0, wanted).map(|probability| s.evaluate.probability = probability)
        },
    )
    .only(has_files),
];
