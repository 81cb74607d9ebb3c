//! The paper's tasks: data, model and settings as one value.
//!
//! | name | data | model | learning rate | target |
//! |---|---|---|---|---|
//! | `synthetic` | Synthetic(α, β), made up | softmax regression, or one hidden layer | 0.01 | 70 % |
//! | `mnist-cnn` | MNIST | CNN of 21,840 parameters, `wide`: 1.66 M | 0.01 | 95 % |
//! | `fashion-cnn` | Fashion-MNIST | the same | 0.01 | 80 % |
//! | `cifar10-mobilenet` | CIFAR-10 | MobileNet v1, `width` 0.25 to 1, group or batch norm | 0.01 | 60 % |
//! | `shakespeare-lstm` | Shakespeare | two LSTM layers of 256 | 0.8 | 48 % |
//!
//! Batches of 32, 10 local iterations and Dirichlet(0.8) are the paper's for all of them, as are the rates and
//! targets of MNIST, CIFAR-10 and Shakespeare; it has no `synthetic` and no `fashion-cnn`.

//!
//! # Layout
//!
//! - here: the tasks and their networks; [`settings`]: how they are shared out and trained; [`error`].

use std::str::FromStr;

use crate::error::LearnError;
use crate::models::mobilenet::Norm;
use crate::models::{cnn, lstm, mlp, mobilenet};
use crate::network::Network;
use crate::synthetic::{self, Spread};
use fedflip_datasets::Name;

pub mod error;
pub mod settings;

pub use error::TaskError;
pub use settings::{Sharing, SharingReport, TaskSettings};

/// What is learnt from what, and by which network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Task {
    /// Made-up data: no download.
    Synthetic {
        /// How different the devices are.
        spread: Spread,
        /// Units of the hidden layer; with 0 there is none, which is softmax regression.
        hidden: usize,
    },
    /// Handwritten digits.
    MnistCnn {
        /// The network of 1.66 M parameters instead.
        wide: bool,
    },
    /// Pieces of clothing.
    FashionCnn {
        /// The network of 1.66 M parameters instead.
        wide: bool,
    },
    /// Small colour pictures.
    Cifar10Mobilenet {
        /// Of all layers, 1 being MobileNet's own.
        width: f64,
        /// What follows each convolution.
        norm: Norm,
    },
    /// The next character.
    ShakespeareLstm,
}

/// Where a task's samples come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// Every device makes its own.
    MadeUp(Spread),
    /// Files of a data set.
    DataSet(Name),
}

impl Task {
    /// Of all tasks.
    pub const NAMES: [&str; 5] =
        ["synthetic", "mnist-cnn", "fashion-cnn", "cifar10-mobilenet", "shakespeare-lstm"];

