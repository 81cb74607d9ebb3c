//! The models, as networks of layers.
//!
//! - [`cnn`]: convolutional networks for square images; two sizes of them for 28·28 grey ones.
//! - [`mobilenet`]: MobileNet v1 for images; its size for 32×32.
//! - [`lstm`]: what follows a sequence of symbols; its size for the next character of Shakespeare.
//! - [`mlp`]: softmax regression, or one hidden layer.
//!
//! Each of them has a struct of sizes with the network of these sizes, or with the error that says which sizes work;
//! `bounds` has the ranges.

mod bounds;
pub mod cnn;
pub mod lstm;
pub mod mlp;
pub mod mobilenet;
