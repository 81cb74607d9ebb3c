//! The row `own` of the table of tasks: its parameters declare the samples and choose the network.

use crate::task::{NORM, Param, ParamKind, ParamValue, Sizes, Source, TaskRow, WIDTH};

use super::models;

/// The most numbers in one dimension of a sample.
const SIZE_MAX: usize = 65_536;

pub(crate) static ROW: TaskRow = TaskRow {
    name: "own",
    about: "samples from files of your own: data.train and data.test",
    params: &[
        Param {
            name: "model",
            about: "the network: softmax, mlp, cnn, mobilenet or lstm",
            kind: ParamKind::Choice(&models::NAMES),
            default: ParamValue::Choice("softmax"),
        },
        Param {
            name: "shape",
            about: "a sample: [features], [height, width] or [height, width, channels]",
            kind: ParamKind::Sizes(1..=SIZE_MAX),
            default: ParamValue::Sizes(Sizes::one(1)),
        },
        Param {
            name: "channels",
            about: "where three dimensions have the channels: last or first",
            kind: ParamKind::Choice(&["last", "first"]),
            default: ParamValue::Choice("last"),
        },
        Param {
            name: "values",
            about: "the type of the samples: floats (float32) or bytes (uint8)",
            kind: ParamKind::Choice(&["floats", "bytes"]),
            default: ParamValue::Choice("floats"),
        },
        Param {
            name: "loss",
            about: "cross-entropy for classes, squared-error for numbers",
            kind: ParamKind::Choice(&models::LOSS_NAMES),
            default: ParamValue::Choice("cross-entropy"),
        },
        Param {
            name: "classes",
            about: "the number of classes; 1 for numbers",
            kind: ParamKind::Count(1..=65_536),
            default: ParamValue::Count(2),
        },
        Param {
            name: "hidden_units",
            about: "units of the hidden layer of mlp and cnn, and of each layer of lstm",
            kind: ParamKind::Count(1..=65_536),
            default: ParamValue::Count(64),
        },
        Param {
            name: "filters",
            about: "filters of cnn's first convolution; the second has twice as many",
            kind: ParamKind::Count(1..=1_024),
            default: ParamValue::Count(16),
        },
        Param {
            name: "symbols",
            about: "for lstm: the values of samples are codes below this number",
            kind: ParamKind::Count(2..=256),
            default: ParamValue::Count(80),
        },
        WIDTH,
        NORM,
    ],
    source: |_| Source::Own,
    sharings: &["dirichlet", "iid", "by-device", "fleet"],
    network: models::network,
    costed_as: None,
    metrics: models::metrics,
    // Nobody has measured α and β for these data: pilots do, and the scheme auto does without.
    defaults: &[
        ("train.learning_rate", "0.05"),
        ("stop.target_accuracy", "0.9"),
        ("data.test_samples_max", "10000"),
        ("record.evaluate_every", "5"),
        ("plan.alpha", "100"),
        ("plan.beta", "2.5"),
        ("pilot.loss", "0.6"),
    ],
    tuned: |_| &[],
};
