//! The row `own` of the table of tasks: its parameters declare the samples and choose the network.

use crate::error::LearnError;
use crate::models::mlp;
use crate::network::Network;
use crate::task::{Param, ParamKind, ParamValue, Params, Sizes, Source, TaskRow};

/// The most numbers in one dimension of a sample.
const SIZE_MAX: usize = 65_536;

pub(crate) static ROW: TaskRow = TaskRow {
    name: "own",
    about: "samples from files of your own: data.train and data.test",
    params: &[
        Param {
            name: "model",
            about: "the network: softmax, mlp, cnn, mobilenet or lstm",
            kind: ParamKind::Choice(&["softmax", "mlp", "cnn", "mobilenet", "lstm"]),
            default: ParamValue::Choice("softmax"),
        },
        Param {
            name: "shape",
            about: "the dimensions of a sample: [features], [height, width] or [height, width, channels]",
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
            kind: ParamKind::Choice(&["cross-entropy", "squared-error"]),
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
            about: "of lstm: values are codes below this number",
            kind: ParamKind::Count(2..=256),
            default: ParamValue::Count(80),
        },
        crate::task::WIDTH,
        crate::task::NORM,
    ],
    source: |_| Source::Own,
    sharings: &["dirichlet", "iid", "by-device", "fleet"],
    network,
    costed_as: None,
    metrics: |params| match (params.choice("loss"), params.choice("model")) {
        ("squared-error", _) => &["rmse", "loss"],
        (_, "lstm") => &["accuracy", "top-5", "perplexity", "loss"],
        _ => &["accuracy", "top-5", "f1", "loss"],
    },
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

fn network(params: &Params) -> Result<Network<f32>, LearnError> {
    let shape = params.sizes("shape");
    let features: usize = shape.as_slice().iter().product();
    let outputs = params.count("classes");
    Ok(mlp::mlp(features, params.count("hidden_units"), outputs))
}
