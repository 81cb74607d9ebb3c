//! The layers.
//!
//! - [`linear`]: fully connected.
//! - [`gradient_check`]: any layer against finite differences in f64; for tests, ours and yours.

pub mod gradient_check;
pub mod linear;
