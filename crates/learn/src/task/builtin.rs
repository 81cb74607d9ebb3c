//! The table of the tasks that fedflip includes.

use crate::error::LearnError;
use crate::models::mobilenet::{Norm, mobilenet};
use crate::models::{cnn, lstm, mlp};
use crate::network::Network;
use crate::synthetic::{self, Spread};
use fedflip_datasets::catalogue::{CIFAR10, FASHION_MNIST, MNIST, SHAKESPEARE};

use super::params::{Param, ParamKind, ParamValue, Params};
use super::row::{Setting, Source, TaskRow};

/// All built-in tasks, in the order in which lists show them.
pub(super) static ROWS: [&TaskRow; 6] = [
    &TaskRow {
        name: "synthetic",
        about: "Synthetic(α, β) without a download: softmax regression, or one hidden layer",
        params: &[
            Param {
                name: "hidden",
                about: "units of the hidden layer; 0 is softmax regression",
                kind: ParamKind::Count(0..=4096),
                default: ParamValue::Count(0),
            },
            Param {
                name: "model_spread",
                about: "α of Synthetic(α, β): how much the devices' true models differ",
                kind: ParamKind::Number(0.0..=1e6),
                default: ParamValue::Number(0.5),
            },
            Param {
                name: "data_spread",
                about: "β of Synthetic(α, β): how much the devices' data differ",
                kind: ParamKind::Number(0.0..=1e6),
                default: ParamValue::Number(0.5),
            },
        ],
        source: |params| {
            let (model, data) = (params.number("model_spread"), params.number("data_spread"));
            Source::Synthetic(Spread { model, data })
        },
        sharings: &[],
        network: |params| Ok(mlp::mlp(synthetic::FEATURES, params.count("hidden"), synthetic::CLASSES)),
        // A softmax regression computes and sends next to nothing, so that there would be nothing to plan.
        costed_as: Some(|_| Ok(cnn::cnn(10))),
        metrics: |_| CLASSIFICATION,
        defaults: &[
            ("train.learning_rate", "0.01"),
            ("stop.target_accuracy", "0.7"),
            ("data.test_samples_max", "2000"),
            ("record.evaluate_every", "1"),
            ("plan.alpha", "457"),
            ("plan.beta", "2.475"),
            ("pilot.loss", "1.1"),
        ],
        // Adam loses on the convex task.
        tuned: |_| &[("server.averaging", "0.9"), ("update.encoding", "\"int8\""), ("plan.variance", "1.4")],
    },
    &TaskRow {
        name: "mnist-cnn",
        about: "handwritten digits of MNIST: a small convolutional network",
        params: &[WIDE],
        source: |_| Source::DataSet(&MNIST),
        sharings: LABELLED,
        network: either_cnn,
        costed_as: None,
        metrics: |_| CLASSIFICATION,
        defaults: &[
            ("train.learning_rate", "0.01"),
            ("stop.target_accuracy", "0.95"),
            ("data.test_samples_max", "10000"),
            ("record.evaluate_every", "5"),
            ("plan.alpha", "28.474"),
            ("plan.beta", "2.2043"),
            ("pilot.loss", "0.6"),
        ],
        tuned: |_| TUNED_CNN,
    },
    &TaskRow {
        name: "fashion-cnn",
        about: "pieces of clothing of Fashion-MNIST: the same network as mnist-cnn",
        params: &[WIDE],
        source: |_| Source::DataSet(&FASHION_MNIST),
        sharings: LABELLED,
        network: either_cnn,
        costed_as: None,
        metrics: |_| CLASSIFICATION,
        // α and β are those of the same network on MNIST.
        defaults: &[
            ("train.learning_rate", "0.01"),
            ("stop.target_accuracy", "0.8"),
            ("data.test_samples_max", "10000"),
            ("record.evaluate_every", "5"),
            ("plan.alpha", "28.474"),
            ("plan.beta", "2.2043"),
            ("pilot.loss", "0.9"),
        ],
        tuned: |_| TUNED_CNN,
    },
    &TaskRow {
        name: "cifar10-mobilenet",
        about: "small colour pictures of CIFAR-10: MobileNet v1",
        params: &[WIDTH, NORM],
        source: |_| Source::DataSet(&CIFAR10),
        sharings: LABELLED,
        network: |params| Ok(mobilenet(params.number("width"), norm(params), 10)),
        costed_as: None,
        metrics: |_| CLASSIFICATION,
        defaults: &[
            ("train.learning_rate", "0.01"),
            ("stop.target_accuracy", "0.6"),
            ("data.test_samples_max", "2000"),
            ("record.evaluate_every", "10"),
            ("plan.alpha", "126.92"),
            ("plan.beta", "2.2412"),
            ("pilot.loss", "1.7"),
        ],
        tuned: |params| match norm(params) {
            Norm::Group => &[
                ("server.optimiser", "\"adam\""),
                ("server.step", "0.01"),
                ("server.momentum", "0.8"),
                ("server.averaging", "0.97"),
                ("update.encoding", "\"int4\""),
                ("plan.variance", "0.175"),
            ],
            // Running variances tolerate neither an optimiser nor rounding. Without an average of models, quiet
            // rounds remove the sampling variance before a model is evaluated.
            Norm::Batch => {
                &[("plan.variance", "0.5"), ("plan.quiet_variance", "0.1"), ("plan.quiet_every", "20")]
            }
        },
    },
    &TaskRow {
        name: "shakespeare-lstm",
        about: "the next character of Shakespeare's plays: two LSTM layers of 256",
        params: &[],
        source: |_| Source::DataSet(&SHAKESPEARE),
        sharings: &["dirichlet", "iid", "by-role", "fleet"],
        network: |_| Ok(lstm::shakespeare_lstm()),
        costed_as: None,
        metrics: |_| &["accuracy", "loss", "perplexity"],
        defaults: &[
            ("train.learning_rate", "0.8"),
            ("stop.target_accuracy", "0.48"),
            ("data.test_samples_max", "2000"),
            ("record.evaluate_every", "10"),
            ("plan.alpha", "101.86"),
            ("plan.beta", "3.4181"),
            ("pilot.loss", "2.6"),
        ],
        tuned: |_| {
            &[
                ("server.optimiser", "\"adam\""),
                ("server.step", "0.02"),
                ("server.momentum", "0.8"),
                ("server.averaging", "0.9"),
                ("update.encoding", "\"int4\""),
                ("plan.variance", "0.175"),
            ]
        },
    },
    &crate::own::row::ROW,
];

