//! What a device does in a round: data sets, partitions, models, local SGD, evaluation.
//!
//! Kernels are our own, on the `gemm` crate: forward and backward passes of the few layers that the
//! paper's models need, with every buffer planned once per worker and no allocation inside a step. They
//! are generic over f32 and f64, so that the tests can hold them against finite differences.
//!
//! # Layout
//!
//! - [`real`]: f32 and f64 behind one trait; [`matmul`]: matrix products with strides.
//! - [`layer`]: what a layer is; [`nn`]: the layers, one file each.
//! - [`network`]: layers in a row, their buffers, loss and gradients; [`models`]: those of the tasks.

pub mod layer;
pub mod matmul;
pub mod models;
pub mod network;
pub mod nn;
pub mod real;
