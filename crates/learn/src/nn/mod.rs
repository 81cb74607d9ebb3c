//! The layers.
//!
//! - [`conv`], [`pool`], [`linear`]: what the small convolutional networks are made of.
//! - `weighted_sums`, `dot_products`: the kernels of [`conv`], over the places that `runs` names; `winograd`,
//!   `winograd_maps`, `winograd_tiles`, `winograd_weights`: fewer multiplications for 5·5; `frame`: zeros around
//!   images; `transpose`.
//! - [`stem`], [`depthwise`], [`pointwise`]: convolutions, channels last; `depthwise_kernels`: its loops.
//! - [`group_norm`], [`batch_norm`]: normalisations, with ReLU if asked; `channels`: what both are made of.
//! - [`global_pool`]: the mean over all pixels.
//! - `groups`: arrays that the compiler turns into vectors, for kernels that run channels innermost.
//! - [`embedding`], [`lstm`], [`last_step`]: for sequences.
//! - [`vectors`]: vectors by name, for the kernels of [`conv`] and for [`packed`], [`gates`], [`activation`]: what an
//!   LSTM step is made of.
//! - [`gradient_check`]: any layer against finite differences in f64; for tests, ours and yours.

pub mod activation;
pub mod batch_norm;
mod channels;
pub mod conv;
pub mod depthwise;
mod depthwise_kernels;
mod dot_products;
pub mod embedding;
mod frame;
pub mod gates;
pub mod global_pool;
pub mod gradient_check;
pub mod group_norm;
mod groups;
pub mod last_step;
pub mod linear;
pub mod lstm;
pub mod packed;
pub mod pointwise;
pub mod pool;
#[cfg(test)]
mod rectified;
mod runs;
pub mod stem;
mod transpose;
pub mod vectors;
mod weighted_sums;
mod winograd;
mod winograd_maps;
mod winograd_tiles;
mod winograd_weights;
