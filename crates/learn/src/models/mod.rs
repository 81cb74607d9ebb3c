//! The paper's models.

pub mod cnn;
