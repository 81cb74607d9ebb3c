//! The layers.
//!
//! - [`conv`], [`pool`], [`linear`]: what the small convolutional networks are made of.
//! - [`gradient_check`]: any layer against finite differences in f64; for tests, ours and yours.

pub mod conv;
pub mod gradient_check;
pub mod linear;
pub mod pool;
