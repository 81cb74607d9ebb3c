//! The models, as networks of layers.
//!
//! - [`mobilenet`]: MobileNet v1 for images of 32×32.

pub mod mobilenet;