/// The metrics of every task that sorts pictures or points into classes.
const CLASSIFICATION: &[&str] = &["accuracy", "loss", "f1"];

/// The ways to share samples that have nothing but a label.
const LABELLED: &[&str] = &["dirichlet", "iid", "fleet"];

const GROUP: &str = "group";
const BATCH: &str = "batch";

const WIDE: Param = Param {
    name: "wide",
    about: "the network of 1.66 million parameters instead of 21,840",
    kind: ParamKind::Flag,
    default: ParamValue::Flag(false),
};

/// The width of MobileNet.
pub(crate) const WIDTH: Param = Param {
    name: "width",
    about: "width of all layers of MobileNet; 1 is MobileNet's own",
    kind: ParamKind::Number(0.25..=1.0),
    default: ParamValue::Number(1.0),
};

/// The normalisation of MobileNet.
pub(crate) const NORM: Param = Param {
    name: "norm",
    about: "normalisation after each convolution of MobileNet: group or batch",
    kind: ParamKind::Choice(&[GROUP, BATCH]),
    default: ParamValue::Choice(GROUP),
};

const TUNED_CNN: &[Setting] = &[
    ("server.optimiser", "\"adam\""),
    ("server.step", "0.01"),
    ("server.momentum", "0.8"),
    ("server.averaging", "0.9"),
    ("update.encoding", "\"int4\""),
    ("plan.variance", "1.4"),
];

fn either_cnn(params: &Params) -> Result<Network<f32>, LearnError> {
    Ok(if params.flag("wide") { cnn::wide_cnn(10) } else { cnn::cnn(10) })
}

/// The normalisation that the parameters choose.
pub(crate) fn norm(params: &Params) -> Norm {
    if params.choice("norm") == BATCH { Norm::Batch } else { Norm::Group }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::{PARAMS_MAX, Sharing};

    #[test]
    fn rows_are_sound() {
        for (position, row) in ROWS.iter().enumerate() {
            assert!(ROWS[..position].iter().all(|other| other.name != row.name));
            assert!(row.params.len() <= PARAMS_MAX);
            assert!(row.sharings.iter().all(|name| Sharing::NAMES.contains(name)));
            let mut params = Params::defaults(row.params);
            for param in row.params {
                params.set(param.name, param.default).unwrap();
                // A scenario has one key of a name, whichever task it is for.
                let others = ROWS.iter().flat_map(|row| row.params).filter(|other| other.name == param.name);
                assert!(others.into_iter().all(|other| other == param));
            }
            for key in ["train.learning_rate", "stop.target_accuracy", "data.test_samples_max"] {
                assert!(row.default_number(key).is_some(), "{} has no {key}", row.name);
            }
        }
    }
}