    /// As in [`Task::NAMES`].
    pub fn name(&self) -> &'static str {
        match self {
            Self::Synthetic { .. } => "synthetic",
            Self::MnistCnn { .. } => "mnist-cnn",
            Self::FashionCnn { .. } => "fashion-cnn",
            Self::Cifar10Mobilenet { .. } => "cifar10-mobilenet",
            Self::ShakespeareLstm => "shakespeare-lstm",
        }
    }

    /// Where its samples come from.
    pub fn source(&self) -> Source {
        match *self {
            Self::Synthetic { spread, .. } => Source::MadeUp(spread),
            Self::MnistCnn { .. } => Source::DataSet(Name::Mnist),
            Self::FashionCnn { .. } => Source::DataSet(Name::FashionMnist),
            Self::Cifar10Mobilenet { .. } => Source::DataSet(Name::Cifar10),
            Self::ShakespeareLstm => Source::DataSet(Name::Shakespeare),
        }
    }

    /// The paper's, or ours where it has none.
    pub fn learning_rate(&self) -> f32 {
        if matches!(self, Self::ShakespeareLstm) { 0.8 } else { 0.01 }
    }

    /// The accuracy at which training is done: the paper's, or ours where it has none.
    pub fn target_accuracy(&self) -> f64 {
        match self {
            Self::Synthetic { .. } => 0.70,
            Self::MnistCnn { .. } => 0.95,
            Self::FashionCnn { .. } => 0.80,
            Self::Cifar10Mobilenet { .. } => 0.60,
            Self::ShakespeareLstm => 0.48,
        }
    }

    /// How many test samples an evaluation takes: as many as cost a few of the task's client updates.
    pub fn test_samples_max(&self) -> usize {
        match self {
            Self::MnistCnn { .. } | Self::FashionCnn { .. } => 10_000,
            Self::Synthetic { .. } | Self::Cifar10Mobilenet { .. } | Self::ShakespeareLstm => 2_000,
        }
    }

    /// Rounds from one evaluation to the next, so that evaluations do not take longer than training.
    pub fn evaluate_every(&self) -> u64 {
        match self {
            Self::Synthetic { .. } => 1,
            Self::MnistCnn { .. } | Self::FashionCnn { .. } => 5,
            Self::Cifar10Mobilenet { .. } | Self::ShakespeareLstm => 10,
        }
    }

    /// The network, untrained.
    pub fn network(&self) -> Result<Network<f32>, LearnError> {
        let refuse = |name, value, wanted| Err(LearnError::BadSetting { name, value, wanted });
        match *self {
            Self::Synthetic { hidden, .. } if hidden > 4096 => {
                refuse("hidden", hidden as f64, "a whole number from 0 (no hidden layer) to 4096")
            }
            Self::Synthetic { hidden, .. } => Ok(mlp::mlp(synthetic::FEATURES, hidden, synthetic::CLASSES)),
            Self::MnistCnn { wide: false } | Self::FashionCnn { wide: false } => Ok(cnn::cnn(10)),
            Self::MnistCnn { wide: true } | Self::FashionCnn { wide: true } => Ok(cnn::wide_cnn(10)),
            Self::Cifar10Mobilenet { width, norm } if (0.25..=1.0).contains(&width) => {
                Ok(mobilenet::mobilenet(width, norm, 10))
            }
            Self::Cifar10Mobilenet { width, .. } => refuse("width", width, "a number from 0.25 to 1"),
            Self::ShakespeareLstm => Ok(lstm::shakespeare_lstm()),
        }
    }
}

/// By name, with the defaults of each.
impl FromStr for Task {
    type Err = TaskError;

    fn from_str(name: &str) -> Result<Self, TaskError> {
        match name {
            "synthetic" => Ok(Self::Synthetic { spread: Spread { model: 0.5, data: 0.5 }, hidden: 0 }),
            "mnist-cnn" => Ok(Self::MnistCnn { wide: false }),
            "fashion-cnn" => Ok(Self::FashionCnn { wide: false }),
            "cifar10-mobilenet" => Ok(Self::Cifar10Mobilenet { width: 1.0, norm: Norm::Group }),
            "shakespeare-lstm" => Ok(Self::ShakespeareLstm),
            _ => Err(TaskError::Unknown { name: name.to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_tasks_and_back() {
        for name in Task::NAMES {
            let task: Task = name.parse().unwrap();
            assert_eq!(task.name(), name);
            task.network().unwrap();
        }
        let error = "mnist_cnn".parse::<Task>().unwrap_err();
        assert!(error.hint().starts_with("did you mean mnist-cnn?"), "{}", error.hint());
    }

    #[test]
    fn networks_have_the_parameters_of_the_table() {
        let len = |task: Task| task.network().unwrap().params_len();
        let spread = Spread { model: 0.0, data: 0.0 };
        assert_eq!(len(Task::Synthetic { spread, hidden: 0 }), 610);
        assert_eq!(len(Task::Synthetic { spread, hidden: 32 }), 61 * 32 + 33 * 10);
        assert_eq!(len(Task::MnistCnn { wide: false }), 21_840);
        assert_eq!(len(Task::FashionCnn { wide: true }), 1_663_370);
        assert_eq!(len(Task::ShakespeareLstm), 819_920);
        let mobilenet = |width| Task::Cifar10Mobilenet { width, norm: Norm::Group }.network();
        assert!(mobilenet(0.25).is_ok());
        for width in [0.2, 1.1, f64::NAN] {
            assert!(mobilenet(width).is_err());
        }
        assert!(Task::Synthetic { spread, hidden: 1 << 40 }.network().is_err());
    }
}
