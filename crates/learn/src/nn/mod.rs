//! The layers.
//!
//! - [`linear`]: fully connected.
//! - [`embedding`], [`lstm`], [`last_step`]: for sequences.
//! - [`packed`], [`gates`], [`activation`], [`lanes`]: what an LSTM step is made of, down to the vectors.
//! - [`gradient_check`]: any layer against finite differences in f64; for tests, ours and yours.

pub mod activation;
pub mod embedding;
pub mod gates;
pub mod gradient_check;
pub mod lanes;
pub mod last_step;
pub mod linear;
pub mod lstm;
pub mod packed;
