//! The models, as networks of layers.
//!
//! - [`cnn`]: the convolutional networks for 28·28 grey images.
//! - [`mobilenet`]: MobileNet v1 for images of 32×32.
//! - [`lstm`]: the next character of Shakespeare.
//! - [`mlp`]: softmax regression, or one hidden layer.

pub mod cnn;
pub mod lstm;
pub mod mlp;
pub mod mobilenet;
