//! The models, as networks of layers.
//!
//! - [`cnn`]: the convolutional networks for 28·28 grey images.
//! - [`mobilenet`]: MobileNet v1 for images of 32×32.

pub mod cnn;
pub mod mobilenet;
