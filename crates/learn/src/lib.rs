//! What a device does in a round: data sets, partitions, models, local SGD, evaluation.
//!
//! Kernels are our own, on the `gemm` crate: forward and backward passes of the few layers that the
//! paper's models need, with every buffer planned once per worker and no allocation inside a step. They
//! are generic over f32 and f64, so that the tests can hold them against finite differences.
//!
//! # Layout
//!
//! - [`learner`]: the seam: model in, update out; [`sgd`]: local SGD behind it.
//! - [`metrics`]: named functions of an evaluation's sums.
//! - [`crew`]: workers that train and evaluate; [`thread_crew`]: threads as workers.
//! - [`task`]: the paper's tasks: data, model and settings as one value.
//! - [`shards`]: the data of all devices; [`synthetic`]: made by the devices themselves; [`partitioned`]: a
//!   data set split over them.
//! - [`encoding`]: how an update is sent, in fewer bits than it has.
//! - [`model_file`]: a model as safetensors, in the layout of PyTorch.
//! - [`real`]: f32 and f64 behind one trait; [`matmul`]: matrix products with strides.
//! - [`layer`]: what a layer is; [`nn`]: the layers, one file each.
//! - [`data`]: data sets, how to get and read them; [`partition`]: their samples over devices.
//! - [`network`]: layers in a row, their buffers, loss and gradients; [`models`]: the paper's networks.
//! - [`error`]: one enum for all that can go wrong, each with a hint.

#![warn(missing_docs)]

pub mod crew;
pub mod encoding;
pub mod error;
pub mod layer;
pub mod learner;
pub mod matmul;
pub mod metrics;
pub mod model_file;
pub mod models;
pub mod network;
pub mod nn;
pub mod partition;
pub mod partitioned;
pub mod real;
pub mod sgd;
pub mod shards;
pub mod synthetic;
pub mod task;
pub mod thread_crew;

pub use crew::{Crew, Trained};
pub use encoding::Encoding;
pub use error::LearnError;
pub use fedflip_fleet::Metrics;
pub use learner::{Learner, TrainKey};
pub use metrics::{Metric, Sums};
pub use thread_crew::{ThreadCrew, with_crew};
