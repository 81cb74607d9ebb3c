//! The layers.
//!
//! - [`linear`]: fully connected.
//! - [`stem`], [`depthwise`], [`pointwise`]: convolutions, channels last; `depthwise_kernels`: its loops.
//! - [`group_norm`], [`batch_norm`]: normalisations, with ReLU if asked; `channels`: what both are made of.
//! - [`global_pool`]: the mean over all pixels.
//! - `lanes`: groups of numbers that fit vector registers.
//! - [`gradient_check`]: any layer against finite differences in f64; for tests, ours and yours.

pub mod batch_norm;
mod channels;
pub mod depthwise;
mod depthwise_kernels;
pub mod global_pool;
pub mod gradient_check;
pub mod group_norm;
mod lanes;
pub mod linear;
pub mod pointwise;
#[cfg(test)]
mod rectified;
pub mod stem;
