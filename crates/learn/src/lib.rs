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
//! - [`data`]: data sets, how to get and read them; [`partition`]: their samples over devices.
//! - [`network`]: layers in a row, their buffers, loss and gradients.

pub mod data;
pub mod layer;
pub mod matmul;
pub mod network;
pub mod nn;
pub mod partition;
pub mod real;
